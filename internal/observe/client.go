package observe

import (
	"context"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"
)

// StartClient makes the calls that have the context part of a trace: the one that TRACEPARENT names, and, if
// OTEL_EXPORTER_OTLP_ENDPOINT says where to send it, a span of its own. The function ends the span. Traces never keep a client
// from its work: what goes wrong with them is logged.
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
