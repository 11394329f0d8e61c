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

// guarded is one operation with its timeout.
type guarded struct {
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
	// until is when the timeout ends; zero while the caller does not wait. A timer that fires late must check it, so
	// giveUp does.
	until time.Time
	late  bool // the timer was late, and the timeout began again
	over  bool // nobody waits anymore
}

// begin begins an operation, unless the store is known to hang. It closes pipe, if not nil, when the operation is
// abandoned.
func (g *stallGuard) begin(ctx context.Context, name string, pipe interface {
	CloseWithError(error) error
}) (*guarded, error) {
	o := &guarded{guard: g, name: name, gaveUp: make(chan struct{}), pipe: pipe}
	if g.hangs.Load() {
		return nil, o.fault()
	}
	o.ctx, o.cancel = context.WithCancel(context.WithValue(ctx, guardedKey{}, o))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.until = time.Now().Add(g.limit) // before the timer starts, so that it is not early
	o.timer = time.AfterFunc(g.limit, o.giveUp)
	o.unwatch = context.AfterFunc(ctx, o.shorten)
	return o, nil
}

// wait restarts the timeout: the caller waits for the store from now on.
func (o *guarded) wait() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.late = false
	o.restart()
}

// restart sets the timeout. The caller holds o.mu.
func (o *guarded) restart() {
	if o.over {
		return
	}
	limit := o.guard.limit
	if o.ctx.Err() != nil {
		limit = min(limit, canceledWait)
	}
	o.until = time.Now().Add(limit)
	o.timer.Reset(limit)
}

// shorten shortens the timeout because the operation was canceled.
func (o *guarded) shorten() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.until.IsZero() {
		o.restart()
	}
}

// pause stops the timeout: the caller does not wait for the store.
func (o *guarded) pause() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.until = time.Time{}
	o.timer.Stop()
}

// end ends the operation: nobody waits for it anymore.
func (o *guarded) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	o.timer.Stop()
	o.unwatch()
	o.cancel()
}

// giveUp abandons the operation, unless its timeout was stopped or restarted meanwhile. If the timer is late by more
// than a second, this process was suspended, and the store's answer may be waiting to be read: the timeout begins
// again, once.
func (o *guarded) giveUp() {
	o.mu.Lock()
	defer o.mu.Unlock()
	late := time.Since(o.until)
	if o.over || o.until.IsZero() || late < 0 {
		return
	}
	if late > time.Second && !o.late {
		o.late = true
		o.restart()
		return
	}
	o.over = true
	if o.why = o.ctx.Err(); o.why == nil {
		o.why = o.fault()
		o.guard.suspect()
	}
	o.cancel()
	if o.pipe != nil {
		_ = o.pipe.CloseWithError(o.why)
	}
	close(o.gaveUp)
}

// outcome returns the error of an operation that ended with err. An abandoned operation is canceled, and may report
// that before anybody sees that it was abandoned.
func (o *guarded) outcome(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-o.gaveUp:
		if err != nil {
			return o.why
		}
	default:
	}
	return err
}

// await returns the error that arrives when a part of the operation is done, or why the operation was abandoned.
func (o *guarded) await(done <-chan error) error {
	select {
	case err := <-done:
		return o.outcome(err)
	case <-o.gaveUp:
		return o.why
	}
}

func (o *guarded) fault() error {
	return fault.New(fault.Unavailable, blobsUnavailable,
		"the blob store hangs: nothing moved for %v; try again when it answers", o.guard.limit).
		With("blob", o.name).Because(fmt.Errorf("blob %q", o.name))
}

type guardedKey struct{}

// progressed restarts the timeout of a long operation because it makes progress.
func progressed(ctx context.Context) {
	if o, is := ctx.Value(guardedKey{}).(*guarded); is {
		o.wait()
	}
}

// try runs an operation that returns one value.
func try[T any](ctx context.Context, g *stallGuard, name string,
	do func(context.Context) (T, error)) (value T, err error) {
	o, err := g.begin(ctx, name, nil)
	if err != nil {
		return value, err
	}
	defer o.end()
	answer := new(T)
	done := make(chan error, 1)
	go func() {
		done <- fault.Guard(g.log.Error, func() (err error) {
			*answer, err = do(o.ctx)
			return err
		})
	}()
	if err := o.await(done); err != nil {
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
	_, err := try(ctx, g, name, func(ctx context.Context) (none struct{}, err error) {
		return none, g.Blobs.Delete(ctx, name)
	})
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
	o, err := g.begin(ctx, name, far)
	if err != nil {
		return nil, err
	}
	opened := make(chan error, 2) // whether it is open, and then how it ended
	go func() {
		err := fault.Guard(g.log.Error, func() error {
			r, err := g.Blobs.Open(o.ctx, name, offset, length)
			if err != nil {
				return err
			}
			defer r.Close()
			opened <- nil
			_, err = io.Copy(far, r)
			return err
		})
		opened <- err
		_ = far.CloseWithError(o.outcome(err))
	}()
	if err := o.await(opened); err != nil {
		_ = near.Close() // whatever is opened after all is closed
		o.end()
		return nil, err
	}
	o.pause()
	return &guardedReader{near, o}, nil
}

type guardedReader struct {
	*io.PipeReader
	guarded *guarded
}

func (r *guardedReader) Read(p []byte) (int, error) {
	r.guarded.wait()
	defer r.guarded.pause()
	return r.PipeReader.Read(p)
}

func (r *guardedReader) Close() error {
	r.guarded.end()
	return r.PipeReader.Close()
}

var errNotWritten = errors.New("the content was not written")

// Put calls write only if the name is free, as every implementation of Blobs does.
func (g *stallGuard) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	far, near := io.Pipe()
	o, err := g.begin(ctx, name, far)
	if err != nil {
		return err
	}
	defer o.end()
	asked := false
	asksOrEnds := make(chan error, 2) // nil when the content is asked for, then how the operation ended
	go func() {
		err := fault.Guard(g.log.Error, func() error {
			return g.Blobs.Put(o.ctx, name, func(w io.Writer) error {
				asked = true
				asksOrEnds <- nil
				_, err := io.Copy(w, far)
				return err
			})
		})
		_ = far.CloseWithError(o.outcome(err))
		asksOrEnds <- err
	}()
	if err := o.await(asksOrEnds); err != nil || !asked {
		return err
	}
	o.pause()
	ended := func() error {
		o.wait()
		return o.await(asksOrEnds)
	}
	written := errNotWritten
	defer func() { // also if write panics
		if written != nil {
			_ = near.CloseWithError(written)
			_ = ended()
		}
	}()
	if written = write(guardedWriter{near, o}); written != nil {
		return o.outcome(written)
	}
	_ = near.Close()
	return ended()
}

// guardedWriter writes in portions that a store accepts in a moment unless it hangs.
type guardedWriter struct {
	w       io.Writer
	guarded *guarded
}

func (w guardedWriter) Write(p []byte) (written int, err error) {
	const portion = 256 << 10
	defer w.guarded.pause()
	for len(p) > 0 && err == nil {
		w.guarded.wait()
		var n int
		n, err = w.w.Write(p[:min(len(p), portion)])
		p, written = p[n:], written+n
	}
	return written, err
}
