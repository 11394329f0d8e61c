package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/fault"
)

// stallGuard wraps Blobs that may hang: an object store that accepts connections and never answers, or a directory
// on a file server that is gone, whose system calls cannot even be canceled. Each operation runs in a goroutine of
// its own, and the caller returns once nothing has moved for a while. The goroutine stays until its call returns. It
// shares no memory with the caller, because bytes pass through pipes. If the store panics in it, that operation alone
// fails.
//
// Once an operation hangs, others fail at once, so that callers do not pile up. A probe finds out when the store
// answers again. A canceled operation has a moment to return, so that it usually leaves nothing behind.
type stallGuard struct {
	Blobs
	limit  time.Duration
	log    hclog.Logger
	ctx    context.Context // ends when the store is closed
	cancel context.CancelFunc
	hangs  atomic.Bool
}

// canceledWait is how long the caller of a canceled operation waits for it to return.
const canceledWait = time.Second

// WithStallTimeout returns a Blobs that abandons operations of b that move no byte for the time limit. They fail as
// if the store were unreachable.
func WithStallTimeout(b Blobs, limit time.Duration, log hclog.Logger) Blobs {
	g := &stallGuard{Blobs: b, limit: limit, log: log}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

func (g *stallGuard) Close() error {
	g.cancel()
	return g.Blobs.Close()
}

// probed is the name of a blob that is looked up only to see whether the store answers.
const probed = "probe"

// suspect makes operations fail until the store answers a probe, whatever the answer is.
func (g *stallGuard) suspect() {
	if g.hangs.Swap(true) {
		return
	}
	go func() {
		defer g.hangs.Store(false)
		for answered := false; !answered && g.ctx.Err() == nil; {
			ctx, cancel := context.WithTimeout(g.ctx, g.limit)
			_ = fault.Guard(g.log.Error, func() error { _, err := g.Blobs.Size(ctx, probed); return err })
			answered = ctx.Err() == nil
			cancel()
		}
	}()
}

// attempt is one operation with its timeout.
type attempt struct {
	guard   *stallGuard
	name    string
	ctx     context.Context // context of the operation
	cancel  context.CancelFunc
	unwatch func() bool   // stops watching the context of the caller
	gaveUp  chan struct{} // closed when the operation is abandoned
	why     error         // why it was abandoned; set before gaveUp is closed
	pipe    interface{ CloseWithError(error) error }

	mu    sync.Mutex
	timer *time.Timer // runs while the caller waits for the store
	until time.Time   // when the timeout ends; zero while the caller does not wait. giveUp may run late and checks it
	late  bool        // the timer was late, and the timeout began again
	over  bool        // nobody waits anymore
}

// begin begins an operation, unless the store is known to hang. It closes pipe, if not nil, when the operation is
// abandoned.
func (g *stallGuard) begin(ctx context.Context, name string, pipe interface{ CloseWithError(error) error }) (*attempt, error) {
	a := &attempt{guard: g, name: name, gaveUp: make(chan struct{}), pipe: pipe}
	if g.hangs.Load() {
		return nil, a.fault()
	}
	a.ctx, a.cancel = context.WithCancel(context.WithValue(ctx, attemptKey{}, a))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until = time.Now().Add(g.limit) // before the timer starts, so that it is not early
	a.timer = time.AfterFunc(g.limit, a.giveUp)
	a.unwatch = context.AfterFunc(ctx, a.shorten)
	return a, nil
}

// wait restarts the timeout: the caller waits for the store from now on.
func (a *attempt) wait() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.late = false
	a.restart()
}

// restart sets the timeout. The caller holds a.mu.
func (a *attempt) restart() {
	if a.over {
		return
	}
	limit := a.guard.limit
	if a.ctx.Err() != nil {
		limit = min(limit, canceledWait)
	}
	a.until = time.Now().Add(limit)
	a.timer.Reset(limit)
}

// shorten shortens the timeout because the operation was canceled.
func (a *attempt) shorten() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.until.IsZero() {
		a.restart()
	}
}

// pause stops the timeout: the caller does not wait for the store.
func (a *attempt) pause() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until = time.Time{}
	a.timer.Stop()
}

// end ends the operation: nobody waits for it anymore.
func (a *attempt) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	a.timer.Stop()
	a.unwatch()
	a.cancel()
}

// giveUp abandons the operation, unless its timeout was stopped or restarted meanwhile. If the timer is late by more
// than a second, this process was suspended, and the store's answer may be waiting to be read: the timeout begins
// again, once.
func (a *attempt) giveUp() {
	a.mu.Lock()
	defer a.mu.Unlock()
	late := time.Since(a.until)
	if a.over || a.until.IsZero() || late < 0 {
		return
	}
	if late > time.Second && !a.late {
		a.late = true
		a.restart()
		return
	}
	a.over = true
	if a.why = a.ctx.Err(); a.why == nil {
		a.why = a.fault()
		a.guard.suspect()
	}
	a.cancel()
	if a.pipe != nil {
		_ = a.pipe.CloseWithError(a.why)
	}
	close(a.gaveUp)
}

// outcome returns the error of an operation that ended with err. An abandoned operation is canceled, and may report
// that before anybody sees that it was abandoned.
func (a *attempt) outcome(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.gaveUp:
		if err != nil {
			return a.why
		}
	default:
	}
	return err
}

// await returns the error that arrives when a part of the operation is done, or why the operation was abandoned.
func (a *attempt) await(done <-chan error) error {
	select {
	case err := <-done:
		return a.outcome(err)
	case <-a.gaveUp:
		return a.why
	}
}

