package planning

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/partition"
)

// As many consecutive tiles as there are threads lie in no more pieces than a worker has memory for.
func TestBuildPiecesSuffice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(16, 5000).Draw(t, "n")
		d := rapid.IntRange(1, 20_000).Draw(t, "d")
		threads := rapid.IntRange(1, 5).Draw(t, "threads")
		p := dense(n, d, 1)
		tiles := partition.TileCount(n)
		firsts := make([]int64, tiles+1)
		if rapid.Bool().Draw(t, "sparse") {
			p.Vectors.Entries = make([]int64, tiles)
			for tile := range tiles {
				p.Vectors.Entries[tile] = rapid.Int64Range(0, int64(d)*int64(partition.TileRows(n))).Draw(t, "entries")
				firsts[tile+1] = firsts[tile] + p.Vectors.Entries[tile]
			}
		}
		most := p.BuildPieces(threads)
		for from := range tiles {
			pieces := map[int64]bool{}
			for tile := from; tile < min(from+threads, tiles); tile++ {
				rows := partition.Tile(n, tile)
				part := dataset.Part{N: n, D: d, From: rows.From, To: rows.To}
				if p.Vectors.isSparse() {
					part.Entries = &dataset.Entries{From: firsts[tile], To: firsts[tile+1], All: firsts[tiles]}
				}
				for _, s := range part.Spans() {
					for piece := s.Offset / PieceBytes; piece*PieceBytes < s.Offset+s.Length; piece++ {
						pieces[piece] = true
					}
				}
			}
			if int64(len(pieces)) > most {
				t.Fatalf("%d tiles from %d on lie in %d pieces; %d are planned for", threads, from, len(pieces), most)
			}
		}
	})
}
