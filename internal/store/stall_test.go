package store

import (
	"bytes"
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/store/seal"
)

const testStall = 30 * time.Second

// hangingBlobs stop when they are told to, as a file server does that is gone: contexts do not help.
type hangingBlobs struct {
	Blobs
	back chan struct{} // nil unless they hang; closed when they go on
}

func (b *hangingBlobs) pass() {
	if b.back != nil {
		<-b.back
	}
}

func (b *hangingBlobs) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	b.pass()
	err := b.Blobs.Put(ctx, name, func(w io.Writer) error {
		return write(writerFunc(func(p []byte) (int, error) {
			b.pass()
			return w.Write(p)
		}))
	})
	b.pass()
	return err
}

func (b *hangingBlobs) Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	b.pass()
	r, err := b.Blobs.Open(ctx, name, offset, length)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{readerFunc(func(p []byte) (int, error) {
		b.pass()
		return r.Read(p)
	}), r}, nil
}

func (b *hangingBlobs) Size(ctx context.Context, name string) (int64, error) {
	b.pass()
	return b.Blobs.Size(ctx, name)
}

func (b *hangingBlobs) Delete(ctx context.Context, name string) error {
	b.pass()
	return b.Blobs.Delete(ctx, name)
}

func (b *hangingBlobs) List(ctx context.Context, prefix string) ([]string, error) {
	b.pass()
	return b.Blobs.List(ctx, prefix)
}

func (b *hangingBlobs) Usage(ctx context.Context) (int64, error) {
	b.pass()
	return b.Blobs.Usage(ctx)
}

func (b *hangingBlobs) Free() (int64, bool) {
	b.pass()
	return 1, true
}

func (b *hangingBlobs) RemoveTemporary(ctx context.Context) {
	b.pass()
	b.Blobs.RemoveTemporary(ctx)
}

type (
	writerFunc func([]byte) (int, error)
	readerFunc func([]byte) (int, error)
)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
func (f readerFunc) Read(p []byte) (int, error)  { return f(p) }

// stalledContent is what the operations of stalledOperations write and read.
var stalledContent = pattern(3*seal.BlockBytes + 7)

// stalledOperations are operations on a store that begins to hang when they call hang.
var stalledOperations = map[string]func(ctx context.Context, t *testing.T, b Blobs, hang func()) error{
	"put": func(ctx context.Context, t *testing.T, b Blobs, hang func()) error {
		hang()
		return b.Put(ctx, "new", func(w io.Writer) error { return nil })
	},
	"put half-way": func(ctx context.Context, t *testing.T, b Blobs, hang func()) error {
		return b.Put(ctx, "new", func(w io.Writer) error {
			hang()
			_, err := w.Write(stalledContent)
			return err
		})
	},
	"put at the end": func(ctx context.Context, t *testing.T, b Blobs, hang func()) error {
		return b.Put(ctx, "new", func(w io.Writer) error {
			defer hang()
			_, err := w.Write(stalledContent[:10])
			return err
		})
	},
	"open": func(ctx context.Context, t *testing.T, b Blobs, hang func()) error {
		hang()
		_, err := b.Open(ctx, "old", 0, -1)
		return err
	},
	"read": func(ctx context.Context, t *testing.T, b Blobs, hang func()) error {
		r, err := b.Open(ctx, "old", 0, -1)
		check(t, err)
		defer r.Close()
		_, err = r.Read(make([]byte, 10))
		check(t, err)
		hang()
		_, err = io.Copy(io.Discard, r)
		return err
	},
	"size": func(ctx context.Context, t *testing.T, b Blobs, hang func()) error {
		hang()
		_, err := b.Size(ctx, "old")
		return err
	},
	"delete": func(ctx context.Context, t *testing.T, b Blobs, hang func()) error {
		hang()
		return b.Delete(ctx, "old")
	},
	"list": func(ctx context.Context, t *testing.T, b Blobs, hang func()) error {
		hang()
		_, err := b.List(ctx, "")
		return err
	},
	"usage": func(ctx context.Context, t *testing.T, b Blobs, hang func()) error {
		hang()
		_, err := b.Usage(ctx)
		return err
	},
	"free": func(ctx context.Context, t *testing.T, b Blobs, hang func()) error {
		hang()
		if _, known := b.Free(); known {
			t.Error("it knows what is free")
		}
		return nil
	},
	"temporary files": func(ctx context.Context, t *testing.T, b Blobs, hang func()) error {
		hang()
		b.RemoveTemporary(ctx)
		return nil
	},
}

