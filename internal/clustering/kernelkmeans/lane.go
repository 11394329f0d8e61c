package kernelkmeans

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/kernel"
)

// lane is the executor as one restart sees it: with one labeling, of clusters 0..k-1.
type lane struct{ *clustering.Lane }

// request is an operation that a restart asks of the executor, with its answer once it is served.
type request struct {
	kind    requestKind
	columns []int32 // of a column sum, or the points of a block
	labels  []int32
	moves   []kernel.Move // operands of an update, answer of an assignment
	stats   kernel.ClusterStats

	// The answer.
	values   []float64 // a value per row, or those of a block
	self     []kernel.Int128
	farthest kernel.Candidate
	err      error
}

// requestKind orders requests: those that do not read the matrix are served first, so that the sweeps of all
// restarts come together even where restarts are at different points of an iteration.
type requestKind uint8

const (
	askAssign requestKind = iota
	askFarthest
	askGains
	askBlock
	askColumnSum
	askLoad
	askUpdate
)

// answer asks and waits for the answer.
func (l lane) answer(r *request) error {
	if err := l.Ask(r); err != nil {
		return err
	}
	return r.err
}

func (l lane) ColumnSum(columns []int32) ([]float64, error) {
	r := &request{kind: askColumnSum, columns: columns}
	err := l.answer(r)
	return r.values, err
}

func (l lane) Load(labels []int32) ([]kernel.Int128, error) {
	r := &request{kind: askLoad, labels: labels}
	err := l.answer(r)
	return r.self, err
}

func (l lane) Update(moves []kernel.Move) ([]kernel.Int128, error) {
	r := &request{kind: askUpdate, moves: moves}
	err := l.answer(r)
	return r.self, err
}

func (l lane) Assign(stats kernel.ClusterStats) ([]kernel.Move, error) {
	r := &request{kind: askAssign, stats: stats}
	err := l.answer(r)
	return r.moves, err
}

func (l lane) Farthest(stats kernel.ClusterStats) (kernel.Candidate, error) {
	r := &request{kind: askFarthest, stats: stats}
	err := l.answer(r)
	return r.farthest, err
}

func (l lane) Gains(stats kernel.ClusterStats) ([]float64, error) {
	r := &request{kind: askGains, stats: stats}
	err := l.answer(r)
	return r.values, err
}

func (l lane) Block(points []int32) ([]float64, error) {
	r := &request{kind: askBlock, columns: points}
	err := l.answer(r)
	return r.values, err
}
