package kernelkmeans

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// method is weighted kernel k-means (Kulis2009 Algorithm 1) on M = base + W, and with it KERNEL-HMRF-KMEANS (Algorithm
// 2) and SS-KERNEL-KMEANS (Algorithm 4). A step moves all points to their nearest clusters simultaneously; further
// rules handle shifts, rises of the objective and empty clusters. It implements clustering.Stepper.
type method struct {
	setup     *Setup
	p         *Problem        // of the setup
	matrix    *weightedMatrix // of the setup
	x         lane
	o         clustering.Observer // receives the steps of a spectral start's eigensolver
	restart   int
	sigma     float64
	iteration int
	now       assignment
	best      *assignment                // the best so far, with Options.KeepBest
	bestAt    int                        // its iteration
	seen      map[[sha256.Size]byte]bool // hashes of accepted labelings, to detect cycles
	phase     phase
	finalStop clustering.StopReason // why the run stops if no chain lowers J any more; 0 in phase moveAll
}

func (m *method) Labels() []int32 { return m.matrix.attached(m.answer().labels) }

func (m *method) FillResult(r *clustering.Result) {
	answer := m.answer()
	r.Kernel.Sigma = m.p.FromUnit(m.sigma)
	r.Objective = m.matrix.objective(answer)
	r.Kernel.PlainObjective = m.matrix.plainObjective(answer)
	if m.p.unconstrained != nil && m.Value() > m.setup.unconstrainedValue {
		r.BehindUnconstrained = math.Abs(r.Objective - m.setup.unconstrainedReported)
	}
}

func (m *method) Value() float64 { return m.matrix.value(m.answer()) }

// answer returns the labeling that is the answer if the run ends now.
func (m *method) answer() assignment {
	if m.best != nil {
		return *m.best
	}
	return m.now
}

// keepBest keeps the labeling if it is the best so far.
func (m *method) keepBest() {
	if m.p.options.KeepBest && (m.best == nil || m.matrix.value(m.now) < m.matrix.value(*m.best)) {
		best := m.now.clone()
		m.best, m.bestAt = &best, m.iteration
	}
}

// Init computes the first labels and their sums.
func (m *method) Init(ctx context.Context) (clustering.Report, error) {
	if m.p.options.SigmaAuto {
		shift, err := m.setup.autoShift(ctx)
		if err != nil {
			return clustering.Report{}, err
		}
		m.sigma = shift
	}
	if err := m.start(ctx); err != nil {
		return clustering.Report{}, err
	}
	if err := m.fillEmpty(); err != nil {
		return clustering.Report{}, err
	}
	m.keepBest()
	if err := m.unite(); err != nil {
		return clustering.Report{}, err
	}
	m.keepBest()
	m.seen = map[[sha256.Size]byte]bool{hashLabels(m.now.labels): true}
	report := clustering.Report{Entry: &clustering.HistoryEntry{Objective: m.matrix.objective(m.now)}}
	if m.restart == 0 {
		report.Notices = m.setup.unbalancedStart(m.now.labels)
	}
	return report, nil
}

// stepOfAll moves all points simultaneously to their nearest clusters and fills emptied clusters. The labels were those
// of before. Everything is undone if the objective rose or the labeling occurred earlier.
func (m *method) stepOfAll(ctx context.Context, before assignment) (clustering.Report, error) {
	shiftedBefore := m.shiftedValue()
	if err := m.batch(); err != nil {
		return clustering.Report{}, err
	}
	moves := difference(before.labels, m.now.labels)
	if len(moves) == 0 {
		return clustering.Report{Stop: clustering.StopConverged}, nil
	}
	hash := hashLabels(m.now.labels)
	rose := m.shiftedValue()-shiftedBefore > m.riseTolerance()
	repeated := m.seen[hash]
	switch policy := m.p.options.OnRise; {
	case rose && policy == riseConverges:
		return clustering.Report{Stop: clustering.StopConverged}, m.apply(reversed(moves))
	case (rose || repeated) && (policy == RiseShift || policy == RiseStop):
		if err := m.apply(reversed(moves)); err != nil {
			return clustering.Report{}, err
		}
		return m.afterUndo(ctx, repeated)
	}
	m.seen[hash] = true
	report := m.accept(before, len(moves))
	if repeated {
		report.Stop = clustering.StopCycle
	}
	return report, nil
}

