package kernelkmeans

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// lane is the executor as one restart sees it: with one labeling, of clusters 0..k-1.
type lane struct{ *clustering.Lane }

// request is an operation that a restart asks of the executor, and its answer once it is served: a value per row, or
// those of a block.
type request struct {
	clustering.RequestBase
	columns []int32 // those that a column sum adds up, or the points of a block
	stats   kernel.ClusterStats
	self    []kernel.Int128 // part of the answer
}

// The kinds of requests. Those that do not read the matrix are served first. Loads and updates, which are one kind
// because one sweep does both, are served last, so that the sweeps of restarts at different points of an iteration are
// combined.
const (
	askAssign = iota
	askFarthest
	askGains
	askBlock
	askColumnSum
	askUpdate
)

// ask asks for an operation and waits for the answer.
func (l lane) ask(kind int, columns []int32, stats kernel.ClusterStats) (*request, error) {
	r := &request{RequestBase: clustering.RequestBase{Kind: kind}, columns: columns, stats: stats}
	return r, l.Ask(r)
}

// update asks for a load of labels or an update by moves.
func (l lane) update(labels []int32, moves []labeling.Move) ([]kernel.Int128, error) {
	r := &request{RequestBase: clustering.RequestBase{Kind: askUpdate, Labels: labels, Moves: moves}}
	err := l.Ask(r)
	return r.self, err
}

func (l lane) Load(labels []int32) ([]kernel.Int128, error) { return l.update(labels, nil) }

func (l lane) Update(moves []labeling.Move) ([]kernel.Int128, error) { return l.update(nil, moves) }

func (l lane) ColumnSum(columns []int32) ([]float64, error) {
	r, err := l.ask(askColumnSum, columns, kernel.ClusterStats{})
	return r.Values, err
}

func (l lane) Assign(stats kernel.ClusterStats) ([]labeling.Move, error) {
	r, err := l.ask(askAssign, nil, stats)
	return r.Moves, err
}

func (l lane) Farthest(stats kernel.ClusterStats) (labeling.Candidate, error) {
	r, err := l.ask(askFarthest, nil, stats)
	return r.Farthest, err
}

func (l lane) Gains(stats kernel.ClusterStats) ([]float64, error) {
	r, err := l.ask(askGains, nil, stats)
	return r.Values, err
}

func (l lane) Block(points []int32) ([]float64, error) {
	r, err := l.ask(askBlock, points, kernel.ClusterStats{})
	return r.Values, err
}
