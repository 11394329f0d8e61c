package centroid

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/metric"
)

// lloyd is the iteration that k-means, its seeded relatives and COP-KMeans share: assign all points, then
// take the means. They differ in how points are assigned and in what happens to an emptied cluster.
type lloyd struct {
	state
	value  float64 // the sum of distortions
	assign func(ctx context.Context) (moved int, err error)
	repair func(ctx context.Context) error // of emptied clusters, once the means are taken; nil: they stay
}

// Value implements Method.
func (m *lloyd) Value() float64 { return m.value }

// Conclude implements Method.
func (m *lloyd) Conclude(r *clustering.Result) {
	m.state.Conclude(r)
	if len(r.History) == 0 { // the start alone
		r.Objective = m.reported(m.value)
	}
}

// Init makes the first centroids and, where the start has any, the first labels.
func (m *lloyd) Init(ctx context.Context) (clustering.Report, error) {
	if err := m.start(ctx); err != nil {
		return clustering.Report{}, err
	}
	if m.p.spec.MaxIterations > 0 {
		return clustering.Report{}, nil
	}
	_, err := m.assign(ctx) // the start is all there will be
	if err == nil {
		m.value, err = m.distortion(ctx, m.model())
	}
	return clustering.Report{}, err
}

// Step is one iteration. One that fails leaves the labels of the last.
func (m *lloyd) Step(ctx context.Context) (clustering.Report, error) {
	before := m.snapshot()
	report, err := m.step(ctx)
	if err != nil {
		m.restore(before)
	}
	return report, err
}

func (m *lloyd) step(ctx context.Context) (clustering.Report, error) {
	previous, old := m.value, m.model()
	moved, err := m.assign(ctx)
	if err != nil {
		return clustering.Report{}, err
	}
	if moved == 0 {
		return clustering.Report{Stop: clustering.StopConverged}, nil
	}
	assigned, err := m.distortion(ctx, old)
	if err != nil {
		return clustering.Report{}, err
	}
	m.takeMeans()
	if m.repair != nil {
		if err := m.repair(ctx); err != nil {
			return clustering.Report{}, err
		}
	}
	if m.value, err = m.distortion(ctx, m.model()); err != nil {
		return clustering.Report{}, err
	}
	m.iteration++
	assignmentObjective := m.reported(assigned)
	report := clustering.Report{Entry: &clustering.Entry{
		Iteration: m.iteration, Objective: m.reported(m.value), Moved: moved, AssignmentObjective: &assignmentObjective,
	}}
	if m.iteration > 1 && m.p.stopsAt(previous, m.value) {
		report.Stop = clustering.StopTolerance
	}
	return report, nil
}

// reported is a sum of distortions in the form that is reported: for unit vectors the sum of cosines,
// Basu2002 (2).
func (m *lloyd) reported(value float64) float64 {
	if m.p.options.Distortion == metric.Cosine {
		return float64(m.p.n) - value
	}
	return value
}
