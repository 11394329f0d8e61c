package observe

import (
	"context"
	"net/url"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
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
			"traces cannot be sent to %q; use http://HOST:PORT, or https:// for TLS, of a receiver of OTLP over gRPC",
			endpoint)
	}
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(endpoint))
	if err != nil {
		return nil, fault.Invalid("TRACES_URL_INVALID", "traces cannot be sent to %s: %v", u.Redacted(), err)
	}
	return newTracing(ctx, &loggingExporter{SpanExporter: exporter, log: log, to: u.Redacted()}, program,
		version, log), nil
}

func newTracing(ctx context.Context, exporter sdktrace.SpanExporter, program, version string,
	log hclog.Logger) *tracing {
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
		otelgrpc.WithTracerProvider(t.provider), otelgrpc.WithPropagators(propagation.TraceContext{}),
		otelgrpc.WithFilter(creates)))
}

// created is the set of calls that get spans: those that belong to a job. Others, such as watching a job, may last as
// long as the job.
var created = map[string]bool{
	"/cleave.v1.DatasetService/CreateDataset": true,
	"/cleave.v1.TableService/CreateTable":     true,
	"/cleave.v1.JobService/CreateJob":         true,
}

// TraceParent returns the span of the call that a context belongs to, in the form that BeginJob takes, or "" if there
// is none.
func TraceParent(ctx context.Context) string { return header(trace.SpanContextFromContext(ctx)) }

// header formats a span as a W3C Trace Context header.
func header(span trace.SpanContext) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), span), carrier)
	return carrier[traceParentHeader]
}

// start starts a span whose parent another process may have sent, or "". It returns nil if the parent says that its
// trace is not recorded, or if t is nil.
func (t *tracing) start(parent string, kind spanKind, name string, attributes ...any) *span {
	if t == nil {
		return nil
	}
	within := propagation.TraceContext{}.Extract(context.Background(),
		propagation.MapCarrier{traceParentHeader: parent})
	return startSpan(within, t.tracer, kind, name, time.Now(), attributes)
}

func startSpan(within context.Context, tracer trace.Tracer, kind spanKind, name string, began time.Time,
	attributes []any) *span {
	_, started := tracer.Start(within, name, trace.WithSpanKind(kinds[kind]), trace.WithTimestamp(began),
		trace.WithAttributes(pairs(attributes)...))
	if !started.IsRecording() {
		return nil
	}
	return &span{tracer, started}
}

var kinds = map[spanKind]trace.SpanKind{internalSpan: trace.SpanKindInternal, clientSpan: trace.SpanKindClient,
	serverSpan: trace.SpanKindServer}

// pairs converts alternating names and values.
func pairs(attributes []any) []attribute.KeyValue {
	var all []attribute.KeyValue
	for at := 0; at+1 < len(attributes); at += 2 {
		key := attribute.Key(attributes[at].(string))
		switch value := attributes[at+1].(type) {
		case int:
			all = append(all, key.Int(value))
		case float64:
			all = append(all, key.Float64(value))
		case string:
			all = append(all, key.String(value))
		}
	}
	return all
}

// span is a part of a trace. All methods do nothing on a nil span. Attributes are alternating names and values, which
// are of type int, float64 or string.
type span struct {
	tracer trace.Tracer
	span   trace.Span
}

// start starts a span below s.
func (s *span) start(kind spanKind, name string, began time.Time, attributes ...any) *span {
	if s == nil {
		return nil
	}
	return startSpan(trace.ContextWithSpan(context.Background(), s.span), s.tracer, kind, name, began, attributes)
}

// parent returns what another process needs to start a span below s, or "".
func (s *span) parent() string {
	if s == nil {
		return ""
	}
	return header(s.span.SpanContext())
}

func (s *span) event(name string, attributes ...any) {
	if s != nil {
		s.span.AddEvent(name, trace.WithAttributes(pairs(attributes)...))
	}
}

func (s *span) set(attributes ...any) {
	if s != nil {
		s.span.SetAttributes(pairs(attributes)...)
	}
}

func (s *span) fail(reason string) {
	if s != nil {
		s.span.SetStatus(codes.Error, reason)
	}
}

func (s *span) end() {
	if s != nil {
		s.span.End()
	}
}
