package store

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/cleave-project/cleave/internal/observe"
)

// observedState is a State that records its calls in metrics.
type observedState struct {
	State
	observe *observe.Coordinator
}

// MeterState returns s, recording its calls; a nil o records nothing.
func MeterState(s State, o *observe.Coordinator) State {
	if o == nil {
		return s
	}
	return &observedState{State: s, observe: o}
}

func (s *observedState) Get(ctx context.Context, key string) (Entry, error) {
	return timed(s.observe, "state", "get", func() (Entry, error) { return s.State.Get(ctx, key) })
}

func (s *observedState) List(ctx context.Context, prefix, after string, limit int) ([]Entry, error) {
	return timed(s.observe, "state", "list", func() ([]Entry, error) { return s.State.List(ctx, prefix, after, limit) })
}

func (s *observedState) ListBackward(ctx context.Context, prefix, before string, limit int) ([]Entry, error) {
	return timed(s.observe, "state", "list", func() ([]Entry, error) {
		return s.State.ListBackward(ctx, prefix, before, limit)
	})
}

func (s *observedState) Commit(ctx context.Context, txn Txn) (int64, error) {
	return timed(s.observe, "state", "commit", func() (int64, error) { return s.State.Commit(ctx, txn) })
}

// timed makes a call of a store and records it.
func timed[T any](o *observe.Coordinator, store, operation string, call func() (T, error)) (T, error) {
	began := time.Now()
	value, err := call()
	o.Store(store, operation, began, isFailure(err))
	return value, err
}

// observedBlobs is a Blobs that records its calls in metrics.
type observedBlobs struct {
	Blobs
	observe *observe.Coordinator
}

// MeterBlobs returns b, recording its calls and the bytes read and written; a nil o records nothing.
func MeterBlobs(b Blobs, o *observe.Coordinator) Blobs {
	if o == nil {
		return b
	}
	return &observedBlobs{Blobs: b, observe: o}
}

func (b *observedBlobs) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	_, err := timed(b.observe, "blobs", "put", func() (none struct{}, _ error) {
		return none, b.Blobs.Put(ctx, name, func(w io.Writer) error { return write(observedWriter{w, b.observe}) })
	})
	return err
}

func (b *observedBlobs) Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	return timed(b.observe, "blobs", "open", func() (io.ReadCloser, error) {
		r, err := b.Blobs.Open(ctx, name, offset, length)
		if err != nil {
			return nil, err
		}
		return observedReader{r, b.observe}, nil
	})
}

func (b *observedBlobs) Size(ctx context.Context, name string) (int64, error) {
	return timed(b.observe, "blobs", "size", func() (int64, error) { return b.Blobs.Size(ctx, name) })
}

func (b *observedBlobs) Delete(ctx context.Context, name string) error {
	_, err := timed(b.observe, "blobs", "delete", func() (none struct{}, _ error) {
		return none, b.Blobs.Delete(ctx, name)
	})
	return err
}

func (b *observedBlobs) List(ctx context.Context, prefix string) ([]string, error) {
	return timed(b.observe, "blobs", "list", func() ([]string, error) { return b.Blobs.List(ctx, prefix) })
}

type observedReader struct {
	io.ReadCloser
	observe *observe.Coordinator
}

func (r observedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.observe.BlobBytes("read", n)
	return n, err
}

type observedWriter struct {
	io.Writer
	observe *observe.Coordinator
}

func (w observedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.observe.BlobBytes("written", n)
	return n, err
}

// isFailure reports whether err is a failure of the store, as opposed to a regular answer, the end of a term, or a call
// that its caller gave up.
func isFailure(err error) bool {
	switch AnswerOf(err) {
	case Done, Conflict, Deposed, Closed:
		return false
	case Refused:
		return !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrExists)
	case Unclear:
		return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
	}
	return true
}

// countedBlobs keeps a running total of the bytes of the blobs.
type countedBlobs struct {
	Blobs
	bytes, freed *atomic.Int64
}

// CountBlobs returns b, adding what is stored to a total and taking off what is deleted. A negative total stays: the
// blobs have not been counted yet. The total is approximate, so the caller counts again from time to time. What is
// deleted is also added to freed.
func CountBlobs(b Blobs, total, freed *atomic.Int64) Blobs {
	return countedBlobs{b, total, freed}
}

func (b countedBlobs) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	err := b.Blobs.Put(ctx, name, write)
	if err == nil {
		if size, err := b.Size(ctx, name); err == nil {
			b.add(size)
		}
	}
	return err
}

func (b countedBlobs) Delete(ctx context.Context, name string) error {
	size, sizeErr := b.Size(ctx, name)
	err := b.Blobs.Delete(ctx, name)
	if err == nil && sizeErr == nil {
		b.add(-size)
		b.freed.Add(size)
	}
	return err
}

// add adds to the total, unless it has not been counted yet.
func (b countedBlobs) add(size int64) {
	for {
		total := b.bytes.Load()
		if total < 0 || b.bytes.CompareAndSwap(total, max(0, total+size)) {
			return
		}
	}
}
