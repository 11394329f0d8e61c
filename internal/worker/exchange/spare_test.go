package exchange

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/wire"
)

// What is kept never takes more than there is, what is reserved is what is kept, and nobody gets other bytes than
// were put.
func TestSparePieces(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		limit, used := random.Int64N(10)*wire.PieceBytes, int64(0)
		k := spare{
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
			at, piece := random.IntN(len(ids)), random.IntN(6)
			switch random.IntN(4) {
			case 0, 1:
				if k.put(ids[at], piece, []byte{byte(at), byte(piece)}) && !k.has(ids[at], piece) {
					t.Fatalf("seed %d: a piece that was kept is not there", seed)
				}
			case 2:
				if data := k.get(ids[at], piece); data != nil && (!slices.Equal(data, []byte{byte(at), byte(piece)}) || k.has(ids[at], piece)) {
					t.Fatalf("seed %d: piece %d of %s is %v", seed, piece, ids[at], data)
				}
			case 3:
				before := used
				bytes := random.Int64N(3 * wire.PieceBytes)
				if k.evict(bytes); used > 0 && before-used < bytes {
					t.Fatalf("seed %d: %d bytes were freed instead of %d, and %d are left", seed, before-used, bytes, used)
				}
			}
			kept, sets := 0, 0
			for _, id := range ids {
				of := k.of(id)
				kept += len(of)
				sets += min(1, len(of))
			}
			if int64(kept)*wire.PieceBytes != used || used > limit || sets > spareSets {
				t.Fatalf("seed %d: %d pieces of %d data sets take %d bytes of %d", seed, kept, sets, used, limit)
			}
		}
	}
	if none := (&spare{}); none.put("a", 0, nil) || none.has("a", 0) || none.get("a", 0) != nil {
		t.Error("a piece is kept without memory")
	}
}