// batch assigns all points once and fills the clusters that this emptied.
func (m *method) batch() error {
	moves, err := m.x.Assign(m.stats())
	if err != nil {
		return err
	}
	moves = m.matrix.withoutIsolated(moves)
	if len(moves) == 0 {
		return nil
	}
	if err := m.apply(moves); err != nil {
		return err
	}
	return m.fillEmpty()
}

// afterUndo decides how to continue after a step was undone: with another shift, or not at all.
func (m *method) afterUndo(ctx context.Context, repeated bool) (clustering.Report, error) {
	stop, why := clustering.StopRise, "the objective rose"
	if repeated {
		stop, why = clustering.StopCycle, "a labeling repeated"
	}
	if m.p.options.OnRise == RiseStop {
		return clustering.Report{Stop: stop}, nil
	}
	shift, err := m.setup.autoShift(ctx)
	if err != nil {
		return clustering.Report{}, err
	}
	if m.sigma >= shift {
		return clustering.Report{Stop: stop}, nil
	}
	m.sigma = shift
	return clustering.Report{Shift: &clustering.ShiftChange{
		Iteration: m.iteration, Sigma: m.p.FromUnit(shift),
		Reason: fmt.Sprintf("%s after iteration %d: the step was undone and the kernel shifted to be positive "+
			"semidefinite", why, m.iteration),
	}}, nil
}

// apply moves points and takes over the new sums.
func (m *method) apply(moves []labeling.Move) error {
	sums, err := m.x.Update(moves)
	if err != nil {
		return err
	}
	for _, move := range moves {
		m.now.labels[move.Point] = move.To
		m.matrix.count(&m.now, move.Point, move.From, -1)
		m.matrix.count(&m.now, move.Point, move.To, 1)
	}
	m.now.selfUnits = sums
	return nil
}

// load sets all labels.
func (m *method) load(labels []int32) error {
	labels = m.matrix.unlabeled(labels)
	sums, err := m.x.Load(labels)
	if err != nil {
		return err
	}
	m.now = m.matrix.newAssignment(labels, sums)
	return nil
}

// fillEmpty moves the point farthest from its cluster to each empty cluster, in the order of the clusters. With a
// positive semidefinite kernel that never raises J.
func (m *method) fillEmpty() error {
	if m.p.options.KeepEmpty {
		return nil
	}
	for c, count := range m.now.counts {
		if count > 0 {
			continue
		}
		farthest, err := m.x.Farthest(m.stats())
		if err != nil || !farthest.Found {
			return err
		}
		move := labeling.Move{Point: farthest.Point, From: m.now.labels[farthest.Point], To: int32(c)}
		if err := m.apply([]labeling.Move{move}); err != nil {
			return err
		}
	}
	return nil
}

func (m *method) stats() kernel.ClusterStats { return m.matrix.statsOf(m.now, m.sigma) }

// shiftedValue returns J of the shifted kernel, J + sigma (n - clusters), which never rises once that kernel is
// positive semidefinite.
func (m *method) shiftedValue() float64 {
	association, _, clusters := m.matrix.association(m.now)
	return m.matrix.diagonalTerm - association + float64(m.sigma*float64(m.matrix.active-clusters))
}

// riseTolerance returns how much J may grow by rounding alone.
func (m *method) riseTolerance() float64 {
	_, magnitude, _ := m.matrix.association(m.now)
	return 1e-9 * (m.matrix.diagonalSize + magnitude)
}

func hashLabels(labels []int32) [sha256.Size]byte {
	raw := make([]byte, 4*len(labels))
	for i, c := range labels {
		binary.LittleEndian.PutUint32(raw[4*i:], uint32(c))
	}
	return sha256.Sum256(raw)
}

// difference returns the moves from one labeling to another, in row order.
func difference(from, to []int32) []labeling.Move {
	var moves []labeling.Move
	for i := range from {
		if from[i] != to[i] {
			moves = append(moves, labeling.Move{Point: int32(i), From: from[i], To: to[i]})
		}
	}
	return moves
}

func reversed(moves []labeling.Move) []labeling.Move {
	back := make([]labeling.Move, len(moves))
	for i, m := range moves {
		back[i] = labeling.Move{Point: m.Point, From: m.To, To: m.From}
	}
	return back
}
