package kernelkmeans

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// lane is the executor as one restart sees it: with one labeling, of clusters 0..k-1.
type lane struct{ *clustering.Lane }

// request is an operation that a restart asks of the executor, and its answer once it is served.
type request struct {
	kind    requestKind
	columns []int32         // of a column sum, or the points of a block
	labels  []int32         // to load; nil for other requests
	moves   []labeling.Move // operand of an update, or answer of an assignment
	stats   kernel.ClusterStats

	// The answer.
	values   []float64 // a value per row, or those of a block
	self     []kernel.Int128
	farthest labeling.Candidate
}

// requestKind orders requests. Those that do not read the matrix are served first. Loads and updates, which are one
// kind because one sweep does both, are served last, so that the sweeps of restarts at different points of an iteration
// are combined.
type requestKind uint8

const (
	askAssign requestKind = iota
	askFarthest
	askGains
	askBlock
	askColumnSum
	askUpdate
)

// Kind implements clustering.Request.
func (r *request) Kind() int { return int(r.kind) }

// answer asks and waits for the answer.
func (l lane) answer(r *request) (*request, error) { return r, l.Ask(r) }

func (l lane) ColumnSum(columns []int32) ([]float64, error) {
	r, err := l.answer(&request{kind: askColumnSum, columns: columns})
	return r.values, err
}

func (l lane) Load(labels []int32) ([]kernel.Int128, error) {
	r, err := l.answer(&request{kind: askUpdate, labels: labels})
	return r.self, err
}

func (l lane) Update(moves []labeling.Move) ([]kernel.Int128, error) {
	r, err := l.answer(&request{kind: askUpdate, moves: moves})
	return r.self, err
}

func (l lane) Assign(stats kernel.ClusterStats) ([]labeling.Move, error) {
	r, err := l.answer(&request{kind: askAssign, stats: stats})
	return r.moves, err
}

func (l lane) Farthest(stats kernel.ClusterStats) (labeling.Candidate, error) {
	r, err := l.answer(&request{kind: askFarthest, stats: stats})
	return r.farthest, err
}

func (l lane) Gains(stats kernel.ClusterStats) ([]float64, error) {
	r, err := l.answer(&request{kind: askGains, stats: stats})
	return r.values, err
}

func (l lane) Block(points []int32) ([]float64, error) {
	r, err := l.answer(&request{kind: askBlock, columns: points})
	return r.values, err
}
