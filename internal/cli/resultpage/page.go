// Package resultpage makes report.html, the page about a result for people, and the pictures beside it. It decides what
// they say and show. How a page looks is in render/page, how charts are drawn in render/picture, and what sets clusters
// apart is computed in render/profile.
package resultpage

import (
	"cmp"
	"io"
	"slices"
	"strconv"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/render/page"
)

// builder makes a page; each section is a method, which returns nil if there is nothing to show. The builder computes
// once what several sections need.
//
// Data that is too large is shown by a sample. Sections about all points, such as sizes and constraints, are then made
// by a builder of the whole report, and sections that need data, such as the map and typical rows, by another one in
// its field rows, whose report has only the points of the sample. Without a sample there is one builder: rows is the
// builder itself.
type builder struct {
	*report.Report                // on the points of this builder
	whole          *report.Report // on all points
	rows           *builder       // makes the sections that need data
	fileRows       []int32        // rows of the data file that the points of a sample are; nil if it is not a sample
	scene          report.Scene
	k              int
	pairs          []constraint.Pair
	columns        []column // what rows are described by; none if nothing is known
	space          *space   // nil if rows cannot be compared
}

// Write writes report.html.
func Write(w io.Writer, r *report.Report, s report.Scene) error {
	b, clusters, err := layOut(r, s)
	if err != nil {
		return err
	}
	return b.write(w, clusters)
}

// layOut prepares the page and its map of the clusters, which is nil if there are no labels or no data.
func layOut(r *report.Report, s report.Scene) (b *builder, clusters *page.Section, err error) {
	if b, err = newBuilder(r, s); err != nil {
		return nil, nil, err
	}
	clusters, err = b.rows.clusterMap()
	return b, clusters, err
}

func (b *builder) write(w io.Writer, clusters *page.Section) error {
	course, err := b.course()
	if err != nil {
		return err
	}
	profiles, rows, confidence := b.rows.describe()
	return page.Write(w, &page.Page{
		Title: cmp.Or(b.scene.Title, "A clustering"), Answer: b.answer(), Figures: b.figures(), Notices: b.notices(),
		Sections: []*page.Section{
			b.asked(), clusters, b.sizes(), profiles, rows, b.silhouette(), confidence, b.howMany(), b.suspects(), b.constraints(), b.truth(),
			b.methods(), course, b.plan(), b.repeat(),
		},
	})
}

func newBuilder(r *report.Report, s report.Scene) (*builder, error) {
	b := &builder{Report: r, whole: r, scene: s, k: int(r.Result.GetK())}
	for _, label := range r.Labels { // a run that was stopped early may say nothing about k
		b.k = max(b.k, int(label)+1)
	}
	set, err := constraint.NewSet(len(r.Labels), s.Constraints, constraint.UnitWeight)
	if err != nil {
		return nil, err
	}
	b.pairs = set.Pairs()
	if s.Sample != nil {
		return b, b.addSample()
	}
	b.rows = b
	b.columns = b.findColumns()
	b.space = b.compare()
	return b, nil
}

// fileRow returns the row of the data file that a point comes from.
func (b *builder) fileRow(point int32) int { return b.Filter.FileRow(int(point)) }

// maxName limits the length of an id on the page.
const maxName = 120

// name returns the id of a point, or the number of its row.
func (b *builder) name(point int32) string {
	row := b.fileRow(point)
	if row < len(b.RowIDs) {
		return page.Short(b.RowIDs[row], maxName)
	}
	if b.fileRows != nil {
		row = int(b.fileRows[point])
	}
	return strconv.Itoa(row)
}

// inSentence names a point within a sentence.
func (b *builder) inSentence(point int32) string {
	if len(b.RowIDs) > 0 {
		return page.Isolated(b.name(point))
	}
	return b.noun() + " " + b.name(point)
}

// noun returns what was clustered: rows or vertices, in the singular.
func (b *builder) noun() string {
	if _, graph := b.scene.Data.(*dataset.Graph); graph {
		return "vertex"
	}
	return "row"
}

func (b *builder) plural() string {
	if b.noun() == "vertex" {
		return "vertices"
	}
	return "rows"
}

// counted writes a number of rows or vertices.
func (b *builder) counted(n int) string {
	if n == 1 {
		return "1 " + b.noun()
	}
	return page.Count(n) + " " + b.plural()
}

// idHeading returns the heading of a column of names.
func (b *builder) idHeading() string {
	if len(b.RowIDs) > 0 {
		return "id"
	}
	return b.noun()
}

// className returns the name of a point's true class.
func className(t *jobflags.Truth, point int) string {
	if label := t.Labels[point]; label >= 0 && label < int64(len(t.Classes)) {
		return t.Classes[label]
	}
	return strconv.FormatInt(t.Labels[point], 10)
}

// sizesOf counts the points of each cluster.
func (b *builder) sizesOf() []int {
	sizes := make([]int, b.k)
	for _, label := range b.whole.Labels {
		sizes[label]++
	}
	return sizes
}

// sampled returns the report and the scene of the sample of a scene, and the rows of the data file that it consists of.
func sampled(r *report.Report, s report.Scene) (*report.Report, report.Scene, []int32) {
	few := &report.Report{Outcome: &client.Outcome{
		Result: r.Result, Model: r.Model, SolverSteps: r.SolverSteps, Labels: choose.At(r.Labels, s.Sample), Embedding: pickRows(r.Embedding, s.Sample),
		Rows: pickScores(r.Rows, s.Sample),
	}, Run: r.Run, Classes: r.Classes}
	fileRows := s.Sample
	if r.Filter != nil {
		fileRows = choose.At(r.Filter.Kept, s.Sample)
	}
	few.RowIDs = choose.At(r.RowIDs, fileRows)
	s.Constraints = constraint.Among(len(r.Labels), s.Sample, s.Constraints)
	if t := s.Truth; t != nil {
		s.Truth = &jobflags.Truth{Labels: choose.At(t.Labels, s.Sample), Classes: t.Classes}
	}
	s.Sample = nil
	return few, s, fileRows
}

// addSample builds the sections about single rows from the sample of the scene.
func (b *builder) addSample() (err error) {
	few, scene, fileRows := sampled(b.Report, b.scene)
	if b.rows, err = newBuilder(few, scene); err != nil {
		return err
	}
	b.rows.whole, b.rows.k, b.rows.fileRows = b.Report, b.k, fileRows
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
