package exchange

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/wire"
)

// What is kept never takes more than there is, what is reserved is what is kept, and nobody gets other bytes than
// were put.
func TestPieceCache(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		limit := random.Int64N(10) * wire.PieceBytes
		used := int64(0)
		k := pieceCache{
			take: func(bytes int64) bool {
				if used+bytes > limit {
					return false
				}
				used += bytes
				return true
			},
			free: func(bytes int64) { used -= bytes },
		}
		ids := []string{"a", "b", "c"}
		for range 200 {
			at := random.IntN(len(ids))
			piece := random.IntN(6)
			switch random.IntN(4) {
			case 0, 1:
				if k.put(ids[at], piece, []byte{byte(at), byte(piece)}) && !k.has(ids[at], piece) {
					t.Fatalf("seed %d: a piece that was kept is not there", seed)
				}
			case 2:
				if data := k.get(ids[at], piece); data != nil &&
					(!slices.Equal(data, []byte{byte(at), byte(piece)}) || k.has(ids[at], piece)) {
					t.Fatalf("seed %d: piece %d of %s is %v", seed, piece, ids[at], data)
				}
			case 3:
				before := used
				bytes := random.Int64N(3 * wire.PieceBytes)
				if k.evict(bytes); used > 0 && before-used < bytes {
					t.Fatalf("seed %d: %d bytes were freed instead of %d, and %d are left", seed, before-used,
						bytes, used)
				}
			}
			kept, sets := 0, 0
			for _, id := range ids {
				of := k.of(id)
				kept += len(of)
				sets += min(1, len(of))
			}
			if int64(kept)*wire.PieceBytes != used || used > limit || sets > cachedSets {
				t.Fatalf("seed %d: %d pieces of %d data sets take %d bytes of %d", seed, kept, sets, used, limit)
			}
		}
	}
	if none := (&pieceCache{}); none.put("a", 0, nil) || none.has("a", 0) || none.get("a", 0) != nil {
		t.Error("a piece is kept without memory")
	}
}

// Pieces that do not fit into the cache stay in memory until they are read, so those that were asked for because there
// seemed to be room are asked for again when somebody needs them.
func TestPiecesWithoutRoomInTheCache(t *testing.T) {
	cfg := quiet()
	id := datasetID(1)
	cfg.Cache = openCache(t, t.TempDir(), 1)
	_, release := cfg.Cache.Use(id)
	defer release()
	s := newShare(New(cfg), Coordinator{}, id, 10*wire.PieceBytes, false, func() {})
	wanted := func() (pieces []int) {
		for p := range s.pieces {
			if s.wanted[p] {
				pieces = append(pieces, p)
			}
		}
		return pieces
	}
	s.Want(0, 10)
	if got := wanted(); len(got) != 10 {
		t.Fatalf("%v is wanted", got)
	}
	s.keep(0, [32]byte{}, make([]byte, wire.PieceBytes))
	if _, rejoin := s.takeFailed(); !rejoin {
		t.Error("the coordinator is not told that the cache is full")
	}
	if got := wanted(); len(got) != 0 {
		t.Errorf("%v is wanted, and there is no room", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for piece, want := range []error{nil, context.Canceled} {
		if _, err := s.awaitPiece(ended, piece, true); !errors.Is(err, want) {
			t.Errorf("piece %d: %v", piece, err)
		}
	}
	if got := wanted(); !slices.Equal(got, []int{1}) {
		t.Errorf("%v is wanted, and somebody waits for piece 1", got)
	}
}
