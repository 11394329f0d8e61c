package fleet

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/objects/ranged"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/bubble"
)

// A worker is lost after ReadObjects has looked for workers, and before it looks at the units. No worker has failed
// to read the object, so that the call goes on.
func TestAnObjectIsNotUnreadableBecauseItsReaderWasLost(t *testing.T) {
	lost := &session{id: "lost", readsObjects: true}
	unit := &unitRead{unit: &ObjectUnit{URI: "s3://test/x"}, failed: map[*session]*fault.Error{}}
	r := &objectsRead{waiting: []*unitRead{unit}, left: 1, reading: map[*session]bool{}}
	if done, err := r.over([]reader{{session: lost}}, []*session{lost}); done || err != nil {
		t.Errorf("reading ended, with %v", err)
	}
	unit.failed[lost] = fault.New(fault.Unavailable, ranged.Unreadable, "403")
	if done, err := r.over([]reader{{session: lost}}, []*session{lost}); !done || !fault.Is(err, ranged.Unreadable) {
		t.Errorf("reading ended: %v, with %v", done, err)
	}
}

// A worker that reads tables by other rules is not asked: the parts of one table would be read differently.
func TestWorkersWithOtherRulesAreNotAsked(t *testing.T) {
	f := New(Config{})
	for name, rules := range map[string]uint32{"same": wire.TableRules, "earlier": wire.TableRules - 1,
		"later": wire.TableRules + 1} {
		hello := &workerv1.Hello{ProtocolVersion: wire.WorkerProtocol, NumericClass: kernel.NumericClass, Name: name,
			TableRules: rules}
		if _, _, err := f.admit(t.Context(), hello); err != nil {
			t.Fatal(err)
		}
	}
	able, attached, err := f.readers()
	if err != nil || len(able) != 1 || able[0].session.name != "same" || len(attached) != 3 {
		t.Fatalf("%d of %d workers are asked, %v", len(able), len(attached), err)
	}
	r := &objectsRead{waiting: []*unitRead{{}}, left: 1}
	if done, err := r.over(nil, attached[:1]); !done || !fault.Is(err, "NO_READERS") { // the earlier one
		t.Errorf("reading ended: %v, with %v", done, err)
	}
}

// The error of a call whose context has ended is that of the context, also if the context stands for its job.
func TestACanceledCallSaysWhy(t *testing.T) {
	f := New(Config{})
	why := errors.New("the client has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	_, err := f.await(ctx, awaited{to: &session{}, stallTimeout: time.Minute, released: ctx})
	if !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

// An import does not end while a worker reads, however long that takes. It ends when there has been no worker for
// WorkerWait.
func TestAnImportWaitsForItsReader(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := New(Config{Timing: DefaultTiming()})
		defer f.Close()
		hello := &workerv1.Hello{Name: "reader", TableRules: wire.TableRules}
		s, a, err := f.admit(t.Context(), hello)
		if err != nil {
			t.Fatal(err)
		}
		unit := &ObjectUnit{
			Request: func(context.Context, uint64) (*workerv1.ReadObject, error) { return &workerv1.ReadObject{}, nil },
			Take:    func(rows *workerv1.ObjectRows) (bool, error) { return rows.GetEnd(), nil },
		}
		done := make(chan error, 1)
		go func() { done <- f.ReadObjects(t.Context(), []*ObjectUnit{unit}, nil) }()
		for began, pieces := time.Now(), uint64(0); time.Since(began) < 2*f.cfg.WorkerWait; pieces++ {
			time.Sleep(f.cfg.HeartbeatInterval)
			f.receive(s, a,
				&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Heartbeat{Heartbeat: &workerv1.Heartbeat{
					Running: []*workerv1.Progress{{CommandId: 1, Pieces: pieces}}}}})
		}
		select {
		case err := <-done:
			t.Fatalf("the import ended while a worker was reading: %v", err)
		default:
		}
		left := time.Now()
		f.mu.Lock()
		f.endSessionLocked(s, nil)
		f.mu.Unlock()
		if err := <-done; !fault.Is(err, noWorkers) || time.Since(left) != f.cfg.WorkerWait {
			t.Errorf("without workers the import ended after %v: %v", time.Since(left), err)
		}
	})
}

// An import ends after WorkerWait if the workers that are connected cannot take it.
func TestAnImportWithoutAReadyWorker(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := New(Config{Timing: DefaultTiming()})
		defer f.Close()
		s, a, err := f.admit(t.Context(), &workerv1.Hello{Name: "draining",
			TableRules: wire.TableRules})
		if err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		s.draining = true
		f.mu.Unlock()
		var beating sync.WaitGroup
		defer beating.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 2*f.cfg.WorkerWait)
		defer cancel()
		began := time.Now()
		beating.Go(func() {
			for ctx.Err() == nil {
				f.receive(s, a,
					&workerv1.AttachRequest{
						Message: &workerv1.AttachRequest_Heartbeat{Heartbeat: &workerv1.Heartbeat{}}})
				time.Sleep(f.cfg.HeartbeatInterval)
			}
		})
		err = f.ReadObjects(ctx, []*ObjectUnit{{}}, nil)
		if !fault.Is(err, noWorkers) || !strings.Contains(err.Error(), "none of the 1 connected workers") ||
			time.Since(began) != f.cfg.WorkerWait {
			t.Errorf("the import ended after %v: %v", time.Since(began), err)
		}
	})
}
