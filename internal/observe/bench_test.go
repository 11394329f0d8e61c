package observe

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// BenchmarkOperation is what it costs to watch an operation and the commands of two workers, on both sides.
func BenchmarkOperation(b *testing.B) {
	provider := sdktrace.NewTracerProvider()
	spans := &tracing{provider: provider, tracer: provider.Tracer("bench")}
	r := newRegistry()
	counts := newCoordinatorMetrics(r)
	workerCounts := newWorkerMetrics(r)
	for name, o := range map[string]struct {
		c *Coordinator
		w *Worker
	}{
		"off":     {},
		"metrics": {&Coordinator{metrics: counts}, &Worker{metrics: workerCounts}},
		"metrics and spans": {&Coordinator{metrics: counts, tracing: spans},
			&Worker{metrics: workerCounts, tracing: spans}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			ctx, j := o.c.BeginJob(b.Context(), "job", "")
			defer j.Close()
			for b.Loop() {
				within, end := o.c.Operation(ctx, "assign")
				for range 2 {
					parent, endCommand := o.c.Command(within, "matrix_assign", "w", 8)
					o.w.Command(parent, "matrix_assign", "job", "w", 8)("")
					o.w.Swept("load", 1000)
					endCommand("")
				}
				end(nil)
				j.Iteration(0, 1, 2)
			}
		})
	}
}
