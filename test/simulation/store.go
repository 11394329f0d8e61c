package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// disk is what outlives the coordinators: the state and the blobs.
type disk struct {
	plan      *plan
	openState func() store.State
	blobs     store.Blobs

	mu         sync.Mutex
	fullUntil  time.Time
	ended      map[string][]byte // by key: the record of a job that has ended
	violations []string
}

func newDisk(p *plan) (*disk, error) {
	blobs, err := store.OpenBlobs(context.Background(), "mem://")
	return &disk{plan: p, openState: store.SharedMemory(), blobs: blobs, ended: map[string][]byte{}}, err
}

// errUnavailable returns the error of a store that does not answer for a moment.
func errUnavailable(where string) error {
	if where == commitStep {
		return errors.New("the state does not answer") // as of etcd, which has its own errors for it
	}
	return fault.New(fault.Unavailable, "BLOBS_UNAVAILABLE", "the blob store does not work now")
}

// The steps of the store where something can go wrong.
const (
	commitStep = "commit"
	putStep    = "put a blob"
	deleteStep = "delete a blob"
	openStep   = "open a blob"
	getStep    = "read a value"
	listStep   = "list values"
)

func errFull() error { return fault.New(fault.ResourceExhausted, store.DiskFull, "no space is left") }

// full reports whether the disk is full.
func (d *disk) full() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Now().Before(d.fullUntil)
}

// step does one step of a store for a process, with what the plan says. Only steps that write can be refused for want
// of space.
func (d *disk) step(ctx context.Context, p *process, where string, writes bool, do func() error) error {
	if err := p.alive(ctx); err != nil {
		return err
	}
	f := d.plan.onStep(where)
	switch {
	case f.what == slow:
		if err := dial.Sleep(ctx, f.delay); err != nil {
			return err
		}
	case f.what == diskFull:
		d.mu.Lock()
		d.fullUntil = time.Now().Add(f.pause)
		d.mu.Unlock()
	case f.what == refuse:
		return errUnavailable(where)
	case f.what == depose:
		p.depose()
	case f.what == killNode && f.loses:
		p.node.crash(f.power)
		return store.ErrClosed
	}
	if writes && d.full() {
		return errFull()
	}
	err := do()
	switch f.what {
	case loseAnswer:
		return errUnavailable(where)
	case killNode:
		p.node.crash(f.power)
		return store.ErrClosed
	}
	return errors.Join(err, p.alive(ctx))
}

// note checks that a job that has ended stays as it is.
func (d *disk) note(txn store.Txn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range txn.Put {
		if !strings.HasPrefix(e.Key, "jobs/") {
			continue
		}
		record := &statev1.JobRecord{}
		if err := proto.Unmarshal(e.Value, record); err != nil {
			d.violations = append(d.violations, fmt.Sprintf("the record %s cannot be read: %v", e.Key, err))
		}
		if before := d.ended[e.Key]; before != nil && !bytes.Equal(before, e.Value) {
			d.violations = append(d.violations, fmt.Sprintf("job %s ended and was changed to %v", e.Key,
				record.GetJob()))
		}
		if state := record.GetJob().GetState(); state > cleavev1.JobState_JOB_STATE_RUNNING {
			d.ended[e.Key] = bytes.Clone(e.Value)
		}
	}
}

// stateHandle is the state as one coordinator has it open.
type stateHandle struct {
	store.State
	disk    *disk
	process *process
}

func (h *stateHandle) Get(ctx context.Context, key string) (entry store.Entry, err error) {
	err = h.disk.step(ctx, h.process, getStep, false, func() (err error) {
		entry, err = h.State.Get(ctx, key)
		return err
	})
	return entry, err
}

func (h *stateHandle) List(ctx context.Context, prefix, after string, limit int) (entries []store.Entry, err error) {
	err = h.disk.step(ctx, h.process, listStep, false, func() (err error) {
		entries, err = h.State.List(ctx, prefix, after, limit)
		return err
	})
	return entries, err
}

func (h *stateHandle) ListBackward(ctx context.Context, prefix, before string,
	limit int) (entries []store.Entry, err error) {
	err = h.disk.step(ctx, h.process, listStep, false, func() (err error) {
		entries, err = h.State.ListBackward(ctx, prefix, before, limit)
		return err
	})
	return entries, err
}

func (h *stateHandle) Commit(ctx context.Context, txn store.Txn) (revision int64, err error) {
	err = h.disk.step(ctx, h.process, commitStep, len(txn.Put) > 0, func() (err error) {
		if revision, err = h.State.Commit(ctx, txn); err == nil {
			h.disk.note(txn)
		}
		return err
	})
	return revision, err
}

func (h *stateHandle) Lead(ctx context.Context, name string) (store.Leadership, error) {
	term, err := h.State.Lead(ctx, name)
	if err == nil {
		h.process.lead(term)
	}
	return term, err
}

// blobsHandle is the blobs as one coordinator has them open.
type blobsHandle struct {
	store.Blobs
	disk    *disk
	process *process
}

func (h *blobsHandle) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	return h.disk.step(ctx, h.process, putStep, true, func() error { return h.Blobs.Put(ctx, name, write) })
}

func (h *blobsHandle) Open(ctx context.Context, name string, offset, length int64) (r io.ReadCloser, err error) {
	err = h.disk.step(ctx, h.process, openStep, false, func() (err error) {
		r, err = h.Blobs.Open(ctx, name, offset, length)
		return err
	})
	if err != nil && r != nil {
		r.Close()
	}
	return r, err
}

func (h *blobsHandle) Delete(ctx context.Context, name string) error {
	return h.disk.step(ctx, h.process, deleteStep, false, func() error { return h.Blobs.Delete(ctx, name) })
}

// Close leaves the blobs for the next coordinator.
func (h *blobsHandle) Close() error { return nil }
