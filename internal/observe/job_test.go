package observe

import (
	"errors"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// traced is a coordinator with metrics and traces, and its spans when it is closed.
func traced(t *testing.T) (*Coordinator, func() []sdktrace.ReadOnlySpan) {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	return &Coordinator{metrics: newCoordinatorMetrics(newRegistry()),
			tracing: &tracing{provider: provider, tracer: provider.Tracer("test")}}, func() []sdktrace.ReadOnlySpan {
			if err := provider.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			return recorder.Ended()
		}
}

func TestAJobIsOneTrace(t *testing.T) {
	o, spans := traced(t)
	const parent = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
	ctx, j := o.BeginJob(t.Context(), "j1", parent)
	j.Phase("iterating")
	inOperation, endOperation := o.Operation(ctx, "assign")
	sent, endCommand := o.Command(inOperation, "matrix_assign", "w1", 4)
	worker := &Worker{tracing: o.tracing}
	worker.Command(sent, "matrix_assign", "j1", "w1", 4)("internal")
	endCommand("lost")
	j.Iteration(0, 1, 2.5)
	endOperation(errors.New("broken"))
	j.Ended("failed", "WORKER_FAILED", true)
	j.Close()
	j.Close() // has no further effect
	j.Phase("late")

	byName := map[string]sdktrace.ReadOnlySpan{}
	for _, span := range spans() {
		if got := span.SpanContext().TraceID().String(); got != parent[3:35] {
			t.Errorf("%s is in trace %s", span.Name(), got)
		}
		byName[span.Name()] = span
	}
	under := func(child, above string) {
		t.Helper()
		if byName[child] == nil || byName[above] == nil ||
			byName[child].Parent().SpanID() != byName[above].SpanContext().SpanID() {
			t.Errorf("%q is not in %q: %v", child, above, byName)
		}
	}
	if len(byName) != 6 {
		t.Errorf("%d spans", len(byName))
	}
	under("queued", "job")
	under("iterating", "job")
	under("operation assign", "iterating")
	under("command matrix_assign", "operation assign")
	under("matrix_assign", "command matrix_assign")
	if got := byName["job"].Parent().SpanID().String(); got != parent[36:52] {
		t.Errorf("the job is in span %s", got)
	}
	for _, name := range []string{"job", "operation assign", "command matrix_assign", "matrix_assign"} {
		if byName[name].Status().Code != codes.Error {
			t.Errorf("%s has status %v", name, byName[name].Status())
		}
	}
	if events := byName["iterating"].Events(); len(events) != 1 || events[0].Name != "iteration" {
		t.Errorf("events of the phase: %v", events)
	}
}

func TestLongJobsHaveSmallTraces(t *testing.T) {
	count := 0
	for number := 1; number <= 1_000_000; number++ {
		if sampled(number) {
			count++
		} else if number < 128 {
			t.Fatalf("operation %d is not in the trace", number)
		}
	}
	if count < 500 || count > 1000 {
		t.Errorf("%d of a million operations are in the trace", count)
	}
	o, spans := traced(t)
	ctx, j := o.BeginJob(t.Context(), "j1", "")
	for range 200 {
		in, end := o.Operation(ctx, "assign")
		if parent, endCommand := o.Command(in, "matrix_assign", "w", 1); (operationOf(in) != nil) != (parent != "") {
			t.Fatal("commands are in the trace if and only if their operation is")
		} else {
			endCommand("")
		}
		end(nil)
	}
	j.Close()
	if got, want := len(spans()), 2+2*(127+37); got != want {
		t.Errorf("%d spans of 200 operations, want %d", got, want)
	}
}