func (a *attempt) fault() error {
	return fault.New(fault.Unavailable, blobsUnavailable, "the blob store hangs: nothing moved for %v; try again when it answers", a.guard.limit).
		With("blob", a.name).Because(fmt.Errorf("blob %q", a.name))
}

type attemptKey struct{}

// progressed restarts the timeout of a long operation because it makes progress.
func progressed(ctx context.Context) {
	if a, is := ctx.Value(attemptKey{}).(*attempt); is {
		a.wait()
	}
}

// try runs an operation that returns one value.
func try[T any](ctx context.Context, g *stallGuard, name string, do func(context.Context) (T, error)) (value T, err error) {
	a, err := g.begin(ctx, name, nil)
	if err != nil {
		return value, err
	}
	defer a.end()
	answer, done := new(T), make(chan error, 1)
	go func() {
		done <- fault.Guard(g.log.Error, func() (err error) {
			*answer, err = do(a.ctx)
			return err
		})
	}()
	if err := a.await(done); err != nil {
		return value, err
	}
	return *answer, nil
}

func (g *stallGuard) Size(ctx context.Context, name string) (int64, error) {
	return try(ctx, g, name, func(ctx context.Context) (int64, error) { return g.Blobs.Size(ctx, name) })
}

func (g *stallGuard) SignedURL(ctx context.Context, name string, valid time.Duration) (string, error) {
	return try(ctx, g, name, func(ctx context.Context) (string, error) { return g.Blobs.SignedURL(ctx, name, valid) })
}

func (g *stallGuard) Delete(ctx context.Context, name string) error {
	_, err := try(ctx, g, name, func(ctx context.Context) (none struct{}, err error) { return none, g.Blobs.Delete(ctx, name) })
	return err
}

func (g *stallGuard) List(ctx context.Context, prefix string) ([]string, error) {
	return try(ctx, g, prefix, func(ctx context.Context) ([]string, error) { return g.Blobs.List(ctx, prefix) })
}

func (g *stallGuard) Usage(ctx context.Context) (int64, error) {
	return try(ctx, g, "", g.Blobs.Usage)
}

func (g *stallGuard) Free() (bytes int64, known bool) {
	type room struct {
		bytes int64
		known bool
	}
	// The zero value, which is returned with an error, says that nothing is known.
	free, _ := try(g.ctx, g, "", func(context.Context) (r room, err error) {
		r.bytes, r.known = g.Blobs.Free()
		return r, nil
	})
	return free.bytes, free.known
}

func (g *stallGuard) RemoveTemporary(ctx context.Context) {
	_, _ = try(ctx, g, "", func(ctx context.Context) (none struct{}, err error) {
		g.Blobs.RemoveTemporary(ctx)
		return none, nil
	})
}

func (g *stallGuard) Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	near, far := io.Pipe()
	a, err := g.begin(ctx, name, far)
	if err != nil {
		return nil, err
	}
	opened := make(chan error, 2) // whether it is open, and then how it ended
	go func() {
		err := fault.Guard(g.log.Error, func() error {
			r, err := g.Blobs.Open(a.ctx, name, offset, length)
			if err != nil {
				return err
			}
			defer r.Close()
			opened <- nil
			_, err = io.Copy(far, r)
			return err
		})
		opened <- err
		_ = far.CloseWithError(a.outcome(err))
	}()
	if err := a.await(opened); err != nil {
		_ = near.Close() // whatever is opened after all is closed
		a.end()
		return nil, err
	}
	a.pause()
	return &guardedReader{near, a}, nil
}

type guardedReader struct {
	*io.PipeReader
	attempt *attempt
}

func (r *guardedReader) Read(p []byte) (int, error) {
	r.attempt.wait()
	defer r.attempt.pause()
	return r.PipeReader.Read(p)
}

func (r *guardedReader) Close() error {
	r.attempt.end()
	return r.PipeReader.Close()
}

var errNotWritten = errors.New("the content was not written")

// Put calls write only if the name is free, as every implementation of Blobs does.
func (g *stallGuard) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	far, near := io.Pipe()
	a, err := g.begin(ctx, name, far)
	if err != nil {
		return err
	}
	defer a.end()
	asked := false
	asksOrEnds := make(chan error, 2) // nil when the content is asked for, then how the operation ended
	go func() {
		err := fault.Guard(g.log.Error, func() error {
			return g.Blobs.Put(a.ctx, name, func(w io.Writer) error {
				asked = true
				asksOrEnds <- nil
				_, err := io.Copy(w, far)
				return err
			})
		})
		_ = far.CloseWithError(a.outcome(err))
		asksOrEnds <- err
	}()
	if err := a.await(asksOrEnds); err != nil || !asked {
		return err
	}
	a.pause()
	ended := func() error {
		a.wait()
		return a.await(asksOrEnds)
	}
	written := errNotWritten
	defer func() { // also if write panics
		if written != nil {
			_ = near.CloseWithError(written)
			_ = ended()
		}
	}()
	if written = write(guardedWriter{near, a}); written != nil {
		return a.outcome(written)
	}
	_ = near.Close()
	return ended()
}

// guardedWriter writes in portions that a store accepts in a moment unless it hangs.
type guardedWriter struct {
	w       io.Writer
	attempt *attempt
}

func (w guardedWriter) Write(p []byte) (written int, err error) {
	const portion = 256 << 10
	defer w.attempt.pause()
	for len(p) > 0 && err == nil {
		w.attempt.wait()
		var n int
		n, err = w.w.Write(p[:min(len(p), portion)])
		p, written = p[n:], written+n
	}
	return written, err
}
