package observe

import (
	"cmp"
	"context"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/metadata"
)

// StartClient makes calls with the returned context part of a trace: the one that TRACEPARENT names. If
// OTEL_EXPORTER_OTLP_ENDPOINT says where to send it, the calls also get a span of their own, which end ends. Tracing
// never interferes with a client: its errors are only logged.
func StartClient(ctx context.Context, name, version string, getenv func(string) string,
	log hclog.Logger) (_ context.Context, end func(failed bool)) {
	parent := getenv("TRACEPARENT")
	end = func(bool) {}
	if endpoint := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); endpoint != "" {
		tracing, err := startTracing(ctx, endpoint, "client", version, log)
		if err != nil {
			log.Warn("there is no trace", "error", err)
		} else {
			span := tracing.start(parent, clientSpan, name)
			parent = cmp.Or(span.parent(), parent)
			end = func(failed bool) {
				if failed {
					span.fail("")
				}
				span.end()
				tracing.close()
			}
		}
	}
	if parent != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, traceParentHeader, parent)
	}
	return ctx, end
}