// onHangingStore runs an operation on a store that hangs, and returns how it ended and when.
func onHangingStore(ctx context.Context, t *testing.T,
	what string) (hanging *hangingBlobs, b Blobs, took time.Duration, err error) {
	t.Helper()
	below, err := OpenBlobs(t.Context(), "mem://")
	check(t, err)
	hanging = &hangingBlobs{Blobs: below}
	b = WithStallTimeout(hanging, testStall, hclog.NewNullLogger())
	put(t, b, "old", stalledContent)
	began := time.Now()
	err = stalledOperations[what](ctx, t, b, func() {
		synctest.Wait()
		hanging.back = make(chan struct{})
	})
	return hanging, b, time.Since(began), err
}

// Every operation on a store that hangs, from its beginning or half-way, ends at the timeout; others are refused at
// once, until the store is back.
func TestStalledOperationsEnd(t *testing.T) {
	for what := range stalledOperations {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hanging, b, took, err := onHangingStore(t.Context(), t, what)
				defer b.Close()
				if took != testStall {
					t.Errorf("it ended after %v", took)
				}
				began := time.Now()
				if err != nil || what != "free" && what != "temporary files" {
					wantReason(t, err, blobsUnavailable)
				}
				for range 100 {
					_, err := b.List(t.Context(), "")
					wantReason(t, err, blobsUnavailable)
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("others waited too, for %v", took)
				}
				close(hanging.back)
				synctest.Wait()
				hanging.back = nil
				put(t, b, "again", stalledContent)
				if !bytes.Equal(read(t, b, "again", 0, -1), stalledContent) {
					t.Error("what was stored afterwards is something else")
				}
			})
		})
	}
}

// An operation that is canceled while the store hangs ends soon, although the store does not return. That alone does
// not show that the store hangs.
func TestCanceledOperationsDoNotWait(t *testing.T) {
	for what := range stalledOperations {
		if what == "free" { // it has no context
			continue
		}
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const canceledAfter = testStall / 3
				ctx, cancel := context.WithTimeout(t.Context(), canceledAfter)
				defer cancel()
				hanging, b, took, err := onHangingStore(ctx, t, what)
				defer b.Close()
				if took != canceledAfter+canceledWait {
					t.Errorf("it ended after %v", took)
				}
				if what != "temporary files" {
					wantIs(t, err, context.DeadlineExceeded)
				}
				if b.(*stallGuard).hangs.Load() {
					t.Error("the store counts as hanging")
				}
				close(hanging.back)
				synctest.Wait()
			})
		})
	}
}

// A store that is slow is not one that hangs, and time that the caller takes does not count.
func TestProgressIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below, err := OpenBlobs(t.Context(), "mem://")
		check(t, err)
		content := pattern(40 * seal.BlockBytes)
		slow := &slowBlobs{Blobs: below, pause: testStall - time.Second}
		b := WithStallTimeout(slow, testStall, hclog.NewNullLogger())
		defer b.Close()
		check(t, b.Put(t.Context(), "x", func(w io.Writer) error {
			time.Sleep(10 * testStall)
			_, err := w.Write(content)
			time.Sleep(10 * testStall)
			return err
		}))
		r, err := b.Open(t.Context(), "x", 0, -1)
		check(t, err)
		time.Sleep(10 * testStall)
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes came back: %v", len(got), err)
		}
		check(t, r.Close())
	})
}

// slowBlobs pause before each portion.
type slowBlobs struct {
	Blobs
	pause time.Duration
}

func (b *slowBlobs) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	return b.Blobs.Put(ctx, name, func(w io.Writer) error {
		calls := 0
		return write(writerFunc(func(p []byte) (int, error) {
			if calls++; calls%8 == 0 {
				time.Sleep(b.pause)
			}
			return w.Write(p)
		}))
	})
}

