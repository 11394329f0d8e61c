package kmeans

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/snapshot"
)

var (
	_ clustering.Resumable = (*kmeans)(nil)
	_ clustering.Resumable = (*cop)(nil)
	_ clustering.Resumable = (*hmrf)(nil)
)

// save writes what all methods share. It omits the sums of the clusters, which are exact and can be recomputed.
func (s *state) save(w *snapshot.Writer) {
	w.Int32s(s.labels)
	w.Floats(s.centroids)
	w.Bools(s.absent)
	w.Floats(s.metric.Values())
	w.Int(s.iteration)
	source, _ := s.source.MarshalBinary() // never fails
	w.Raw(source)
}

// read reads what save wrote and returns the labels, which the caller has to load.
func (s *state) read(r *snapshot.Reader) (labels []int32) {
	k, d := s.p.spec.K, s.p.d
	labels = r.Labels(s.p.n, k)
	s.centroids, s.absent = r.Floats(), r.Bools()
	r.Check(len(s.centroids) == k*d && len(s.absent) == k)
	values := r.Floats()
	var err error
	switch form := s.p.options.Metric; {
	case form == metric.Diagonal && len(values) == d:
		s.metric, err = metric.NewDiagonal(values)
	case form == metric.Full && len(values) == d*d:
		s.metric, err = metric.NewFull(d, values)
	default:
		s.metric = metric.NewIdentity(d)
		r.Check(len(values) == 0)
	}
	r.Check(err == nil)
	s.iteration = r.Int()
	r.Check(s.source.UnmarshalBinary(r.Raw()) == nil && s.iteration >= 0)
	return labels
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

// Save implements clustering.Resumable.
func (m *hmrf) Save(w *snapshot.Writer) {
	m.save(w)
	m.parts.Save(w)
	last := m.lastInference
	w.Int(int(last.Engine))
	w.Bool(last.Exact)
	w.OptionalFloat(last.LPValue)
	w.Int(last.Fallbacks)
	w.Int(last.Rounds)
	w.Bool(m.warnedFallback)
	w.Bool(m.warnedDegenerate)
}

// Restore implements clustering.Resumable.
func (m *hmrf) Restore(_ context.Context, r *snapshot.Reader) error {
	labels := m.read(r)
	m.parts = clustering.ReadParts(r)
	m.lastInference = clustering.Inference{
		Engine: inference.Engine(r.Int()), Exact: r.Bool(), LPValue: r.OptionalFloat(), Fallbacks: r.Int(), Rounds: r.Int(),
	}
	m.warnedFallback, m.warnedDegenerate = r.Bool(), r.Bool()
	if err := r.End(); err != nil {
		return err
	}
	if err := m.load(labels); err != nil {
		return err
	}
	if m.iteration > 0 {
		m.markViolations()
	}
	return nil
}

func (u unconstrained) save(w *snapshot.Writer) {
	w.Int32s(u.labels)
	w.Float(u.distortion)
}

func (p *Problem) readUnconstrained(r *snapshot.Reader) unconstrained {
	u := unconstrained{r.Labels(p.n, p.spec.K), r.Float()}
	r.Check(clustering.Complete(u.labels))
	return u
}
