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
func (k *spare) put(id string, piece int, data []byte) bool {
	if k.take == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	set := k.touch(id)
	if set.pieces[piece] != nil || !k.take(wire.PieceBytes) {
		return false
	}
	set.pieces[piece] = data
	return true
}

// touch returns the pieces of a data set, which is the most recently used one from now on. The pieces of others may
// make room. The caller holds k.mu.
func (k *spare) touch(id string) *spareSet {
	set := &spareSet{id: id, pieces: map[int][]byte{}}
	if at := slices.IndexFunc(k.sets, func(s *spareSet) bool { return s.id == id }); at >= 0 {
		set = k.sets[at]
		k.sets = slices.Delete(k.sets, at, at+1)
	}
	k.sets = append(k.sets, set)
	if len(k.sets) > spareSets {
		k.free(int64(len(k.sets[0].pieces)) * wire.PieceBytes)
		k.sets = slices.Delete(k.sets, 0, 1)
	}
	return set
}

// get returns a piece and no longer keeps it. It returns nil if there is none.
func (k *spare) get(id string, piece int) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, set := range k.sets {
		if data := set.pieces[piece]; set.id == id && data != nil {
			delete(set.pieces, piece)
			k.free(wire.PieceBytes)
			return data
		}
	}
	return nil
}

// of returns the pieces of a data set.
func (k *spare) of(id string) []int {
	k.mu.Lock()
	defer k.mu.Unlock()
	var pieces []int
	for _, set := range k.sets {
		for p := range set.pieces {
			if set.id == id {
				pieces = append(pieces, p)
			}
		}
	}
	return pieces
}

// has reports whether there is a piece.
func (k *spare) has(id string, piece int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(k.sets, func(set *spareSet) bool { return set.id == id && set.pieces[piece] != nil })
}

// evict drops pieces until this many bytes are free or none is left.
func (k *spare) evict(bytes int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, set := range k.sets {
		for p := range set.pieces {
			if bytes <= 0 {
				return
			}
			delete(set.pieces, p)
			k.free(wire.PieceBytes)
			bytes -= wire.PieceBytes
		}
	}
}
