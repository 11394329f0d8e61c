package vector

// row is one prepared point: the value of every feature or, where columns are listed, of those, with
// all others 0. The background comes on top of every feature, listed or not.
type row struct {
	columns    []int32 // nil: every feature
	values     []float64
	background float64
}

// column is the feature of the value at a place.
func (r *row) column(at int) int {
	if r.columns == nil {
		return at
	}
	return int(r.columns[at])
}

// writtenOut is the values of all features, without the background: the row's own, or in the buffer.
func (r *row) expanded(buffer []float64) []float64 {
	if r.columns == nil {
		return r.values
	}
	clear(buffer)
	for at, f := range r.columns {
		buffer[f] = r.values[at]
	}
	return buffer
}

// addTo adds a sparse row to sums: a value per feature and, where there is one, the background.
func (r *row) addTo(sums []float64) {
	for at, f := range r.columns {
		sums[f] += r.values[at]
	}
	if r.background != 0 {
		sums[len(sums)-1] += r.background
	}
}
