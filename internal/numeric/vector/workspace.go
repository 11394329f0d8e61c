package vector

// workspace is the scratch space of one goroutine, so that work on a tile allocates nothing.
type workspace struct {
	reader
	sums            []float64 // cluster sums over the tiles it was used for
	scores          []float64
	lowest, highest [groupRows]float64
	places          places
	assignments     []assignment // per query
	expanded        []float64    // a sparse row with all its zeros
	difference      []float64    // x - mu
	counts          []int32      // points per cluster in a tile
}