func (b *slowBlobs) Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	r, err := b.Blobs.Open(ctx, name, offset, length)
	return struct {
		io.Reader
		io.Closer
	}{readerFunc(func(p []byte) (int, error) {
		time.Sleep(b.pause)
		return r.Read(p)
	}), r}, err
}

// cancelableBlobs hang until they are canceled, as connections do.
type cancelableBlobs struct{ Blobs }

func (cancelableBlobs) Size(ctx context.Context, _ string) (int64, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func (b cancelableBlobs) Open(ctx context.Context, name string, _, _ int64) (io.ReadCloser, error) {
	_, err := b.Size(ctx, name)
	return nil, err
}

func (b cancelableBlobs) Put(ctx context.Context, name string, _ func(io.Writer) error) error {
	_, err := b.Size(ctx, name)
	return err
}

// An operation that is given up is canceled, but that is not what its caller hears, whichever comes first.
func TestGivenUpIsNotCanceled(t *testing.T) {
	below, err := OpenBlobs(t.Context(), "mem://")
	check(t, err)
	for range 1500 {
		for _, operation := range map[string]func(b Blobs) error{
			"size": func(b Blobs) error { _, err := b.Size(t.Context(), "old"); return err },
			"open": func(b Blobs) error { _, err := b.Open(t.Context(), "old", 0, -1); return err },
			"put":  func(b Blobs) error { return b.Put(t.Context(), "new", func(io.Writer) error { return nil }) },
		} {
			b := WithStallTimeout(cancelableBlobs{below}, time.Microsecond, hclog.NewNullLogger())
			wantReason(t, operation(b), blobsUnavailable)
			b.(*stallGuard).cancel()
		}
	}
}

// A timer's function may already run when the timer is stopped or reset, or run late because the process was suspended.
// None of these shows that the store hangs.
func TestALateTimerIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		below, err := OpenBlobs(t.Context(), "mem://")
		check(t, err)
		g := WithStallTimeout(below, testStall, hclog.NewNullLogger()).(*stallGuard)
		defer g.Close()
		for what, prepare := range map[string]func(a *guarded){
			"restarted": (*guarded).wait,
			"paused":    (*guarded).pause,
			"suspended": func(a *guarded) { a.until = a.until.Add(-3 * testStall) },
		} {
			a, err := g.begin(t.Context(), "x", nil)
			check(t, err)
			prepare(a)
			a.giveUp()
			if g.hangs.Load() {
				t.Errorf("%s: the store counts as hanging", what)
			}
			a.end()
		}
		a, err := g.begin(t.Context(), "x", nil)
		check(t, err)
		for range 2 {
			a.until = a.until.Add(-3 * testStall)
			a.giveUp()
		}
		if !g.hangs.Load() {
			t.Error("timers that are late again and again forgive the store forever")
		}
	})
}

// panickingBlobs panic in every operation: if late, only once bytes move.
type panickingBlobs struct {
	Blobs
	late bool
}

func (b panickingBlobs) Put(_ context.Context, _ string, write func(io.Writer) error) error {
	if b.late {
		_ = write(writerFunc(func([]byte) (int, error) { panic("put") }))
	}
	panic("put")
}

func (b panickingBlobs) Open(context.Context, string, int64, int64) (io.ReadCloser, error) {
	if b.late {
		return io.NopCloser(readerFunc(func([]byte) (int, error) { panic("open") })), nil
	}
	panic("open")
}

func (panickingBlobs) Size(context.Context, string) (int64, error) { panic("size") }

// A panic of a store fails the operation, and does not end the process.
func TestAPanicFailsTheOperation(t *testing.T) {
	below, err := OpenBlobs(t.Context(), "mem://")
	check(t, err)
	for _, late := range []bool{false, true} {
		b := WithStallTimeout(panickingBlobs{below, late}, testStall, hclog.NewNullLogger())
		_, err := b.Size(t.Context(), "blob")
		wantReason(t, err, "PANIC")
		wantReason(t, b.Put(t.Context(), "blob", func(w io.Writer) error {
			_, err := w.Write(stalledContent)
			return err
		}), "PANIC")
		r, err := b.Open(t.Context(), "blob", 0, -1)
		if err == nil {
			_, err = io.ReadAll(r)
			check(t, r.Close())
		}
		wantReason(t, err, "PANIC")
	}
	check(t, below.Close())
}
