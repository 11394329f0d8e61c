package observe

import (
	"context"
	"net/url"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/cleave-project/cleave/internal/fault"
)

// tracing sends spans to a receiver in batches in the background. Spans that cannot be sent are dropped.
type tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	log      hclog.Logger
}

// closeTimeout is how long sending the last traces may take.
const closeTimeout = 2 * time.Second

// close sends the remaining spans.
func (t *tracing) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("the last traces cannot be sent and are dropped", "error", err)
	}
}

func startTracing(ctx context.Context, endpoint, program, version string, log hclog.Logger) (*tracing, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fault.Invalid("TRACES_URL_INVALID",
			"traces cannot be sent to %q; use http://HOST:PORT, or https:// for TLS, of a receiver of OTLP over gRPC", endpoint)
	}
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(endpoint))
	if err != nil {
		return nil, fault.Invalid("TRACES_URL_INVALID", "traces cannot be sent to %s: %v", u.Redacted(), err)
	}
	return newTracing(ctx, &loggingExporter{SpanExporter: exporter, log: log, to: u.Redacted()}, program, version, log), nil
}

func newTracing(ctx context.Context, exporter sdktrace.SpanExporter, program, version string, log hclog.Logger) *tracing {
	// Attributes that cannot be determined are left out.
	about, _ := resource.New(ctx, resource.WithFromEnv(), resource.WithHost(), resource.WithAttributes(
		attribute.String("service.name", "cleave-"+program), attribute.String("service.version", version)))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &tracing{provider: provider, tracer: provider.Tracer("github.com/cleave-project/cleave"), log: log}
}

// loggingExporter logs why spans are lost. OpenTelemetry would write that to its global log.
type loggingExporter struct {
	sdktrace.SpanExporter
	log hclog.Logger
	to  string
}

// ExportSpans implements sdktrace.SpanExporter.
func (e *loggingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.log.Warn("traces cannot be sent and are dropped", "to", e.to, "spans", len(spans), "error", err)
	}
	return nil
}

// serverOption returns an option that makes a server take part in the traces of its clients: calls that create
// something get a span.
func (t *tracing) serverOption() grpc.ServerOption {
	creates := func(info *stats.RPCTagInfo) bool { return created[info.FullMethodName] }
	return grpc.StatsHandler(otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(t.provider), otelgrpc.WithPropagators(propagation.TraceContext{}), otelgrpc.WithFilter(creates)))
}

// created is the set of calls that get spans: those that belong to a job. Others, such as watching a job, may last as
// long as the job.
var created = map[string]bool{
	"/cleave.v1.DatasetService/CreateDataset": true,
	"/cleave.v1.TableService/CreateTable":     true,
	"/cleave.v1.JobService/CreateJob":         true,
}

// TraceParent returns the current span of a context in the form that BeginJob and commands take, or "" if there is
// none.
func TraceParent(ctx context.Context) string { return traceParent(trace.SpanContextFromContext(ctx)) }

const traceParentHeader = "traceparent"

// traceParent formats a span as a W3C Trace Context header.
func traceParent(span trace.SpanContext) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), span), carrier)
	return carrier[traceParentHeader]
}

func parseTraceParent(parent string) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{traceParentHeader: parent})
	return trace.SpanContextFromContext(ctx)
}
