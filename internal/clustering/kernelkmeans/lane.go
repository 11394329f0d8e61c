package kernelkmeans

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/kernel"
)

// lane is the executor as one restart sees it: one labeling with clusters 0..k-1.
type lane struct{ *clustering.Lane }

// request is what a restart asks of the executor, with room for the answer.
type request struct {
	kind    requestKind
	columns []int32
	labels  []int32
	moves   []kernel.Move // also the answer of an assignment
	stats   kernel.Stats

	sums     []float64
	self     []kernel.Int128
	farthest kernel.Candidate
	err      error
}

// requestKind orders requests: those that read nothing of the matrix come first, so that the sweeps of
// restarts that are not in step fall together all the same.
type requestKind uint8

const (
	askAssign requestKind = iota
	askFarthest
	askColumnSum
	askLoad
	askUpdate
)

func (l lane) answer(r *request) error {
	if err := l.Ask(r); err != nil {
		return err
	}
	return r.err
}

func (l lane) ColumnSum(columns []int32) ([]float64, error) {
	r := &request{kind: askColumnSum, columns: columns}
	err := l.answer(r)
	return r.sums, err
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

func (l lane) Assign(stats kernel.Stats) ([]kernel.Move, error) {
	r := &request{kind: askAssign, stats: stats}
	err := l.answer(r)
	return r.moves, err
}

func (l lane) Farthest(stats kernel.Stats) (kernel.Candidate, error) {
	r := &request{kind: askFarthest, stats: stats}
	err := l.answer(r)
	return r.farthest, err
}
