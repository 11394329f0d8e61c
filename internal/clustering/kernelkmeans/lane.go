package kernelkmeans

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// lane is the executor as one restart sees it: with one labeling, of clusters 0..k-1.
type lane struct {
	*clustering.Lane
	server *server
}

func (l lane) Load(labels []int32) ([]kernel.Int128, error) {
	return l.server.change.Ask(l.Lane, clustering.Change{Labels: labels})
}

func (l lane) Update(moves []labeling.Move) ([]kernel.Int128, error) {
	return l.server.change.Ask(l.Lane, clustering.Change{Moves: moves})
}

func (l lane) ColumnSum(columns []int32) ([]float64, error) {
	return l.server.columnSum.Ask(l.Lane, columns)
}

func (l lane) Assign(stats kernel.ClusterStats) ([]labeling.Move, error) {
	return l.server.assign.Ask(l.Lane, stats)
}

func (l lane) Farthest(stats kernel.ClusterStats) (labeling.Candidate, error) {
	return l.server.farthest.Ask(l.Lane, stats)
}

func (l lane) Gains(stats kernel.ClusterStats) ([]float64, error) {
	return l.server.gains.Ask(l.Lane, stats)
}

func (l lane) Block(points []int32) (BlockSums, error) {
	return l.server.block.Ask(l.Lane, points)
}
