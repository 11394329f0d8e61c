// Package partition cuts n rows into tiles and places tiles on workers.
//
// The cut depends on n alone, never on the workers: per-tile sums are taken in row order and
// combined in tile order, so that every total has the same bits wherever the tiles live.
package partition

// Bounds of a tile's height.
const (
	minTileRows = 16
	maxTileRows = 1024
	wantedTiles = 16
)

// TileRows is the height of the tiles of n rows: the largest power of two <= n/16, within 16..1024.
func TileRows(n int) int {
	rows := minTileRows
	for rows < maxTileRows && 2*rows <= n/wantedTiles {
		rows *= 2
	}
	return rows
}

// Range is the rows From <= i < To.
type Range struct{ From, To int }

// Len is the number of rows.
func (r Range) Len() int { return r.To - r.From }

// TileCount is the number of tiles of n rows.
func TileCount(n int) int { return (n + TileRows(n) - 1) / TileRows(n) }

// Tile is the rows of one tile of n rows; the last may be shorter.
func Tile(n, tile int) Range {
	height := TileRows(n)
	return Range{From: tile * height, To: min((tile+1)*height, n)}
}

// TileOf is the tile that a row lies in.
func TileOf(n, row int) int { return row / TileRows(n) }

// All lists every tile of n rows.
func All(n int) []int {
	tiles := make([]int, TileCount(n))
	for t := range tiles {
		tiles[t] = t
	}
	return tiles
}

// Sum adds up a value per row as every total is added up: each tile in row order, then the tiles
// in tile order.
func Sum(n int, value func(row int) float64) float64 {
	total := 0.0
	for tile := range TileCount(n) {
		rows, part := Tile(n, tile), 0.0
		for i := rows.From; i < rows.To; i++ {
			part += value(i)
		}
		total += part
	}
	return total
}
