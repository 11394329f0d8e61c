package vector

import "github.com/cleave-project/cleave/internal/numeric/parallel"

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

// workspaces lends workspaces for one tile.
type workspaces struct{ parallel.Workspaces[workspace] }

func (ws *workspaces) bytes() int64 {
	total := 0
	for _, w := range ws.Idle {
		total += cap(w.sums) + cap(w.scores) + cap(w.unpacked) + cap(w.expanded) + cap(w.difference)
	}
	return 8 * int64(total)
}
