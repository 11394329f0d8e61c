package delivery

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fleet/delivery/tree"
	"github.com/cleave-project/cleave/internal/signal"
	"github.com/cleave-project/cleave/internal/wire"
)

// Source provides the canonical bytes of data sets.
type Source interface {
	// OpenDataset returns a reader of length bytes from offset; length -1 means to the end. The caller closes it.
	OpenDataset(ctx context.Context, datasetID string, offset, length int64) (io.ReadCloser, error)
}

// Locator is a Source whose data sets may be in an object store that workers can read.
type Locator interface {
	// LocateDataset returns a URL that is valid for an hour, or "" if workers cannot read the data set. sealedName is
	// the name that the checksums of the blob include; "" if it has none.
	LocateDataset(ctx context.Context, datasetID string) (url, sealedName string, err error)
}

// locateEvery is how often the URL of a data set is renewed. It must be shorter than URLs are valid.
const locateEvery = 20 * time.Minute

// locate returns where workers can read a data set without the coordinator, or nil if they cannot.
func (d *Deliveries) locate(ctx context.Context, id string) *workerv1.StoreSource {
	locator, is := d.datasets.(Locator)
	if !is {
		return nil
	}
	url, sealedName, err := locator.LocateDataset(ctx, id)
	if err != nil && ctx.Err() == nil {
		d.log.Warn("workers cannot read a data set from the object store", "dataset", id, "error", err)
	}
	if url == "" || err != nil {
		return nil
	}
	return &workerv1.StoreSource{Url: url, SealedName: sealedName}
}

// keepLocation renews the URL of a data set until ctx ends.
func (d *Deliveries) keepLocation(ctx context.Context, s *set) error {
	ticker := time.NewTicker(locateEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		if location := d.locate(ctx, s.id); location != nil {
			d.relocate(s, location)
		}
	}
}

// relocate tells workers that read the object store another URL.
func (d *Deliveries) relocate(s *set, location *workerv1.StoreSource) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.location = location
	for id, m := range s.members {
		if s.tree.Source(id).Kind == tree.Store {
			m.number++
			signal.Wake(m.wake)
		}
	}
}

// hash reads a data set and hashes its pieces. Workers fetch each as soon as they know its hash. The reader checks
// at the end that the data set is the one that its id names.
func (d *Deliveries) hash(ctx context.Context, s *set, pieces int) error {
	r, err := d.datasets.OpenDataset(ctx, s.id, 0, -1)
	if err != nil {
		return err
	}
	defer r.Close()
	buffer := make([]byte, 256<<10)
	for p := range pieces {
		hash := sha256.New()
		size := wire.PieceSize(s.bytes, p)
		n, err := io.CopyBuffer(hash, io.LimitReader(r, size), buffer)
		if err == nil && n < size {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		d.publish(s, [sha256.Size]byte(hash.Sum(nil)))
	}
	n, err := io.CopyBuffer(io.Discard, r, buffer)
	if err == nil && n > 0 {
		err = fmt.Errorf("fleet: data set %s has %d bytes too many", s.id, n)
	}
	if err != nil {
		return err
	}
	d.reports.DatasetRead(s.id, nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hashes.put(s.id, s.hashes)
	return nil
}

// publish tells workers the hash of the next piece.
func (d *Deliveries) publish(s *set, hash [sha256.Size]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.hashes = append(s.hashes, hash)
	for _, m := range s.members {
		signal.Wake(m.wake)
	}
}

// keptHashes is how many data sets keep the hashes of their pieces after their delivery. The hashes of 1 GiB take
// 8 KiB.
const keptHashes = 64

// pieceHashes remembers the hashes of pieces of the data sets that were delivered last.
type pieceHashes struct {
	hashes map[string][][sha256.Size]byte
	recent []string // the last one was delivered last
}

func (h *pieceHashes) put(id string, hashes [][sha256.Size]byte) {
	h.hashes[id] = hashes
	h.recent = append(slices.DeleteFunc(h.recent, func(other string) bool { return other == id }), id)
	if len(h.recent) > keptHashes {
		delete(h.hashes, h.recent[0])
		h.recent = h.recent[1:]
	}
}
