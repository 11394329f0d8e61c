package observe

import (
	"context"
	"math/bits"
	"sync"
	"time"
)

// The attributes of spans.
const (
	jobKey       = "cleave.job"
	workerKey    = "cleave.worker"
	tilesKey     = "cleave.tiles"
	stateKey     = "cleave.state"
	reasonKey    = "cleave.reason"
	restartKey   = "cleave.restart"
	iterationKey = "cleave.iteration"
	objectiveKey = "cleave.objective"
	numberKey    = "cleave.operation_number"
)

// spanKind says on which side of a call a span is.
type spanKind int

const (
	internalSpan spanKind = iota
	clientSpan
	serverSpan
)

// traceParentHeader is the header by which calls carry their span.
const traceParentHeader = "traceparent"

// Job observes an unfinished job. It has one trace with a span for each phase, which contains the spans of the
// operations in that phase. It is safe for concurrent use. All methods do nothing on a nil Job.
type Job struct {
	o     *Coordinator
	began time.Time

	span *span // nil if there is no trace, as is phaseSpan

	// mu guards the fields below.
	mu         sync.Mutex
	phase      string
	since      time.Time
	phaseSpan  *span
	operations int
	closed     bool
}

// queued is the first phase of every job.
const queued = "queued"

type (
	jobContextKey       struct{}
	operationContextKey struct{}
)

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
	j := &Job{o: c, began: now, phase: queued, since: now,
		span: c.tracing.start(parent, internalSpan, "job", jobKey, id)}
	j.phaseSpan = j.span.start(internalSpan, queued, now)
	return context.WithValue(ctx, jobContextKey{}, j), j
}

func jobOf(ctx context.Context) *Job {
	j, _ := ctx.Value(jobContextKey{}).(*Job)
	return j
}

// operationOf returns the span of the operation that a context belongs to, or nil.
func operationOf(ctx context.Context) *span {
	s, _ := ctx.Value(operationContextKey{}).(*span)
	return s
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
	j.phaseSpan = j.span.start(internalSpan, name, j.since)
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
	j.phaseSpan.end()
}

// Iteration records an iteration. In traces it is an event of the phase, whose span keeps only the last ones.
func (j *Job) Iteration(restart, iteration int, objective float64) {
	if j == nil {
		return
	}
	j.o.count(func(m *coordinatorMetrics) { m.iterations.Inc() })
	if j.span != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.phaseSpan.event("iteration", restartKey, restart, iterationKey, iteration, objectiveKey, objective)
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
	j.span.set(stateKey, state, reasonKey, reason)
	if failed {
		j.span.fail(reason)
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
	j.span.end()
}

// slowOperation is the duration from which an operation is always in the trace.
const slowOperation = time.Second

// operation records an operation in the trace of its job, if there is one. To keep traces small, only the first
// operations are all included with their commands; later ones are sampled ever more thinly, and slow ones are always
// included.
func (j *Job) operation(ctx context.Context, name string, began time.Time) (context.Context, func(error)) {
	if j == nil || j.span == nil {
		return ctx, func(error) {}
	}
	j.mu.Lock()
	j.operations++
	number, phase := j.operations, j.phaseSpan
	j.mu.Unlock()
	start := func() *span {
		return phase.start(internalSpan, "operation "+name, began, numberKey, number)
	}
	if sampled(number) {
		span := start()
		return context.WithValue(ctx, operationContextKey{}, span), func(err error) { endSpan(span, sentenceOf(err)) }
	}
	return ctx, func(err error) {
		if time.Since(began) >= slowOperation {
			endSpan(start(), sentenceOf(err))
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
func endSpan(span *span, failure string) {
	if failure != "" {
		span.fail(failure)
	}
	span.end()
}
