package kernelkmeans

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/kernel"
)

// kernelKmeans is weighted kernel k-means (Kulis2009 Algorithm 1) on M = base + W, and with it
// KERNEL-HMRF-KMEANS (Algorithm 2) and SS-KERNEL-KMEANS (Algorithm 4): batch steps, every point to
// its nearest cluster at once, with the shift, rise and empty-cluster rules around them.
type method struct {
	*Family
	x         lane
	o         clustering.Observer // hears of eigensolvers
	restart   int
	rng       *rand.Rand
	sigma     float64
	iteration int
	labeling
	seen map[[sha256.Size]byte]bool // labelings of accepted steps
}

// labeling is a partition of the points and its exact sums.
type labeling struct {
	labels      []int32
	counts      []int32
	weightUnits []kernel.Int128 // s_c in units of the weight grid
	selfUnits   []kernel.Int128 // Q_c in units of the grid
}

func (l labeling) clone() labeling {
	return labeling{slices.Clone(l.labels), slices.Clone(l.counts), slices.Clone(l.weightUnits), slices.Clone(l.selfUnits)}
}

// Labels implements Method.
func (m *method) Labels() []int32 { return m.labels }

// Conclude implements Method.
func (m *method) Conclude(r *clustering.Result) { r.Sigma = m.sigma }

// Value implements Method: J = sum_i M_ii/a_i - sum_c Q_c/s_c.
func (m *method) Value() float64 {
	association, _, _ := m.association()
	return m.diagonalTerm - association
}

// Init makes the first labels and their sums.
func (m *method) Init(ctx context.Context) (clustering.Report, error) {
	if m.p.options.SigmaAuto {
		shift, err := m.auto(ctx)
		if err != nil {
			return clustering.Report{}, err
		}
		m.sigma = shift
	}
	if err := m.start(ctx); err != nil {
		return clustering.Report{}, err
	}
	if _, err := m.fillEmpty(ctx); err != nil {
		return clustering.Report{}, err
	}
	m.seen = map[[sha256.Size]byte]bool{hashLabels(m.labels): true}
	report := clustering.Report{Entry: &clustering.Entry{Objective: m.objective()}}
	if m.restart == 0 {
		report.Notices = m.lopsided(m.labels)
	}
	return report, nil
}

// Step moves all points at once to their nearest cluster, fills emptied clusters, and undoes it all
// when the objective rose or the labeling was seen before.
func (m *method) Step(ctx context.Context) (clustering.Report, error) {
	before := m.labeling.clone()
	valueBefore, riseBefore := m.Value(), m.shiftedValue()
	if err := m.batch(ctx); err != nil {
		return clustering.Report{}, m.restoreAfter(err, before)
	}
	moves := difference(before.labels, m.labels)
	if len(moves) == 0 {
		return clustering.Report{Stop: clustering.StopConverged}, nil
	}
	hash := hashLabels(m.labels)
	rose := m.shiftedValue()-riseBefore > m.riseTolerance()
	repeated := m.seen[hash]
	if (rose || repeated) && m.p.options.OnRise != RiseIgnore {
		if err := m.apply(ctx, reversed(moves)); err != nil {
			return clustering.Report{}, m.restoreAfter(err, before)
		}
		return m.afterUndo(ctx, repeated)
	}
	m.seen[hash] = true
	m.iteration++
	report := clustering.Report{Entry: &clustering.Entry{Iteration: m.iteration, Objective: m.objective(), Moved: len(moves)}}
	switch decrease := valueBefore - m.Value(); {
	case repeated:
		report.Stop = clustering.StopCycle
	case m.p.spec.Tolerance > 0 && decrease <= m.p.spec.Tolerance*math.Abs(valueBefore):
		report.Stop = clustering.StopTolerance
	}
	return report, nil
}

// batch is one assignment of all points and the repair of clusters that it emptied.
func (m *method) batch(ctx context.Context) error {
	moves, err := m.x.Assign(m.stats())
	if err != nil || len(moves) == 0 {
		return err
	}
	if err := m.apply(ctx, moves); err != nil {
		return err
	}
	_, err = m.fillEmpty(ctx)
	return err
}

// afterUndo decides how to go on from the labels before a step that rose or repeated.
func (m *method) afterUndo(ctx context.Context, repeated bool) (clustering.Report, error) {
	stop, why := clustering.StopRise, "the objective rose"
	if repeated {
		stop, why = clustering.StopCycle, "a labeling repeated"
	}
	if m.p.options.OnRise == RiseStop {
		return clustering.Report{Stop: stop}, nil
	}
	shift, err := m.auto(ctx)
	if err != nil {
		return clustering.Report{}, err
	}
	if m.sigma >= shift {
		return clustering.Report{Stop: stop}, nil
	}
	m.sigma = shift
	return clustering.Report{Shift: &clustering.ShiftChange{
		Iteration: m.iteration, Sigma: shift,
		Why: fmt.Sprintf("%s after iteration %d: the step was undone and the kernel shifted to be positive semidefinite", why, m.iteration),
	}}, nil
}

