package coordinatortest

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// State is a state whose behavior a test changes while it is in use.
type State struct{ now atomic.Pointer[store.State] }

// NewState returns a state that behaves as another one.
func NewState(behavior store.State) *State {
	s := &State{}
	s.now.Store(&behavior)
	return s
}

// Behave makes the state behave as another one from now on, and returns how it behaved before.
func (s *State) Behave(behavior store.State) (before store.State) { return *s.now.Swap(&behavior) }

// Behavior is how the state behaves now.
func (s *State) Behavior() store.State { return *s.now.Load() }

// Get implements store.State.
func (s *State) Get(ctx context.Context, key string) (store.Entry, error) {
	return s.Behavior().Get(ctx, key)
}

// List implements store.State.
func (s *State) List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error) {
	return s.Behavior().List(ctx, prefix, after, limit)
}

// ListBackward implements store.State.
func (s *State) ListBackward(ctx context.Context, prefix, before string, limit int) ([]store.Entry, error) {
	return s.Behavior().ListBackward(ctx, prefix, before, limit)
}

// Walk implements store.State.
func (s *State) Walk(ctx context.Context, visit func(store.Entry) error) (int64, error) {
	return s.Behavior().Walk(ctx, visit)
}

// Commit implements store.State.
func (s *State) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	return s.Behavior().Commit(ctx, txn)
}

// Lead implements store.State.
func (s *State) Lead(ctx context.Context, name string) (store.Leadership, error) {
	return s.Behavior().Lead(ctx, name)
}

// Leader implements store.State.
func (s *State) Leader(ctx context.Context) (string, error) { return s.Behavior().Leader(ctx) }

// Close implements store.State.
func (s *State) Close() error { return s.Behavior().Close() }

// Intercept lets a test answer the commits from now on. count is 1 for the first of them.
func (s *State) Intercept(answer func(count int64, commit func() error) error) {
	s.Behave(&Intercepted{State: s.Behavior(), Answer: answer})
}

// Intercepted is a state whose commits a test answers.
type Intercepted struct {
	store.State
	Commits atomic.Int64 // so far
	Answer  func(count int64, commit func() error) error
}

// Commit implements store.State.
func (f *Intercepted) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	var revision int64
	err := f.Answer(f.Commits.Add(1), func() (err error) {
		revision, err = f.State.Commit(ctx, txn)
		return err
	})
	return revision, err
}

// ErrLostAnswer is an error that leaves open whether the store has done what it was asked.
var ErrLostAnswer = errors.New("the network is down")

// Blobs are blobs whose behavior a test changes while they are in use.
type Blobs struct{ now atomic.Pointer[store.Blobs] }

// NewBlobs returns blobs that behave as others.
func NewBlobs(behavior store.Blobs) *Blobs {
	b := &Blobs{}
	b.now.Store(&behavior)
	return b
}

// Behave makes the blobs behave as others from now on, and returns how they behaved before.
func (b *Blobs) Behave(behavior store.Blobs) (before store.Blobs) { return *b.now.Swap(&behavior) }

// Behavior is how the blobs behave now.
func (b *Blobs) Behavior() store.Blobs { return *b.now.Load() }

// Put implements store.Blobs.
func (b *Blobs) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	return b.Behavior().Put(ctx, name, write)
}

// Open implements store.Blobs.
func (b *Blobs) Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	return b.Behavior().Open(ctx, name, offset, length)
}

// Size implements store.Blobs.
func (b *Blobs) Size(ctx context.Context, name string) (int64, error) {
	return b.Behavior().Size(ctx, name)
}

// SignedURL implements store.Blobs.
func (b *Blobs) SignedURL(ctx context.Context, name string, valid time.Duration) (string, error) {
	return b.Behavior().SignedURL(ctx, name, valid)
}

// Delete implements store.Blobs.
func (b *Blobs) Delete(ctx context.Context, name string) error { return b.Behavior().Delete(ctx, name) }

// List implements store.Blobs.
func (b *Blobs) List(ctx context.Context, prefix string) ([]string, error) {
	return b.Behavior().List(ctx, prefix)
}

// Usage implements store.Blobs.
func (b *Blobs) Usage(ctx context.Context) (int64, error) { return b.Behavior().Usage(ctx) }

// RemoveTemporary implements store.Blobs.
func (b *Blobs) RemoveTemporary(ctx context.Context) { b.Behavior().RemoveTemporary(ctx) }

// Free implements store.Blobs.
func (b *Blobs) Free() (bytes int64, known bool) { return b.Behavior().Free() }

// Close implements store.Blobs.
func (b *Blobs) Close() error { return b.Behavior().Close() }

// openBlobs are blobs that stay when a coordinator closes them.
type openBlobs struct{ store.Blobs }

func (openBlobs) Close() error { return nil }

// SharedBlobs are blobs in memory that several coordinators of a test use in turn.
func SharedBlobs(t *testing.T) store.Blobs {
	blobs, err := store.OpenBlobs(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { blobs.Close() })
	return openBlobs{blobs}
}

// PutHook are blobs that call a function once a blob is stored.
type PutHook struct {
	store.Blobs
	Stored func(name string)
}

// Put implements store.Blobs.
func (p *PutHook) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	err := p.Blobs.Put(ctx, name, write)
	p.Stored(name)
	return err
}

// AwayBlobs cannot be read for the next few attempts.
type AwayBlobs struct {
	store.Blobs
	Refuse atomic.Int64
}

// Open implements store.Blobs.
func (b *AwayBlobs) Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if b.Refuse.Add(-1) >= 0 {
		return nil, fault.New(fault.Unavailable, "BLOBS_UNAVAILABLE", "the blob store does not work now")
	}
	return b.Blobs.Open(ctx, name, offset, length)
}
