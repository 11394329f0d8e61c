package kmeans

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// lloyd is the iteration that k-means, its seeded relatives and COP-KMeans share: assign all points, then take the
// means. They differ in how points are assigned and in what happens to emptied clusters.
type lloyd struct {
	state
	value  float64 // the sum of distortions
	assign func() (moved int, err error)
	repair func() error // fills emptied clusters after the means are taken; nil if they stay empty
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
func (m *lloyd) Init(context.Context) (clustering.Report, error) {
	if err := m.start(); err != nil {
		return clustering.Report{}, err
	}
	if m.p.spec.MaxIterations > 0 {
		return clustering.Report{}, nil
	}
	_, err := m.assign() // the start is the result
	if err == nil {
		m.value, err = m.distortion(m.model())
	}
	return clustering.Report{}, err
}

// Step runs one iteration. If it fails, the labels are those of the last one.
func (m *lloyd) Step(context.Context) (clustering.Report, error) { return m.try(m.step) }

func (m *lloyd) step() (clustering.Report, error) {
	previous, old := m.value, m.model()
	moved, err := m.assign()
	if err != nil {
		return clustering.Report{}, err
	}
	if moved == 0 {
		if m.iteration == 0 { // the start is the result
			m.value, err = m.distortion(old)
		}
		return clustering.Report{Stop: clustering.StopConverged}, err
	}
	assigned, err := m.distortion(old)
	if err != nil {
		return clustering.Report{}, err
	}
	m.takeMeans()
	if m.repair != nil {
		if err := m.repair(); err != nil {
			return clustering.Report{}, err
		}
	}
	if m.value, err = m.distortion(m.model()); err != nil {
		return clustering.Report{}, err
	}
	m.iteration++
	assignmentObjective := m.reported(assigned)
	report := clustering.Report{Entry: &clustering.HistoryEntry{
		Iteration: m.iteration, Objective: m.reported(m.value), Moved: moved, AssignmentObjective: &assignmentObjective,
	}}
	if m.iteration > 1 && m.p.withinTolerance(previous, m.value) {
		report.Stop = clustering.StopTolerance
	}
	return report, nil
}

// reported converts a sum of distortions to the reported objective: for unit vectors the sum of cosines, Basu2002 (2).
func (m *lloyd) reported(value float64) float64 {
	if m.p.options.Distortion == metric.Cosine {
		return float64(m.p.n) - value
	}
	return value
}
