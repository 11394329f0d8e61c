package fleet

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/wire"
)

// Locator is a DatasetSource whose data sets may be in an object store that workers can read.
type Locator interface {
	// LocateDataset returns a URL that is valid for an hour, or "" if workers cannot read the data set. sealedName is
	// the name that the checksums of the blob include; "" if it has none.
	LocateDataset(ctx context.Context, datasetID string) (url, sealedName string, err error)
}

// locate returns where workers can read a data set without the coordinator, or nil if they cannot.
func (f *Fleet) locate(ctx context.Context, id string) *workerv1.StoreSource {
	locator, is := f.cfg.Datasets.(Locator)
	if !is {
		return nil
	}
	url, sealedName, err := locator.LocateDataset(ctx, id)
	if err != nil && ctx.Err() == nil {
		f.log.Warn("workers cannot read a data set from the object store", "dataset", id, "error", err)
	}
	if url == "" || err != nil {
		return nil
	}
	return &workerv1.StoreSource{Url: url, SealedName: sealedName}
}

// keepLocation renews the URL of the data set until ctx ends.
func (d *distribution) keepLocation(ctx context.Context) {
	ticker := time.NewTicker(locateEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		location := d.fleet.locate(ctx, d.id)
		d.mu.Lock()
		d.location = location
		d.swarm.SetStore(location != nil)
		d.mu.Unlock()
	}
}

// hash reads the data set and hashes its pieces. Each may be assigned as soon as its hash is known. The reader checks
// at the end that the data set is the one that its id names.
func (d *distribution) hash(ctx context.Context, pieces int) error {
	r, err := d.fleet.cfg.Datasets.OpenDataset(ctx, d.id, 0, 0)
	if err != nil {
		return err
	}
	defer r.Close()
	buffer := make([]byte, 256<<10)
	for p := range pieces {
		hash, size := sha256.New(), wire.PieceSize(d.bytes, p)
		n, err := io.CopyBuffer(hash, io.LimitReader(r, size), buffer)
		if err == nil && n < size {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		d.mu.Lock()
		d.hashes = append(d.hashes, [sha256.Size]byte(hash.Sum(nil)))
		d.swarm.SetKnown(len(d.hashes))
		d.schedule()
		d.mu.Unlock()
	}
	if n, err := io.CopyBuffer(io.Discard, r, buffer); err != nil || n > 0 {
		return errors.Join(err, errTooLong(d.id, n))
	}
	d.fleet.noteDamage(d.id, nil, true)
	d.fleet.hashes.put(d.id, d.hashes)
	return nil
}

func errTooLong(id string, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	return fmt.Errorf("fleet: data set %s has %d bytes too many", id, bytes)
}

// keptHashes is how many data sets keep the hashes of their pieces after their distribution. The hashes of 1 GiB take
// 8 KiB.
const keptHashes = 64

// pieceHashes remembers the hashes of pieces of the data sets that were distributed last. It is safe for concurrent
// use.
type pieceHashes struct {
	mu     sync.Mutex
	hashes map[string][][sha256.Size]byte
	recent []string // the last one was distributed last
}

func (h *pieceHashes) get(id string) [][sha256.Size]byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hashes[id]
}

func (h *pieceHashes) put(id string, hashes [][sha256.Size]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hashes == nil {
		h.hashes = map[string][][sha256.Size]byte{}
	}
	h.hashes[id] = hashes
	h.recent = append(slices.DeleteFunc(h.recent, func(other string) bool { return other == id }), id)
	if len(h.recent) > keptHashes {
		delete(h.hashes, h.recent[0])
		h.recent = h.recent[1:]
	}
}
