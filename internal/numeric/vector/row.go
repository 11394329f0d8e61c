package vector

// row is one prepared point. values holds all features or, if columns is set, only those; all others are 0. The
// background is added to every feature, listed or not.
type row struct {
	columns    []int32 // nil for all features
	values     []float64
	background float64
}

// column returns the feature that the value at an index belongs to.
func (r *row) column(at int) int {
	if r.columns == nil {
		return at
	}
	return int(r.columns[at])
}

// expanded returns the values of all features without the background. For a sparse row it fills and returns the buffer.
func (r *row) expanded(buffer []float64) []float64 {
	if r.columns == nil {
		return r.values
	}
	clear(buffer)
	for i, f := range r.columns {
		buffer[f] = r.values[i]
	}
	return buffer
}

// addTo adds a sparse row, times sign, to sums: one value per feature, followed by the background if the row has one.
func (r *row) addTo(sums []float64, sign float64) {
	for i, f := range r.columns {
		sums[f] += sign * r.values[i] // exact, fused or not
	}
	if r.background != 0 {
		sums[len(sums)-1] += sign * r.background // exact, fused or not
	}
}
