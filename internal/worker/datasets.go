package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// keptUnused is how many data sets are kept after their last job, because the next job may use them.
const keptUnused = 2

// datasets is the worker's cache of data sets: each is fetched once and shared by all jobs. Of the unused ones, the
// most recently used are kept for as long as there is memory. It is safe for concurrent use.
type datasets struct {
	memory *memory
	log    hclog.Logger

	// mu guards the fields below.
	mu      sync.Mutex
	entries map[string]*cachedDataset
	unused  []*cachedDataset // least recently used first
}

// cachedDataset is a data set that is present or being fetched.
type cachedDataset struct {
	id    string
	bytes int64
	ready chan struct{} // closed once data or err is set
	data  dataset.Dataset
	err   error
	users int
}

// lease keeps a data set in memory for a job until release is called.
type lease struct {
	data    dataset.Dataset
	release func()
}

func newDatasets(m *memory, log hclog.Logger) *datasets {
	return &datasets{memory: m, log: log, entries: map[string]*cachedDataset{}}
}

// open returns a lease on a data set, fetching it if necessary. The data set takes `fetching` bytes while it is
// fetched and `bytes` afterwards. The caller must release the lease.
func (d *datasets) open(ctx context.Context, id string, fetching, bytes int64,
	fetch func(context.Context) (dataset.Dataset, error)) (*lease, error) {
	for {
		d.mu.Lock()
		e, known := d.entries[id]
		if !known {
			e = &cachedDataset{id: id, bytes: bytes, ready: make(chan struct{})}
			d.entries[id] = e
		}
		d.useLocked(e)
		d.mu.Unlock()
		if !known {
			d.fill(ctx, e, fetching, fetch)
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
			d.release(e)
			return nil, ctx.Err()
		}
		if e.err == nil {
			return d.leaseOf(e), nil
		}
		d.release(e)
		// The fetch was canceled along with another job: fetch it for this one.
		if ctx.Err() == nil && known && errors.Is(e.err, context.Canceled) {
			continue
		}
		return nil, e.err
	}
}

// present returns a lease on a data set that is in memory, or nil if it is not.
func (d *datasets) present(id string) *lease {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entries[id]
	if e == nil {
		return nil
	}
	select {
	case <-e.ready:
	default:
		return nil
	}
	if e.err != nil {
		return nil
	}
	d.useLocked(e)
	return d.leaseOf(e)
}

// useLocked begins one use of a data set. The caller holds d.mu.
func (d *datasets) useLocked(e *cachedDataset) {
	e.users++
	d.unused = slices.DeleteFunc(d.unused, func(u *cachedDataset) bool { return u == e })
}

func (d *datasets) leaseOf(e *cachedDataset) *lease {
	return &lease{data: e.data, release: sync.OnceFunc(func() { d.release(e) })}
}

// fill fetches a data set. On failure, even by a panic, it is removed from the cache, so that others can retry.
func (d *datasets) fill(ctx context.Context, e *cachedDataset, fetching int64,
	fetch func(context.Context) (dataset.Dataset, error)) {
	defer close(e.ready)
	if e.err = d.memory.reserve(ctx, fetching, "the data set"); e.err == nil {
		kept := e.bytes
		e.err = fault.Guard(d.log.Error, func() (err error) {
			e.data, err = fetch(ctx)
			return err
		})
		if e.err != nil {
			kept = 0
		}
		d.memory.free(fetching - kept)
	}
	if ctx.Err() != nil && e.err != nil {
		e.err = context.Canceled
	}
	if e.err != nil {
		d.mu.Lock()
		delete(d.entries, e.id)
		d.mu.Unlock()
	}
}

// release ends one use of a data set.
func (d *datasets) release(e *cachedDataset) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.users--; e.users > 0 || d.entries[e.id] != e {
		return
	}
	d.unused = append(d.unused, e)
	d.trimLocked(keptUnused, 0)
}

// evict removes unused data sets until at least this many bytes are freed or none is left.
func (d *datasets) evict(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trimLocked(0, bytes)
}

// trimLocked removes the least recently used data sets until keep of them are left or, if enough > 0, until that many
// bytes are freed. The caller holds d.mu.
func (d *datasets) trimLocked(keep int, enough int64) {
	freed := int64(0)
	for len(d.unused) > keep && (enough == 0 || freed < enough) {
		e := d.unused[0]
		d.unused = d.unused[1:]
		delete(d.entries, e.id)
		d.memory.free(e.bytes)
		freed += e.bytes
	}
}

// errDamaged is the error of a data set that is not the one that its id names.
var errDamaged = errors.New("arrived damaged")

// decodeVerified reads a whole data set and checks that it is the one that its id names.
func decodeVerified(id string, size int64, r io.Reader) (dataset.Dataset, error) {
	hash := sha256.New()
	tee := io.TeeReader(r, hash)
	data, decodeErr := dataset.Decode(tee, size)
	if _, err := io.Copy(io.Discard, tee); err != nil {
		return nil, err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != id {
		return nil, fmt.Errorf("worker: data set %s %w: its SHA-256 is %s", id, errDamaged, got)
	}
	return data, decodeErr
}
