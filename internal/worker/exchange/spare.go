package exchange

import (
	"slices"
	"sync"

	"github.com/cleave-project/cleave/internal/wire"
)

// spareSets is the number of data sets of which pieces stay in memory.
const spareSets = 2

// spare keeps pieces in memory that nobody uses, for as long as there is room, because a worker without a cache on
// disk would have to fetch them again for its next tiles. Each was checked when it arrived. It is safe for concurrent
// use.
type spare struct {
	take func(bytes int64) bool // reserves memory, if there is enough
	free func(bytes int64)

	mu   sync.Mutex
	sets []*spareSet // the last one is the most recently used
}

type spareSet struct {
	id     string
	pieces map[int][]byte
}

// put keeps a piece, and reports whether it did.
func (s *spare) put(id string, piece int, data []byte) bool {
	if s.take == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.touch(id)
	if set.pieces[piece] != nil || !s.take(wire.PieceBytes) {
		return false
	}
	set.pieces[piece] = data
	return true
}

// touch returns the pieces of a data set, which is the most recently used one from now on. The pieces of others may
// make room. The caller holds s.mu.
func (s *spare) touch(id string) *spareSet {
	set := &spareSet{id: id, pieces: map[int][]byte{}}
	if at := slices.IndexFunc(s.sets, func(other *spareSet) bool { return other.id == id }); at >= 0 {
		set = s.sets[at]
		s.sets = slices.Delete(s.sets, at, at+1)
	}
	s.sets = append(s.sets, set)
	if len(s.sets) > spareSets {
		s.free(int64(len(s.sets[0].pieces)) * wire.PieceBytes)
		s.sets = slices.Delete(s.sets, 0, 1)
	}
	return set
}

// get returns a piece and no longer keeps it. It returns nil if there is none.
func (s *spare) get(id string, piece int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, set := range s.sets {
		if data := set.pieces[piece]; set.id == id && data != nil {
			delete(set.pieces, piece)
			s.free(wire.PieceBytes)
			return data
		}
	}
	return nil
}

// of returns the pieces of a data set.
func (s *spare) of(id string) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var pieces []int
	for _, set := range s.sets {
		for p := range set.pieces {
			if set.id == id {
				pieces = append(pieces, p)
			}
		}
	}
	return pieces
}

// has reports whether there is a piece.
func (s *spare) has(id string, piece int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.sets, func(set *spareSet) bool { return set.id == id && set.pieces[piece] != nil })
}

// evict drops pieces until this many bytes are free or none is left.
func (s *spare) evict(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, set := range s.sets {
		for p := range set.pieces {
			if bytes <= 0 {
				return
			}
			delete(set.pieces, p)
			s.free(wire.PieceBytes)
			bytes -= wire.PieceBytes
		}
	}
}
