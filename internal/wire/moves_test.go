package wire

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/labeling"
)

// drawMoves draws moves as methods make them: most ascend, lane after lane, but any order is possible.
func drawMoves(t *rapid.T) (moves []labeling.Move, clusters int) {
	clusters = rapid.OneOf(rapid.IntRange(1, 12), rapid.IntRange(1, math.MaxInt32/16)).Draw(t, "clusters")
	lanes := rapid.IntRange(1, 16).Draw(t, "lanes")
	highest := rapid.SampledFrom([]int32{3, 200, math.MaxInt32}).Draw(t, "highest")
	count := rapid.IntRange(0, 40).Draw(t, "count")
	for range count {
		lane := rapid.IntRange(0, lanes-1).Draw(t, "lane")
		one := func(name string) int32 {
			if c := rapid.IntRange(-1, clusters-1).Draw(t, name); c >= 0 {
				return int32(lane*clusters + c)
			}
			return labeling.None
		}
		moves = append(moves, labeling.Move{Point: rapid.Int32Range(0, highest).Draw(t, "point"), From: one("from"),
			To: one("to")})
	}
	if rapid.Bool().Draw(t, "sorted") {
		slices.SortFunc(moves, func(a, b labeling.Move) int { return int(a.Point) - int(b.Point) })
	}
	return moves, clusters
}

// packNaively packs moves by the grammar, one number after the other.
func packNaively(moves []labeling.Move, clusters int) []byte {
	var numbers []int64
	k := int64(clusters)
	laneOf := func(m labeling.Move) int64 { return max(int64(m.From), int64(m.To), 0) / k }
	for at := 0; at < len(moves); {
		if at == 0 {
			numbers = append(numbers, k)
		}
		end := at + 1
		for end < len(moves) && laneOf(moves[end]) == laneOf(moves[at]) && moves[end].Point > moves[end-1].Point {
			end++
		}
		numbers = append(numbers, laneOf(moves[at]), int64(end-at))
		for i := at; i < end; i++ {
			gap := int64(moves[i].Point)
			if i > at {
				gap -= int64(moves[i-1].Point) + 1
			}
			code := int64(0)
			for _, c := range []int32{moves[i].From, moves[i].To} {
				code *= k + 1
				if c != labeling.None {
					code += int64(c)%k + 1
				}
			}
			numbers = append(numbers, gap, code)
		}
		at = end
	}
	var packed []byte
	for _, v := range numbers {
		for ; v >= 0x80; v >>= 7 {
			packed = append(packed, byte(v)|0x80)
		}
		packed = append(packed, byte(v))
	}
	return packed
}

func TestPackedMovesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moves, clusters := drawMoves(t)
		packed := PackMoves(moves, clusters)
		if want := packNaively(moves, clusters); !slices.Equal(packed, want) {
			t.Fatalf("%v are packed as %x instead of %x", moves, packed, want)
		}
		unpacked, err := UnpackMoves(packed)
		if err != nil || !slices.Equal(unpacked, moves) {
			t.Fatalf("%v come back as %v, %v", moves, unpacked, err)
		}
		for end := 1; end < len(packed); end++ {
			if some, err := UnpackMoves(packed[:end]); err == nil && len(some) >= len(moves) {
				t.Fatalf("%d of %d bytes give %d of %d moves", end, len(packed), len(some), len(moves))
			}
		}
	})
}

// With ten clusters, a point in a hundred that moves takes two bytes, and any point of a billion at most six.
func TestPackedMovesAreSmall(t *testing.T) {
	var near, far []labeling.Move
	for i := range int32(1000) {
		near = append(near, labeling.Move{Point: 100 * i, From: i % 10, To: (i + 1) % 10})
		far = append(far, labeling.Move{Point: 1_000_000 * i, From: i % 10, To: (i + 1) % 10})
	}
	for _, c := range []struct {
		moves []labeling.Move
		most  int
	}{{near, 2*1000 + 4}, {far, 4*1000 + 4}} {
		if size := len(PackMoves(c.moves, 10)); size > c.most {
			t.Errorf("%d moves take %d bytes", len(c.moves), size)
		}
	}
}

func TestBadPackedMovesAreRefused(t *testing.T) {
	numbers := func(all ...uint64) []byte {
		var packed []byte
		for _, v := range all {
			packed = binary.AppendUvarint(packed, v)
		}
		return packed
	}
	for name, bad := range map[string][]byte{
		"clusters only":           numbers(3),
		"no clusters":             numbers(0, 0, 1, 0, 1),
		"an empty run":            numbers(3, 0, 0),
		"more moves than bytes":   numbers(3, 0, math.MaxInt32, 0, 1),
		"a code too large":        numbers(3, 0, 1, 0, 16),
		"a point too large":       numbers(3, 0, 2, math.MaxInt32, 1, 0, 1),
		"a gap too large":         numbers(3, 0, 1, math.MaxInt32+1, 1),
		"a lane too large":        numbers(3, math.MaxInt32/3+1, 1, 0, 1),
		"the last lane too large": numbers(3, math.MaxInt32/3, 1, 0, 1),
		"two runs for one":        numbers(3, 1, 1, 0, 1, 1, 1, 5, 1),
		"nowhere, in a lane":      numbers(3, 1, 1, 0, 0),
		"more clusters than int":  numbers(math.MaxInt32+1, 0, 1, 0, 1),
		"a long varint":           {3, 0, 1, 0x85, 0, 1},
		"an endless varint":       {3, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"the end of a move":       {3, 0, 1, 0x80},
	} {
		if moves, err := UnpackMoves(bad); err == nil {
			t.Errorf("%s: %v", name, moves)
		}
	}
}

// FuzzMoves unpacks any bytes. What is accepted is packed as the same bytes again.
func FuzzMoves(f *testing.F) {
	f.Add([]byte{})
	f.Add(PackMoves([]labeling.Move{{Point: 3, From: 0, To: 1}, {Point: 900, From: labeling.None, To: 2},
		{Point: 1, From: 3, To: 5}}, 3))
	f.Add([]byte{3, 0, 1, 0x85, 0, 1})
	f.Fuzz(func(t *testing.T, packed []byte) {
		ceiling(t, len(packed), func() {
			moves, err := UnpackMoves(packed)
			if err != nil || len(packed) == 0 {
				return
			}
			clusters, _ := binary.Uvarint(packed)
			if again := PackMoves(moves, int(clusters)); !slices.Equal(again, packed) {
				t.Fatalf("%x comes back as %x", packed, again)
			}
		})
	})
}
