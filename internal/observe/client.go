package observe

import (
	"context"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"
)

// StartClient makes calls with the returned context part of a trace: the one that TRACEPARENT names. If
// OTEL_EXPORTER_OTLP_ENDPOINT says where to send it, the calls also get a span of their own, which end ends. Tracing
// never interferes with a client: its errors are only logged.
func StartClient(ctx context.Context, name, version string, getenv func(string) string, log hclog.Logger) (_ context.Context, end func(failed bool)) {
	parent := getenv("TRACEPARENT")
	end = func(bool) {}
	if endpoint := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); endpoint != "" {
		tracing, err := startTracing(ctx, endpoint, "client", version, log)
		if err != nil {
			log.Warn("there is no trace", "error", err)
		} else {
			within := trace.ContextWithRemoteSpanContext(ctx, parseTraceParent(parent))
			_, span := tracing.tracer.Start(within, name, trace.WithSpanKind(trace.SpanKindClient))
			parent = traceParent(span.SpanContext())
			end = func(failed bool) {
				if failed {
					span.SetStatus(codes.Error, "")
				}
				span.End()
				tracing.close()
			}
		}
	}
	if parent != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, traceParentHeader, parent)
	}
	return ctx, end
}
