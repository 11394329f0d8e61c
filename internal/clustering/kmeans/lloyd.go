package kmeans

import (
	"cmp"
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// lloyd is the iteration that k-means, its seeded relatives and COP-KMeans share: assign all points, then take the
// means. They differ in how some points are assigned and in what happens to emptied clusters.
type lloyd struct {
	state
	value float64 // the sum of distortions
	// Moves points; nil if all but the held ones move to their nearest centroids.
	assign func(ctx context.Context) (moved int, err error)
	// Fills empty clusters after the means are taken, each with one point; nil if they stay empty.
	repair func() (filled int, err error)
}

// Value implements clustering.Stepper.
func (m *lloyd) Value() float64 { return m.value }

// FillResult implements clustering.Stepper.
func (m *lloyd) FillResult(r *clustering.Result) {
	m.state.FillResult(r)
	if len(r.History) == 0 { // the start is the result
		r.Objective = m.reported(m.value)
	}
}

// Init computes the first centroids and, depending on the start, the first labels.
func (m *lloyd) Init(ctx context.Context) (clustering.Report, error) {
	if err := m.start(); err != nil {
		return clustering.Report{}, err
	}
	if m.p.spec.MaxIterations > 0 {
		return clustering.Report{}, nil
	}
	var err error
	_, m.value, err = m.move(ctx) // the start is the result
	return clustering.Report{}, err
}

// move moves points, and returns how many moved and the sum of distortions after that.
func (m *lloyd) move(ctx context.Context) (moved int, distortion float64, err error) {
	if m.assign == nil {
		return m.assignFree()
	}
	if moved, err = m.assign(ctx); err != nil {
		return 0, 0, err
	}
	distortion, err = m.distortion(m.model()) // the means are not taken yet
	return moved, distortion, err
}

// Step runs one iteration. If it fails, the labels are those of the last one.
func (m *lloyd) Step(ctx context.Context) (clustering.Report, error) {
	return m.try(func() (clustering.Report, error) { return m.iterate(ctx) })
}

// iterate runs one iteration: assignment, then means. It stops if no point moves, or the objective falls too little.
// Given labels may leave a cluster empty although no point moves; it is filled then too.
func (m *lloyd) iterate(ctx context.Context) (clustering.Report, error) {
	previous := m.value
	moved, assigned, err := m.move(ctx)
	if err != nil {
		return clustering.Report{}, err
	}
	if moved > 0 {
		m.takeMeans()
	}
	filled := 0
	if m.repair != nil {
		if filled, err = m.repair(); err != nil {
			return clustering.Report{}, err
		}
	}
	if moved+filled == 0 {
		if m.iteration == 0 { // the start is the result
			m.value = assigned
		}
		return clustering.Report{Stop: clustering.StopConverged}, nil
	}
	if m.value, err = m.measure(); err != nil {
		return clustering.Report{}, err
	}
	m.iteration++
	assignmentObjective := m.reported(assigned)
	report := clustering.Report{Entry: &clustering.HistoryEntry{
		Iteration: m.iteration, Objective: m.reported(m.value), Moved: cmp.Or(moved, filled),
		AssignmentObjective: &assignmentObjective,
	}}
	if m.iteration > 1 && m.p.withinTolerance(previous, m.value) {
		report.Stop = clustering.StopTolerance
	}
	return report, nil
}

// measure returns the sum of distortions in the current model.
func (m *lloyd) measure() (float64, error) {
	if m.assign == nil {
		return m.distortionNow()
	}
	return m.distortion(m.model())
}

// reported converts a sum of distortions to the reported objective: for unit vectors the sum of cosines, Basu2002 (2).
func (m *lloyd) reported(value float64) float64 {
	if m.p.options.Distortion == metric.Cosine {
		return float64(m.p.n) - value
	}
	return value
}

// Save implements clustering.Resumable.
func (m *lloyd) Save(w *snapshot.Writer) {
	m.save(w)
	w.Float(m.value)
}

// Restore implements clustering.Resumable.
func (m *lloyd) Restore(_ context.Context, r *snapshot.Reader) error {
	labels := m.read(r)
	m.value = r.Float()
	if err := r.End(); err != nil {
		return err
	}
	return m.load(labels)
}
