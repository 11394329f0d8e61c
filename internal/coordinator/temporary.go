package coordinator

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/cleave-project/cleave/internal/dataset"
)

// temporaryDataset is a data set that only workers can open, while an operation needs it.
type temporaryDataset struct {
	content []byte // canonical
	users   int    // operations that need it
}

// addTemporary lets workers open a data set until it is released. It has no record and no blob, and
// clients do not see it. The same data set may be added several times.
func (s *datasetStore) addTemporary(data dataset.Dataset) (id string, size int64, err error) {
	content := bytes.NewBuffer(make([]byte, 0, dataset.EncodedSize(data)))
	if err := dataset.Encode(content, data); err != nil {
		return "", 0, err
	}
	hash := sha256.Sum256(content.Bytes())
	id = hex.EncodeToString(hash[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.temporary[id] == nil {
		s.temporary[id] = &temporaryDataset{content: content.Bytes()}
	}
	s.temporary[id].users++
	return id, int64(content.Len()), nil
}

// release undoes one addTemporary.
func (s *datasetStore) release(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.temporary[id].users--; s.temporary[id].users == 0 {
		delete(s.temporary, id)
	}
}

// openTemporary reads length bytes of a temporary data set, 0 meaning to the end; nil when there is none.
func (s *datasetStore) openTemporary(id string, offset, length int64) io.ReadCloser {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.temporary[id]
	if t == nil || offset < 0 || offset > int64(len(t.content)) {
		return nil
	}
	return section(t.content, offset, length)
}

// section reads length bytes of a content from an offset on, 0 meaning to the end.
func section(content []byte, offset, length int64) io.ReadCloser {
	if length == 0 {
		length = int64(len(content))
	}
	return io.NopCloser(io.NewSectionReader(bytes.NewReader(content), offset, length))
}
