package partition

// nextInRun returns the tile of host `from` that makes a run of host `to` longer or, if there is none, its last tile.
// It returns Nowhere if no tile fits.
func (l *Layout) nextInRun(from, to int, q *queue) int {
	for ; q.start < len(l.Owner); q.start++ {
		if l.canMove(q.start, from, to) && (l.ownerOf(q.start-1) == to || l.ownerOf(q.start+1) == to) {
			return q.start
		}
	}
	for tile := len(l.Owner) - 1; tile >= 0; tile-- {
		if l.canMove(tile, from, to) {
			return tile
		}
	}
	return Nowhere
}

// ownerOf returns the host of a tile, or Nowhere if there is no such tile.
func (l *Layout) ownerOf(tile int) int {
	if tile < 0 || tile >= len(l.Owner) {
		return Nowhere
	}
	return l.Owner[tile]
}

// hashOf returns the hash by which a tile prefers hosts. All tiles prefer the same host if runs are kept: it takes the
// first run, the next one the second, and so on.
func (l *Layout) hashOf(tile int) uint64 {
	if l.runs {
		tile = 0
	}
	return hashTile(l.key, tile)
}
