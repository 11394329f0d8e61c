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

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// keptUnused is how many data sets are kept after their last job, because the next job may use them.
const keptUnused = 2

// datasets is the worker's cache of data sets: each is fetched once and shared by all jobs. Of those
// that no job uses, the most recent ones are kept as long as there is memory.
type datasets struct {
	memory *memory

	mu      sync.Mutex
	entries map[string]*cachedDataset
	unused  []*cachedDataset // the longest unused first
}

// cachedDataset is a data set that is there or being fetched.
type cachedDataset struct {
	id    string
	bytes int64
	ready chan struct{} // closed when data or err is set
	data  dataset.Dataset
	err   error
	users int
}

// lease keeps a data set in memory for a job.
type lease struct {
	data    dataset.Dataset
	release func()
}

func newDatasets(m *memory) *datasets {
	return &datasets{memory: m, entries: map[string]*cachedDataset{}}
}

// open gives a data set, fetching it if necessary. It takes `fetching` bytes while it is fetched and
// `bytes` afterwards.
func (d *datasets) open(ctx context.Context, id string, fetching, bytes int64, fetch func(context.Context) (dataset.Dataset, error)) (*lease, error) {
	for {
		d.mu.Lock()
		e, known := d.entries[id]
		if !known {
			e = &cachedDataset{id: id, bytes: bytes, ready: make(chan struct{})}
			d.entries[id] = e
		}
		e.users++
		d.unused = slices.DeleteFunc(d.unused, func(u *cachedDataset) bool { return u == e })
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
			return &lease{data: e.data, release: sync.OnceFunc(func() { d.release(e) })}, nil
		}
		d.release(e)
		// The fetch was canceled with another job: fetch it for this one.
		if ctx.Err() == nil && known && errors.Is(e.err, context.Canceled) {
			continue
		}
		return nil, e.err
	}
}

// fill fetches a data set. On failure it is removed from the cache, so that others can try again.
func (d *datasets) fill(ctx context.Context, e *cachedDataset, fetching int64, fetch func(context.Context) (dataset.Dataset, error)) {
	defer close(e.ready)
	if e.err = d.memory.reserve(ctx, fetching, "the data set"); e.err == nil {
		kept := e.bytes
		if e.data, e.err = fetch(ctx); e.err != nil {
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
	d.trim(keptUnused, 0)
}

// evict removes unused data sets until at least so many bytes became free, or none is left.
func (d *datasets) evict(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trim(0, bytes)
}

// trim removes the oldest unused data sets, all but keep of them. With enough > 0 it stops when it has
// freed so many bytes.
func (d *datasets) trim(keep int, enough int64) {
	freed := int64(0)
	for len(d.unused) > keep && (enough == 0 || freed < enough) {
		e := d.unused[0]
		d.unused = d.unused[1:]
		delete(d.entries, e.id)
		d.memory.free(e.bytes)
		freed += e.bytes
	}
}

// decodeVerified reads a whole data set and checks that it is the one its id names.
func decodeVerified(id string, size int64, r io.Reader) (dataset.Dataset, error) {
	hash := sha256.New()
	tee := io.TeeReader(r, hash)
	data, decodeErr := dataset.Decode(tee, size)
	if _, err := io.Copy(io.Discard, tee); err != nil {
		return nil, err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != id {
		return nil, fmt.Errorf("worker: data set %s arrived damaged: its SHA-256 is %s", id, got)
	}
	return data, decodeErr
}
