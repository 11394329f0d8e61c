package coordinator

import (
	"context"
	"io"

	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// datasetStore stores data sets, and temporary ones, which only workers see.
type datasetStore struct {
	*contentStore[dataset.Dataset]
	temporary map[string]*temporaryDataset // guarded by mu
}

func newDatasetStore(state store.State, blobs store.Blobs, budget int64, commit func(store.Txn) error, uses uses) *datasetStore {
	stored := newContentStore(state, blobs, budget, commit, uses, contentKind[dataset.Dataset]{
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
			return fault.New(fault.NotFound, "DATASET_NOT_FOUND", "there is no data set %q; upload it first", id).With("dataset_id", id)
		},
		usedBy: func(j *job, id string) bool { return j.datasetID == id },
	})
	return &datasetStore{contentStore: stored, temporary: map[string]*temporaryDataset{}}
}

// OpenDataset implements fleet.DatasetSource, by which workers get the canonical bytes.
func (s *datasetStore) OpenDataset(ctx context.Context, id string, offset, length int64) (io.ReadCloser, error) {
	if data := s.inMemory(id); data != nil {
		return openInMemory(data, offset, length), nil
	}
	record, err := s.find(ctx, id) // whoever owns it: a job of theirs needs it
	if record == nil && err == nil {
		err = s.notFound(id)
	}
	if err != nil {
		return nil, err
	}
	if length == 0 {
		length = -1
	}
	return s.open(ctx, record, id, offset, length)
}
