package coordinator

import (
	"io"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// temporaryDataset is a data set that only workers can open, while an operation needs it.
type temporaryDataset struct {
	data  dataset.Dataset
	users int // operations that need it
}

// AddTemporary lets workers open a data set until it is released. It has no record and no blob, and
// clients do not see it. The same data set may be added several times.
func (s *datasetStore) AddTemporary(data dataset.Dataset) (id string, size int64, err error) {
	if id, err = dataset.ID(data); err != nil {
		return "", 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.temporary[id] == nil {
		s.temporary[id] = &temporaryDataset{data: data}
	}
	s.temporary[id].users++
	return id, dataset.EncodedSize(data), nil
}

// Release undoes one AddTemporary.
func (s *datasetStore) Release(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.temporary[id].users--; s.temporary[id].users == 0 {
		delete(s.temporary, id)
	}
}

// inMemory is a temporary or shared data set, nil when there is none.
func (s *datasetStore) inMemory(id string) dataset.Dataset {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.temporary[id]; t != nil {
		return t.data
	}
	return s.shared[id]
}

// openInMemory reads length bytes of a data set in memory, 0 meaning to the end. They are encoded as they are read.
func openInMemory(data dataset.Dataset, offset, length int64) io.ReadCloser {
	r := dataset.NewReader(data, offset)
	if length > 0 {
		r = io.LimitReader(r, length)
	}
	return io.NopCloser(r)
}
