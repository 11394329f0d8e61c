package report

import (
	"slices"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// sampled returns the report and the scene of the sample, if the scene has one.
func (r *Report) sampled(s Scene) (*Report, Scene) {
	if s.Sample == nil {
		return r, s
	}
	few := &Report{Outcome: &client.Outcome{
		Result: r.Result, Model: r.Model, SolverSteps: r.SolverSteps, Labels: choose.At(r.Labels, s.Sample), Embedding: pickRows(r.Embedding, s.Sample),
		Rows: pickScores(r.Rows, s.Sample),
	}, Run: r.Run, Classes: r.Classes, fileRows: s.Sample}
	if r.Filter != nil {
		few.fileRows = choose.At(r.Filter.Kept, s.Sample)
	}
	few.RowIDs = choose.At(r.RowIDs, few.fileRows)
	s.Constraints = constraint.Among(len(r.Labels), s.Sample, s.Constraints)
	if t := s.Truth; t != nil {
		s.Truth = &jobflags.Truth{Labels: choose.At(t.Labels, s.Sample), Classes: t.Classes}
	}
	s.Sample = nil
	return few, s
}

// addSample builds the sections about single rows from the sample of the scene.
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
	space.rows = choose.At(b.scene.Sample, space.rows)
	space.places = slices.Clone(space.places)
	for at := range space.places {
		space.places[at].Row = b.scene.Sample[space.places[at].Row]
	}
	b.space = &space
	return nil
}

func pickScores(s *clustering.RowScores, rows []int32) *clustering.RowScores {
	if s == nil {
		return nil
	}
	few := *s
	few.Distance, few.Margin, few.Confidence = choose.At(s.Distance, rows), choose.At(s.Margin, rows), choose.At(s.Confidence, rows)
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
