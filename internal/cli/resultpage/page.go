// Package resultpage makes report.html, the page about a result for people, and the pictures beside it. It decides what
// they say and show. How a page looks is in render/page, how charts are drawn in render/picture, and what sets clusters
// apart is computed in render/profile. The same report and scene give the same bytes.
//
// Things are numbered in three ways. A point is a row that was clustered: labels, scores, constraints, truths and
// suspects go by points. A row of the data file is a row of the table and of the ids, which include dropped rows:
// part.fileRow leads there. If the data is too large, the points of a sample are numbered from 0 again, and so are
// the rows of its table and its ids; part.fileRows leads back to the file. Methods of sample take points of the
// sample, those of builder points of the job.
package resultpage

import (
	"cmp"
	"io"
	"strconv"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// part has the points that some sections of the page are about, and the words for them. Each of its lists about points
// is as long as Labels or nil.
type part struct {
	*report.Report         // on these points
	fileRows       []int32 // rows of the data file that the points of a sample are; nil if it is not a sample
	scene          report.Scene
	k              int               // of the whole result; a sample may miss clusters
	pairs          []constraint.Pair // of these points, checked, each once
	// the rank of each point's true class, -1 if it is not scored; nil without a truth of the points
	trueClass  []int32
	classNames []string // of the true classes, by rank
}

// builder makes a page. Each section is a method, which returns nil if there is nothing to show: a method of builder if
// the section is about all points, such as sizes and constraints, and of sample if it needs data.
type builder struct {
	*part                  // all points
	sample   *sample       // has all points as well, unless there are too many for the sections that need data
	clusters *page.Section // the map of the clusters; nil if there are no labels or no data
}

// sample makes the sections that need data, such as the map and typical rows: from a sample of the points if the data
// is too large, otherwise from all points.
type sample struct {
	*part            // the points of the sample
	all     *part    // all points, to count them
	columns []column // what rows are described by; none if nothing is known
	space   *space   // nil if rows cannot be compared

	// Dense points in the units of the run, and these units; nil for other data.
	scaled *dataset.Points
	units  *dataset.Units // nil also if the run did not scale
}

// Write writes report.html.
func Write(w io.Writer, r *report.Report, s report.Scene) error {
	b, err := newBuilder(r, s)
	if err != nil {
		return err
	}
	return b.write(w)
}

// write writes the page with all sections in their order.
func (b *builder) write(w io.Writer) error {
	profiles, rows, confidence := b.sample.describe()
	return page.Write(w, &page.Page{
		Title: cmp.Or(b.scene.Title, "A clustering"), Answer: b.answer(), Figures: b.figures(), Notices: b.notices(),
		Sections: []*page.Section{
			b.asked(), b.clusters, b.sizes(), profiles, rows, b.sample.silhouette(), confidence, b.howMany(),
			b.suspects(), b.constraints(), b.truth(),
			b.methods(), b.course(), b.plan(), b.repeat(),
		},
	})
}

// newBuilder prepares the page about a report. It computes what several sections need: the columns, and where rows lie
// among the clusters. Labels are from 0 to k-1; a cluster may be empty, and there may be no labels at all. It fails if
// a constraint names a point that the report lacks, or if values are too large for the units of the run.
func newBuilder(r *report.Report, s report.Scene) (*builder, error) {
	set, err := constraint.NewSet(len(r.Labels), s.Constraints, constraint.UnitWeight)
	if err != nil {
		return nil, wire.OnField(err, "") // no request is at fault
	}
	all := &part{Report: r, scene: s, k: int(r.Result.GetK()), pairs: set.Pairs()}
	for _, label := range r.Labels { // a run that was stopped early may say nothing about k
		all.k = max(all.k, int(label)+1)
	}
	if t := s.Truth; t != nil && len(t.Labels) == len(r.Labels) {
		all.rankTruth(t)
	}
	b := &builder{part: all, sample: &sample{part: all, all: all}}
	if s.Sample != nil {
		b.sample.part = all.sampled()
	}
	if points, dense := s.Data.(*dataset.Points); dense {
		scaled, units, _, err := clustering.InUnits(points, wire.ScaleOf(r.Result))
		if err != nil {
			return nil, wire.OnField(err, "")
		}
		b.sample.scaled, b.sample.units = scaled.(*dataset.Points), units
	}
	b.sample.columns = b.sample.findColumns()
	b.sample.space = b.sample.compare()
	b.clusters = b.sample.clusterMap()
	return b, nil
}

// rankTruth sets the true classes.
func (p *part) rankTruth(t *jobflags.Truth) {
	p.trueClass = evaluate.Ranks(t.Labels)
	for point, scored := range t.Scored() {
		rank, label := int(p.trueClass[point]), t.Labels[point]
		for len(p.classNames) <= rank {
			p.classNames = append(p.classNames, "")
		}
		if p.classNames[rank] = strconv.FormatInt(label, 10); label >= 0 && label < int64(len(t.Classes)) {
			p.classNames[rank] = t.Classes[label]
		}
		if !scored {
			p.trueClass[point] = -1
		}
	}
}

// fileRow returns the row of the data file that a point comes from.
func (p *part) fileRow(point int32) int { return p.Filter.FileRow(int(point)) }

// maxName limits the length of an id on the page.
const maxName = 120

// name returns the id of a point, or the number of its row.
func (p *part) name(point int32) string {
	row := p.fileRow(point)
	if row < len(p.RowIDs) {
		return page.Short(p.RowIDs[row], maxName)
	}
	if p.fileRows != nil {
		row = int(p.fileRows[point])
	}
	return strconv.Itoa(row)
}

// inSentence names a point within a sentence.
func (p *part) inSentence(point int32) string {
	if len(p.RowIDs) > 0 {
		return page.Isolated(p.name(point))
	}
	return p.noun() + " " + p.name(point)
}

// noun returns what was clustered: rows or vertices, in the singular.
func (p *part) noun() string {
	if _, graph := p.scene.Data.(*dataset.Graph); graph {
		return "vertex"
	}
	return "row"
}

// plural returns the noun in the plural.
func (p *part) plural() string {
	if p.noun() == "vertex" {
		return "vertices"
	}
	return "rows"
}

// counted writes a number of rows or vertices: "1 row", "2,000 vertices".
func (p *part) counted(n int) string { return text.GroupedCount(n, p.noun(), p.plural()) }

// idHeading returns the heading of a column of names.
func (p *part) idHeading() string {
	if len(p.RowIDs) > 0 {
		return "id"
	}
	return p.noun()
}

// sizesOf counts the points of each cluster.
func (p *part) sizesOf() []int {
	sizes := make([]int, p.k)
	for _, label := range p.Labels {
		sizes[label]++
	}
	return sizes
}

// sampled returns the points of the sample of the scene.
func (p *part) sampled() *part {
	s := p.scene
	few := &part{k: p.k, scene: s, fileRows: s.Sample, trueClass: choose.At(p.trueClass, s.Sample),
		classNames: p.classNames}
	few.pairs = constraint.Among(len(p.Labels), s.Sample, p.pairs)
	if p.Filter != nil {
		few.fileRows = choose.At(p.Filter.Kept, s.Sample)
	}
	few.Report = &report.Report{Outcome: &client.Outcome{
		Result: p.Result, Model: p.Model, SolverSteps: p.SolverSteps, Labels: choose.At(p.Labels, s.Sample),
		Embedding: pickRows(p.Embedding, s.Sample),
		Rows:      pickScores(p.Rows, s.Sample),
	}, Run: p.Run, Classes: p.Classes, RowIDs: choose.At(p.RowIDs, few.fileRows)}
	return few
}

// pickScores returns the scores of some rows, or nil for nil.
func pickScores(s *clustering.RowScores, rows []int32) *clustering.RowScores {
	if s == nil {
		return nil
	}
	few := *s
	few.Distance = choose.At(s.Distance, rows)
	few.Margin = choose.At(s.Margin, rows)
	few.Confidence = choose.At(s.Confidence, rows)
	return &few
}

// pickRows returns the coordinates of some rows, or nil for nil.
func pickRows(e *clustering.Embedding, rows []int32) *clustering.Embedding {
	if e == nil {
		return nil
	}
	few := *e
	few.Rows = len(rows)
	few.Values = coordinates(e).Take(rows).Values
	return &few
}

// coordinates returns the points that an algorithm clustered in place of the data.
func coordinates(e *clustering.Embedding) *dataset.Points {
	return &dataset.Points{N: e.Rows, D: e.Columns, Values: e.Values}
}
