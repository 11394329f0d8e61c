package exchange

import (
	"slices"
	"sync"

	"github.com/cleave-project/cleave/internal/wire"
)

// cachedSets is the number of data sets of which pieces stay in memory.
const cachedSets = 2

// pieceCache keeps pieces in memory that nobody uses, for as long as there is room, because a worker without a cache on
// disk would have to fetch them again for its next tiles. Each was checked when it arrived. It is safe for concurrent
// use.
type pieceCache struct {
	take func(bytes int64) bool // reserves memory, if there is enough
	free func(bytes int64)

	mu   sync.Mutex
	sets []*pieceSet // the last one is the most recently used
}

type pieceSet struct {
	id     string
	pieces map[int][]byte
}

// put keeps a piece, and reports whether it did.
func (c *pieceCache) put(id string, piece int, data []byte) bool {
	if c.take == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	set := c.touchLocked(id)
	if set.pieces[piece] != nil || !c.take(wire.PieceBytes) {
		return false
	}
	set.pieces[piece] = data
	return true
}

// touchLocked returns the pieces of a data set, which is the most recently used one from now on. The pieces of others
// may make room. The caller holds c.mu.
func (c *pieceCache) touchLocked(id string) *pieceSet {
	set := &pieceSet{id: id, pieces: map[int][]byte{}}
	if at := slices.IndexFunc(c.sets, func(other *pieceSet) bool { return other.id == id }); at >= 0 {
		set = c.sets[at]
		c.sets = slices.Delete(c.sets, at, at+1)
	}
	c.sets = append(c.sets, set)
	if len(c.sets) > cachedSets {
		c.free(int64(len(c.sets[0].pieces)) * wire.PieceBytes)
		c.sets = slices.Delete(c.sets, 0, 1)
	}
	return set
}

// get returns a piece and no longer keeps it. It returns nil if there is none.
func (c *pieceCache) get(id string, piece int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, set := range c.sets {
		if data := set.pieces[piece]; set.id == id && data != nil {
			delete(set.pieces, piece)
			c.free(wire.PieceBytes)
			return data
		}
	}
	return nil
}

// of returns the pieces of a data set.
func (c *pieceCache) of(id string) []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	var pieces []int
	for _, set := range c.sets {
		for p := range set.pieces {
			if set.id == id {
				pieces = append(pieces, p)
			}
		}
	}
	return pieces
}

// has reports whether there is a piece.
func (c *pieceCache) has(id string, piece int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.sets, func(set *pieceSet) bool { return set.id == id && set.pieces[piece] != nil })
}

// evict drops pieces until this many bytes are free or none is left.
func (c *pieceCache) evict(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, set := range c.sets {
		for p := range set.pieces {
			if bytes <= 0 {
				return
			}
			delete(set.pieces, p)
			c.free(wire.PieceBytes)
			bytes -= wire.PieceBytes
		}
	}
}
