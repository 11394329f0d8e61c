package report

import (
	"io"
	"strconv"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/render/page"
)

// PageFile is the report for people, in one file.
const PageFile = "report.html"

// pageBuilder makes a page of a report. What several sections need is found once.
type pageBuilder struct {
	*Report
	whole   *Report      // on all points, if this is on a sample of them
	rows    *pageBuilder // for what is shown of single rows: on a sample if the scene has one, else this one
	scene   Scene
	k       int
	pairs   []constraint.Pair
	columns []column // what rows are described by; none: nothing is known
	space   *space   // nil: rows cannot be compared
}

// WritePage writes report.html.
func (r *Report) WritePage(w io.Writer, s Scene) error {
	b, err := r.newPageBuilder(s)
	if err != nil {
		return err
	}
	p := &page.Page{
		Title: b.title(), Answer: b.answer(), Figures: b.figures(), Notices: b.notices(), Asked: b.asked(),
		Reading: b.reading(),
		Sizes:   b.sizes(), Silhouette: b.silhouette(), HowMany: b.howMany(), Suspects: b.suspects(), Constraints: b.constraints(), Truth: b.truth(), Ways: b.ways(),
		Course: b.course(), Plan: b.plan(), Times: b.times(), Repeat: b.repeat(),
	}
	if p.Map, err = b.rows.clusterMap(); err != nil {
		return err
	}
	b.rows.describe(p)
	return page.Write(w, p)
}

func (r *Report) newPageBuilder(s Scene) (*pageBuilder, error) {
	b := &pageBuilder{Report: r, whole: r, scene: s, k: int(r.Result.GetK())}
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

func (b *pageBuilder) title() string {
	if b.scene.Title != "" {
		return b.scene.Title
	}
	return "A clustering"
}

// fileRow is the row of the data file that a point comes from.
func (b *pageBuilder) fileRow(point int32) int {
	if b.filter != nil {
		return int(b.filter.Kept[point])
	}
	return int(point)
}

// maxName is how long an id may be on the page.
const maxName = 120

// name is what a point goes by: its id, or the number of its row.
func (b *pageBuilder) name(point int32) string {
	row := b.fileRow(point)
	if row < len(b.ids) {
		return page.Short(b.ids[row], maxName)
	}
	if b.fileRows != nil {
		row = int(b.fileRows[point])
	}
	return strconv.Itoa(row)
}

// inSentence is a point within a sentence.
func (b *pageBuilder) inSentence(point int32) string {
	if len(b.ids) > 0 {
		return page.Isolated(b.name(point))
	}
	return b.noun() + " " + b.name(point)
}

// noun is what was clustered.
func (b *pageBuilder) noun() string {
	if _, graph := b.scene.Data.(*dataset.Graph); graph {
		return "vertex"
	}
	return "row"
}

// counted is a number of rows, or of vertices.
func (b *pageBuilder) counted(n int) string {
	switch noun := b.noun(); {
	case n == 1:
		return "1 " + noun
	case noun == "vertex":
		return page.Count(n) + " vertices"
	default:
		return page.Count(n) + " rows"
	}
}

// idHeading is the heading of a column of names.
func (b *pageBuilder) idHeading() string {
	if len(b.ids) > 0 {
		return "id"
	}
	return b.noun()
}

// class is the true class of a point, "" where there is none.
func (b *pageBuilder) class(point int32) string {
	if b.scene.Truth == nil {
		return ""
	}
	return className(b.scene.Truth, int(point))
}

// className is the name of a point's true class.
func className(t *jobflags.Truth, point int) string {
	if label := t.Labels[point]; label >= 0 && label < int64(len(t.Classes)) {
		return t.Classes[label]
	}
	return strconv.FormatInt(t.Labels[point], 10)
}

// sizesOf counts the points of each cluster.
func (b *pageBuilder) sizesOf() []int {
	sizes := make([]int, b.k)
	for _, label := range b.whole.Labels {
		sizes[label]++
	}
	return sizes
}