// restoreAfter keeps the labeling of the last accepted step when an operation failed on the way, so
// that a cancelled run ends with labels that belong to its history.
func (m *method) restoreAfter(err error, before labeling) error {
	m.labeling = before
	return err
}

// apply moves points and takes over the new sums.
func (m *method) apply(ctx context.Context, moves []kernel.Move) error {
	sums, err := m.x.Update(moves)
	if err != nil {
		return err
	}
	for _, move := range moves {
		m.labels[move.Point] = move.To
		m.count(move.Point, move.From, -1)
		m.count(move.Point, move.To, 1)
	}
	m.selfUnits = sums
	return nil
}

// count adds or takes a point's weight to or from a cluster, exactly.
func (m *method) count(point, cluster int32, sign int64) {
	if cluster < 0 {
		return
	}
	m.counts[cluster] += int32(sign)
	m.weightUnits[cluster] = m.weightUnits[cluster].AddInt64(sign * m.weightGrid.Units(m.weights[point]))
}

// load sets all labels at once.
func (m *method) load(ctx context.Context, labels []int32) error {
	sums, err := m.x.Load(labels)
	if err != nil {
		return err
	}
	m.setLabels(labels, sums)
	return nil
}

// setLabels takes labels and their self-affinities over.
func (m *method) setLabels(labels []int32, self []kernel.Int128) {
	m.labels, m.selfUnits = append([]int32(nil), labels...), self
	m.counts = make([]int32, m.p.spec.K)
	m.weightUnits = make([]kernel.Int128, m.p.spec.K)
	for i, c := range labels {
		m.count(int32(i), c, 1)
	}
}

// fillEmpty turns the point farthest from its cluster into each empty cluster's only point, in
// order of the clusters; with a positive semidefinite kernel that never raises J.
func (m *method) fillEmpty(ctx context.Context) (filled int, err error) {
	if m.p.options.KeepEmpty {
		return 0, nil
	}
	for c, count := range m.counts {
		if count > 0 {
			continue
		}
		farthest, err := m.x.Farthest(m.stats())
		if err != nil || !farthest.Found {
			return filled, err
		}
		move := kernel.Move{Point: farthest.Point, From: m.labels[farthest.Point], To: int32(c)}
		if err := m.apply(ctx, []kernel.Move{move}); err != nil {
			return filled, err
		}
		filled++
	}
	return filled, nil
}

func (m *method) stats() kernel.Stats {
	s := kernel.Stats{
		Sigma:        m.sigma,
		Weight:       make([]float64, len(m.counts)),
		SelfAffinity: make([]float64, len(m.counts)),
		Count:        append([]int32(nil), m.counts...),
	}
	for c := range m.counts {
		s.Weight[c] = m.weightGrid.Value(m.weightUnits[c])
		s.SelfAffinity[c] = m.p.Matrix.Grid.Value(m.selfUnits[c])
	}
	return s
}

// association is sum_c Q_c/s_c over the clusters that are not empty, in order; with it the sum of
// magnitudes and the number of such clusters.
func (m *method) association() (sum, magnitude float64, clusters int) {
	for c, count := range m.counts {
		if count == 0 {
			continue
		}
		share := m.p.Matrix.Grid.Value(m.selfUnits[c]) / m.weightGrid.Value(m.weightUnits[c])
		sum += share
		magnitude += math.Abs(share)
		clusters++
	}
	return sum, magnitude, clusters
}

// shiftedValue is J with the shift counted in, J + sigma (n - clusters): the quantity that never
// rises once the shifted kernel is positive semidefinite.
func (m *method) shiftedValue() float64 {
	association, _, clusters := m.association()
	return m.diagonalTerm - association + float64(m.sigma*float64(m.p.n-clusters))
}

// riseTolerance is how much J may grow by rounding alone.
func (m *method) riseTolerance() float64 {
	_, magnitude, _ := m.association()
	return 1e-9 * (m.diagonalSize + magnitude)
}

// objective is the value in its paper's own form, without shift.
func (m *method) objective() float64 {
	association, _, clusters := m.association()
	switch m.p.Objective {
	case ObjectiveRatioAssociation: // Kulis2009 (9), maximised
		return association
	case ObjectiveRatioCut: // Kulis2009 (8)
		return -association
	case ObjectiveNormalizedCut: // Kulis2009 (7)
		return float64(clusters) - association
	}
	return m.diagonalTerm - association // Kulis2009 (3)
}

func hashLabels(labels []int32) [sha256.Size]byte {
	raw := make([]byte, 4*len(labels))
	for i, c := range labels {
		binary.LittleEndian.PutUint32(raw[4*i:], uint32(c))
	}
	return sha256.Sum256(raw)
}

// difference is the moves that lead from one labeling to another, in row order.
func difference(from, to []int32) []kernel.Move {
	var moves []kernel.Move
	for i := range from {
		if from[i] != to[i] {
			moves = append(moves, kernel.Move{Point: int32(i), From: from[i], To: to[i]})
		}
	}
	return moves
}

func reversed(moves []kernel.Move) []kernel.Move {
	back := make([]kernel.Move, len(moves))
	for at, m := range moves {
		back[at] = kernel.Move{Point: m.Point, From: m.To, To: m.From}
	}
	return back
}
