package vector

// Bytes returns the memory of all tiles, the labels, and the buffers besides them.
func (s *Shard) Bytes() int64 {
	total := 4 * int64(len(s.labels))
	for _, w := range s.workspaces.Idle {
		total += 8 * int64(cap(w.sums)+cap(w.scores)+cap(w.unpacked)+cap(w.expanded)+cap(w.difference))
	}
	for _, t := range s.terms {
		total += t.bytes()
	}
	for _, r := range s.remembered {
		total += 8 * int64(cap(r.model.Centroids)+cap(r.model.Metric))
	}
	for _, t := range s.tiles {
		total += t.bytes() + t.laneBytes()
	}
	return total
}

func (t *tile) bytes() int64 {
	bytes := 8 * int64(len(t.packed)+len(t.values)+len(t.starts)+len(t.backgrounds))
	if t.ownColumns {
		bytes += ColumnBytes(int64(len(t.columns)))
	}
	return bytes
}

// laneBytes returns the memory that the tile takes besides its rows.
func (t *tile) laneBytes() int64 {
	total := 12 * int64(cap(t.moves))
	for _, own := range t.own {
		total += 8 * int64(cap(own.values))
	}
	return total
}

func (t *terms) bytes() int64 { return 8 * int64(cap(t.weights)+cap(t.starts)+cap(t.bias)) }
