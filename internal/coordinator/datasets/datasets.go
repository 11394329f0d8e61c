package datasets

import (
	"context"
	"io"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
)

// Datasets stores data sets. It also holds temporary ones, which only workers see.
type Datasets struct {
	*Store[dataset.Dataset]
	temporary map[string]*temporaryDataset // guarded by mu
}

// NewDatasets returns a store of data sets.
func NewDatasets(cfg Config) *Datasets {
	stored := newStore(cfg, kind[dataset.Dataset]{
		noun: "data set", word: "dataset",
		id: dataset.ID, size: dataset.EncodedSize, encode: dataset.Encode,
		decode: func(r io.Reader, record *statev1.ContentRecord) (dataset.Dataset, error) {
			return dataset.Decode(r, int64(record.GetDataset().GetBytes()))
		},
		describe: func(data dataset.Dataset, id, name string, now *timestamppb.Timestamp) *statev1.ContentRecord {
			p := wire.DatasetProto(data)
			p.DatasetId, p.DisplayName, p.CreateTime = id, name, now
			return &statev1.ContentRecord{Dataset: p}
		},
		notFound: func(id string) error {
			return fault.New(fault.NotFound, "DATASET_NOT_FOUND", "there is no data set %q; upload it first", id).With(
				"dataset_id", id)
		},
		weaken: weakDataset,
	})
	return &Datasets{Store: stored, temporary: map[string]*temporaryDataset{}}
}

// weakDataset is Weakly for a data set of any kind.
func weakDataset(data dataset.Dataset) (find func() (dataset.Dataset, bool)) {
	switch data := data.(type) {
	case *dataset.Points:
		return weakKind(data)
	case *dataset.SparsePoints:
		return weakKind(data)
	case *dataset.Kernel:
		return weakKind(data)
	case *dataset.Graph:
		return weakKind(data)
	}
	return func() (dataset.Dataset, bool) { return nil, false }
}

func weakKind[T any, P interface {
	*T
	dataset.Dataset
}](data P) func() (dataset.Dataset, bool) {
	find := Weakly((*T)(data))
	return func() (dataset.Dataset, bool) { value, found := find(); return P(value), found }
}

// OpenDataset implements fleet.DatasetSource: workers read canonical bytes from it. A length of -1 means to the end.
func (d *Datasets) OpenDataset(ctx context.Context, id string, offset, length int64) (io.ReadCloser, error) {
	if data := d.InMemory(id); data != nil {
		return openInMemory(data, offset, length), nil
	}
	record, err := d.Touch(ctx, id) // whoever owns it: a job of theirs needs it
	if record == nil && err == nil {
		err = d.kind.notFound(id)
	}
	if err != nil {
		return nil, err
	}
	return d.open(ctx, record, id, offset, length)
}

// urlTime is how long workers may read a data set by a URL.
const urlTime = time.Hour

// LocateDataset implements delivery.Locator: it returns a URL for a data set in an object store, and "" for
// others, and the name by which package seal checks it.
func (d *Datasets) LocateDataset(ctx context.Context, id string) (url, sealedName string, err error) {
	if d.InMemory(id) != nil {
		return "", "", nil
	}
	record, err := d.Touch(ctx, id)
	if record == nil || err != nil {
		return "", "", err
	}
	url, err = d.cfg.Blobs.SignedURL(ctx, record.GetBlob(), urlTime)
	return url, record.GetBlob(), err
}

// temporaryDataset is a data set that only workers can open, while an operation needs it.
type temporaryDataset struct {
	data  dataset.Dataset
	users int // operations that need it
}

// AddTemporary lets workers open a data set until it is released. It has no record and no blob, and
// clients do not see it. The same data set may be added several times.
func (d *Datasets) AddTemporary(data dataset.Dataset) (id string, size int64, err error) {
	if id, err = dataset.ID(data); err != nil {
		return "", 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.temporary[id] == nil {
		d.temporary[id] = &temporaryDataset{data: data}
	}
	d.temporary[id].users++
	return id, dataset.EncodedSize(data), nil
}

// Release undoes one AddTemporary.
func (d *Datasets) Release(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.temporary[id].users--; d.temporary[id].users == 0 {
		delete(d.temporary, id)
	}
}

// InMemory returns a temporary or shared data set, or nil if there is none with the id.
func (d *Datasets) InMemory(id string) dataset.Dataset {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.temporary[id]; t != nil {
		return t.data
	}
	return d.shared[id]
}

// openInMemory reads length bytes of a data set in memory, -1 meaning to the end. They are encoded as they are read.
func openInMemory(data dataset.Dataset, offset, length int64) io.ReadCloser {
	r := dataset.NewReader(data, offset)
	if length >= 0 {
		r = io.LimitReader(r, length)
	}
	return io.NopCloser(r)
}

// Temporaries returns how many temporary data sets there are.
func (d *Datasets) Temporaries() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.temporary)
}
