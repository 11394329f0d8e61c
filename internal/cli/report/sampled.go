package report

import (
	"slices"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
)

// sampled is the report on the points that a scene is about, where that is a sample of them, and the scene of it.
func (r *Report) sampled(s Scene) (*Report, Scene) {
	if s.Sample == nil {
		return r, s
	}
	few := &Report{Outcome: &client.Outcome{
		Result: r.Result, Model: r.Model, SolverSteps: r.SolverSteps, Labels: pick(r.Labels, s.Sample), Embedding: pickRows(r.Embedding, s.Sample),
		Rows: pickScores(r.Rows, s.Sample),
	}, classes: r.classes, fileRows: s.Sample}
	if r.filter != nil {
		few.fileRows = pick(r.filter.Kept, s.Sample)
	}
	if len(r.ids) > 0 {
		few.ids = pick(r.ids, few.fileRows)
	}
	s.Constraints = constraint.Among(len(r.Labels), s.Sample, s.Constraints)
	s.Truth = sampledTruth(s.Truth, s.Sample)
	s.Sample = nil
	return few, s
}

// addSample shows single rows by a sample of them. Where these lie is known of all that they stand for.
func (b *pageBuilder) addSample() (err error) {
	few, scene := b.sampled(b.scene)
	if b.rows, err = few.newPageBuilder(scene); err != nil {
		return err
	}
	b.rows.whole, b.rows.k = b.Report, b.k
	if b.rows.space == nil {
		return nil
	}
	space := *b.rows.space
	space.rows = pick(b.scene.Sample, space.rows)
	space.places = slices.Clone(space.places)
	for at := range space.places {
		space.places[at].Row = b.scene.Sample[space.places[at].Row]
	}
	b.space = &space
	return nil
}

func pick[T any](list []T, places []int32) []T {
	few := make([]T, len(places))
	for at, place := range places {
		few[at] = list[place]
	}
	return few
}

func pickScores(s *clustering.RowScores, rows []int32) *clustering.RowScores {
	if s == nil {
		return nil
	}
	few := *s
	few.Distance, few.Margin, few.Confidence = of(rows, s.Distance), of(rows, s.Margin), of(rows, s.Confidence)
	return &few
}

func pickRows(e *clustering.Embedding, rows []int32) *clustering.Embedding {
	if e == nil {
		return nil
	}
	few := *e
	few.Rows, few.Values = len(rows), nil
	for _, row := range rows {
		few.Values = append(few.Values, e.Values[int(row)*e.Columns:(int(row)+1)*e.Columns]...)
	}
	return &few
}

func sampledTruth(t *jobflags.Truth, points []int32) *jobflags.Truth {
	if t == nil {
		return nil
	}
	return &jobflags.Truth{Labels: pick(t.Labels, points), Classes: t.Classes}
}
