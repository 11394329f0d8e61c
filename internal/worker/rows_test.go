package worker

import (
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// sparseBytes is the size of sparse points with this many rows and entries.
func sparseBytes(rows int, entries int64) int64 {
	return dataset.Part{N: rows, Entries: &dataset.Entries{All: entries}}.Bytes()
}

// What does not describe the tiles of the data set is refused.
func TestEntriesOfTilesThatAreWrong(t *testing.T) {
	const rows = 64 // 4 tiles
	tiles := []int64{5, 0, 7, 3}
	if _, err := newRowPieces(sparseBytes(rows, 15), rows, 9, tiles, nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		bytes   int64
		entries []int64
		units   *dataset.Units
	}{
		"another size":     {sparseBytes(rows, 16), tiles, nil},
		"a missing tile":   {sparseBytes(rows, 12), tiles[:3], nil},
		"a negative count": {sparseBytes(rows, 15), []int64{5, -1, 8, 3}, nil},
		"an overflow":      {sparseBytes(rows, 15), []int64{1 << 62, 1 << 62, 1 << 62, 1<<62 + 15}, nil},
		"units":            {sparseBytes(rows, 15), tiles, &dataset.Units{}},
		"dense points":     {sparseBytes(rows, 15), nil, nil},
	} {
		if _, err := newRowPieces(c.bytes, rows, 9, c.entries, c.units); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// Batches have all tiles in order, and the pieces of each, no more than there is memory for unless a single tile has
// more.
func TestBatchesOfPieces(t *testing.T) {
	const rows, columns, most = 20_000, 2000, 7
	entries := make([]int64, partition.TileCount(rows))
	total := int64(0)
	for tile := range entries {
		entries[tile] = int64(tile%7) * 200_000
		total += entries[tile]
	}
	r, err := newRowPieces(sparseBytes(rows, total), rows, columns, entries, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := partition.AllTiles(rows)
	var tiles []int
	for _, b := range r.batches(all, most) {
		if !slices.IsSorted(b.pieces) || len(b.pieces) > most && len(b.tiles) > 1 {
			t.Errorf("tiles %v from pieces %v", b.tiles, b.pieces)
		}
		for _, tile := range b.tiles {
			for _, s := range r.part(partition.Tile(rows, tile)).Spans() {
				for at := s.Offset; at < s.Offset+s.Length; at += wire.PieceBytes / 2 {
					if !slices.Contains(b.pieces, int(at/wire.PieceBytes)) {
						t.Errorf("tile %d lacks piece %d", tile, at/wire.PieceBytes)
					}
				}
			}
		}
		tiles = append(tiles, b.tiles...)
	}
	if !slices.Equal(tiles, all) {
		t.Errorf("the tiles are %v", tiles)
	}
}
