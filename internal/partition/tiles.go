// Package partition cuts n rows into tiles and places tiles on workers.
//
// The tiles depend on n only, never on the workers. Sums are taken per tile in row order and then combined in
// tile order, so that every total has the same bits wherever the tiles are.
package partition

// Bounds of a tile's height.
const (
	minTileRows = 16
	maxTileRows = 1024
	wantedTiles = 16
)

// TileRows returns the number of rows of a tile: the largest power of two <= n/16, within 16..1024.
func TileRows(n int) int {
	rows := minTileRows
	for rows < maxTileRows && 2*rows <= n/wantedTiles {
		rows *= 2
	}
	return rows
}

// Range is the rows From <= i < To.
type Range struct{ From, To int }

// Len returns the number of rows.
func (r Range) Len() int { return r.To - r.From }

// TileCount returns the number of tiles of n rows.
func TileCount(n int) int { return (n + TileRows(n) - 1) / TileRows(n) }

// Tile returns the rows of one tile; the last tile may be shorter.
func Tile(n, tile int) Range {
	height := TileRows(n)
	return Range{From: tile * height, To: min((tile+1)*height, n)}
}

// TileOf returns the tile that a row is in.
func TileOf(n, row int) int { return row / TileRows(n) }

// TileRanges returns the rows of some tiles of n rows.
func TileRanges(n int, tiles []int) []Range {
	ranges := make([]Range, len(tiles))
	for i, t := range tiles {
		ranges[i] = Tile(n, t)
	}
	return ranges
}

// AllTiles lists the numbers of all tiles of n rows.
func AllTiles(n int) []int {
	tiles := make([]int, TileCount(n))
	for t := range tiles {
		tiles[t] = t
	}
	return tiles
}

// SumByTile adds up one value per row in the order of all totals: each tile in row order, then the tiles in tile
// order.
func SumByTile(n int, value func(row int) float64) float64 {
	total := 0.0
	for tile := range TileCount(n) {
		rows := Tile(n, tile)
		part := 0.0
		for i := rows.From; i < rows.To; i++ {
			part += value(i)
		}
		total += part
	}
	return total
}
