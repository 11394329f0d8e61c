// Package metered wraps the stores of a coordinator to record what they do in metrics, and how many bytes they hold.
package metered

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/store"
)

// observedState is a State that records its calls in metrics.
type observedState struct {
	store.State
	observe *observe.Coordinator
}

// State returns s, recording its calls; a nil o records nothing.
func State(s store.State, o *observe.Coordinator) store.State {
	if o == nil {
		return s
	}
	return &observedState{State: s, observe: o}
}

func (s *observedState) saw(operation string, began time.Time, err error) {
	s.observe.Store("state", operation, began, storeFailed(err))
}

// Get implements store.State.
func (s *observedState) Get(ctx context.Context, key string) (e store.Entry, err error) {
	defer func(began time.Time) { s.saw("get", began, err) }(time.Now())
	return s.State.Get(ctx, key)
}

// List implements store.State.
func (s *observedState) List(ctx context.Context, prefix, after string, limit int) (entries []store.Entry, err error) {
	defer func(began time.Time) { s.saw("list", began, err) }(time.Now())
	return s.State.List(ctx, prefix, after, limit)
}

// ListBackward implements store.State.
func (s *observedState) ListBackward(ctx context.Context, prefix, before string, limit int) (entries []store.Entry, err error) {
	defer func(began time.Time) { s.saw("list", began, err) }(time.Now())
	return s.State.ListBackward(ctx, prefix, before, limit)
}

// Commit implements store.State.
func (s *observedState) Commit(ctx context.Context, txn store.Txn) (revision int64, err error) {
	defer func(began time.Time) { s.saw("commit", began, err) }(time.Now())
	return s.State.Commit(ctx, txn)
}

// observedBlobs is a Blobs that records its calls in metrics.
type observedBlobs struct {
	store.Blobs
	observe *observe.Coordinator
}

// Blobs returns b, recording its calls and the bytes read and written; a nil o records nothing.
func Blobs(b store.Blobs, o *observe.Coordinator) store.Blobs {
	if o == nil {
		return b
	}
	return &observedBlobs{Blobs: b, observe: o}
}

func (b *observedBlobs) saw(operation string, began time.Time, err error) {
	b.observe.Store("blobs", operation, began, storeFailed(err))
}

// Put implements store.Blobs.
func (b *observedBlobs) Put(ctx context.Context, name string, write func(io.Writer) error) (err error) {
	defer func(began time.Time) { b.saw("put", began, err) }(time.Now())
	return b.Blobs.Put(ctx, name, func(w io.Writer) error { return write(observedWriter{w, b.observe}) })
}

// Open implements store.Blobs.
func (b *observedBlobs) Open(ctx context.Context, name string, offset, length int64) (_ io.ReadCloser, err error) {
	defer func(began time.Time) { b.saw("open", began, err) }(time.Now())
	r, err := b.Blobs.Open(ctx, name, offset, length)
	if err != nil {
		return nil, err
	}
	return observedReader{r, b.observe}, nil
}

// Size implements store.Blobs.
func (b *observedBlobs) Size(ctx context.Context, name string) (bytes int64, err error) {
	defer func(began time.Time) { b.saw("size", began, err) }(time.Now())
	return b.Blobs.Size(ctx, name)
}

// Delete implements store.Blobs.
func (b *observedBlobs) Delete(ctx context.Context, name string) (err error) {
	defer func(began time.Time) { b.saw("delete", began, err) }(time.Now())
	return b.Blobs.Delete(ctx, name)
}

// List implements store.Blobs.
func (b *observedBlobs) List(ctx context.Context, prefix string) (names []string, err error) {
	defer func(began time.Time) { b.saw("list", began, err) }(time.Now())
	return b.Blobs.List(ctx, prefix)
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

// storeFailed reports whether err is a failure of the store, as opposed to a regular answer or a canceled call.
func storeFailed(err error) bool {
	if err == nil {
		return false
	}
	for _, answer := range []error{store.ErrNotFound, store.ErrExists, store.ErrConflict, store.ErrClosed, context.Canceled} {
		if errors.Is(err, answer) {
			return false
		}
	}
	return true
}

// countedBlobs keeps a running total of the bytes of the blobs.
type countedBlobs struct {
	store.Blobs
	bytes *atomic.Int64
}

// Counted returns b, adding what is stored to a total and taking off what is deleted. A negative total stays: the blobs have not
// been counted yet. The total is approximate, so the caller counts again from time to time.
func Counted(b store.Blobs, total *atomic.Int64) store.Blobs { return countedBlobs{b, total} }

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
	}
	return err
}

// add adds to the total, unless it has not been counted yet.
func (b countedBlobs) add(size int64) {
	for total := b.bytes.Load(); total >= 0 && !b.bytes.CompareAndSwap(total, max(0, total+size)); total = b.bytes.Load() {
	}
}
