package planning

import (
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// prepareByte is the time to make what a job needs from a byte of its data set, on one thread: to check it, put it into
// other units, sort it.
const prepareByte = 50.0

// PieceSeconds is about how long one thread of a worker takes at most for the largest piece of work after which it can
// tell that it gets on: to prepare the data set, or to build and read one tile.
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
		work = lanes * p.vectorWork(rows) // of a whole run, which is more than enough
	case p.Matrix.Function == kernel.Adjacency:
		work = float64(p.edges()) * (graphEntry + edge + float64(p.vectorsPerPass())*productEdge) // all edges may be those of one tile
	default:
		entry := p.entryNanoseconds() + readEntry + float64(p.lanes())*addEntry + float64(p.vectorsPerPass())*productEntry
		work = rows * n * entry
	}
	return (work + prepareByte*float64(p.DatasetBytes)) / 1e9
}
