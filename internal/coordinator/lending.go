package coordinator

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/cleave-project/cleave/internal/dataset"
)

// lend makes a data set known to workers for the length of one operation: no record, no blob, nobody
// else sees it. Several may lend the same.
func (s *shelf) lend(data dataset.Dataset) (id string, size int64, err error) {
	var content bytes.Buffer
	if err := dataset.Encode(&content, data); err != nil {
		return "", 0, err
	}
	hash := sha256.Sum256(content.Bytes())
	id = hex.EncodeToString(hash[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lent[id] == nil {
		s.lent[id] = &loan{content: content.Bytes()}
	}
	s.lent[id].count++
	return id, int64(content.Len()), nil
}

// takeBack ends a loan.
func (s *shelf) takeBack(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lent[id].count--; s.lent[id].count == 0 {
		delete(s.lent, id)
	}
}

// loan is canonical bytes that are in use so many times.
type loan struct {
	content []byte
	count   int
}

// openLent gives a range of a data set that is lent; nil when it is not.
func (s *shelf) openLent(id string, offset, length int64) io.ReadCloser {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lent[id]
	if l == nil || offset < 0 || offset > int64(len(l.content)) {
		return nil
	}
	part := l.content[offset:]
	if length > 0 && length < int64(len(part)) {
		part = part[:length]
	}
	return io.NopCloser(bytes.NewReader(part))
}
