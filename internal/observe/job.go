package observe

import (
	"context"
	"math/bits"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// The attributes of spans.
const (
	jobKey       = attribute.Key("cleave.job")
	workerKey    = attribute.Key("cleave.worker")
	tilesKey     = attribute.Key("cleave.tiles")
	stateKey     = attribute.Key("cleave.state")
	reasonKey    = attribute.Key("cleave.reason")
	restartKey   = attribute.Key("cleave.restart")
	iterationKey = attribute.Key("cleave.iteration")
	objectiveKey = attribute.Key("cleave.objective")
	numberKey    = attribute.Key("cleave.operation_number")
)

// Job observes an unfinished job. It has one trace with a span for each phase, which contains the spans of the
// operations in that phase. It is safe for concurrent use. All methods do nothing on a nil Job.
type Job struct {
	o     *Coordinator
	began time.Time

	// mu guards the fields below, except for span and inJob, which never change.
	mu         sync.Mutex
	phase      string
	since      time.Time
	span       trace.Span      // span of the job; nil if tracing is off
	inJob      context.Context // carries span
	phaseSpan  trace.Span
	inPhase    context.Context // carries phaseSpan
	operations int
	closed     bool
}

// queued is the first phase of every job.
const queued = "queued"

type jobContextKey struct{}

// Accepted records that a job was created.
func (c *Coordinator) Accepted() { c.count(func(m *coordinatorMetrics) { m.jobsAccepted.Inc() }) }

// Resumed records that an unfinished job was taken over.
func (c *Coordinator) Resumed() { c.count(func(m *coordinatorMetrics) { m.jobsResumed.Inc() }) }

// BeginJob starts to observe a job. parent is where its trace began, as returned by TraceParent. Operations of the
// job must run with the returned context, and the caller must close the Job.
func (c *Coordinator) BeginJob(ctx context.Context, id, parent string) (context.Context, *Job) {
	if c == nil {
		return ctx, nil
	}
	now := time.Now()
	j := &Job{o: c, began: now, phase: queued, since: now}
	if c.traces() {
		within := trace.ContextWithRemoteSpanContext(context.Background(), parseTraceParent(parent))
		j.inJob, j.span = c.tracing.tracer.Start(within, "job", trace.WithAttributes(jobKey.String(id)))
		j.inPhase, j.phaseSpan = c.tracing.tracer.Start(j.inJob, queued)
	}
	return context.WithValue(ctx, jobContextKey{}, j), j
}

func jobOf(ctx context.Context) *Job {
	j, _ := ctx.Value(jobContextKey{}).(*Job)
	return j
}

// Phase records that a job enters a phase.
func (j *Job) Phase(name string) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return
	}
	j.endPhase()
	j.phase = name
	if j.o.traces() {
		j.inPhase, j.phaseSpan = j.o.tracing.tracer.Start(j.inJob, name)
	}
}

// endPhase ends the current phase. The caller holds j.mu.
func (j *Job) endPhase() {
	now := time.Now()
	if spent := now.Sub(j.since).Seconds(); j.o.counts() {
		j.o.metrics.phaseSeconds.WithLabelValues(j.phase).Add(spent)
		if j.phase == queued {
			j.o.metrics.queueWait.Observe(spent)
		}
	}
	j.since = now
	if j.phaseSpan != nil {
		j.phaseSpan.End()
	}
}

// Iteration records an iteration. In traces it is an event of the phase, whose span keeps only the last ones.
func (j *Job) Iteration(restart, iteration int, objective float64) {
	if j == nil {
		return
	}
	j.o.count(func(m *coordinatorMetrics) { m.iterations.Inc() })
	if j.o.traces() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.phaseSpan.AddEvent("iteration", trace.WithAttributes(restartKey.Int(restart), iterationKey.Int(iteration), objectiveKey.Float64(objective)))
	}
}

// Ended records how a job ended. The reason is that of the failure if the job failed, and otherwise why it stopped.
func (j *Job) Ended(state, reason string, failed bool) {
	if j == nil {
		return
	}
	j.o.count(func(m *coordinatorMetrics) {
		m.jobsEnded.WithLabelValues(state, m.reasons.word(reason)).Inc()
		m.jobSeconds.WithLabelValues(state).Observe(time.Since(j.began).Seconds())
	})
	if j.o.traces() {
		j.span.SetAttributes(stateKey.String(state), reasonKey.String(reason))
		if failed {
			j.span.SetStatus(codes.Error, reason)
		}
	}
}

// Close ends the observation, whether the job ended or is left for the next coordinator. It may be called again.
func (j *Job) Close() {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return
	}
	j.closed = true
	j.endPhase()
	if j.o.traces() {
		j.span.End()
	}
}

// slowOperation is the duration from which an operation is always in the trace.
const slowOperation = time.Second

// operation records an operation in the trace of its job, if there is one. To keep traces small, only the first
// operations are all included with their commands; later ones are sampled ever more thinly, and slow ones are always
// included.
func (j *Job) operation(ctx context.Context, name string, began time.Time) (context.Context, func(error)) {
	if j == nil || !j.o.traces() {
		return ctx, func(error) {}
	}
	j.mu.Lock()
	j.operations++
	number, within := j.operations, j.inPhase
	j.mu.Unlock()
	start := func() (context.Context, trace.Span) {
		return j.o.tracing.tracer.Start(within, "operation "+name, trace.WithTimestamp(began), trace.WithAttributes(numberKey.Int(number)))
	}
	if sampled(number) {
		_, span := start()
		return trace.ContextWithSpan(ctx, span), func(err error) { endSpan(span, sentenceOf(err)) }
	}
	return ctx, func(err error) {
		if time.Since(began) >= slowOperation {
			_, span := start()
			endSpan(span, sentenceOf(err))
		}
	}
}

// sampled reports whether the operation with this number is in the trace: all of the first 128, then half of the next
// 128, a quarter of the next 256 and so on, so that a job with a million operations has about a thousand.
func sampled(number int) bool {
	const all = 7 // bits
	thin := max(0, bits.Len(uint(number))-all)
	return number&(1<<thin-1) == 0
}

func sentenceOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// endSpan ends a span. failure is why it failed, or "".
func endSpan(span trace.Span, failure string) {
	if failure != "" {
		span.SetStatus(codes.Error, failure)
	}
	span.End()
}
