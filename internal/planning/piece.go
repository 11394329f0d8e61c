package planning

import (
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// prepareByte is the time, in nanoseconds on one thread, to make what a job needs from a byte of its data set:
// checking, converting to other units, sorting.
const prepareByte = 50.0

// PieceSeconds returns an upper estimate of how long one thread of a worker takes for the largest piece of work after
// which it can report progress: preparing the data set, or building and reading one tile.
func (p Workload) PieceSeconds() float64 {
	n := float64(p.Rows())
	rows := min(n, float64(partition.TileRows(p.Rows())))
	work := 0.0
	switch {
	case p.onlyLevels():
	case p.Neighbors != nil:
		work = p.Neighbors.work() * rows / n
	case p.Vectors != nil:
		lanes := float64(p.lanes())
		p.Restarts = 1
		work = lanes * p.vectorWork(rows) // the work of a whole run, which is more than enough
	case p.Matrix.Function == kernel.Adjacency:
		// One tile may contain all edges.
		work = float64(p.edges()) * (graphEntry + edge + float64(p.vectorsPerPass())*productEdge)
	default:
		entry := p.entryNanoseconds() + readEntry + float64(p.lanes())*addEntry + float64(p.vectorsPerPass())*productEntry
		work = rows * n * entry
	}
	return (work + prepareByte*float64(p.DatasetBytes)) / 1e9
}
