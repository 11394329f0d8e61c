package report

import (
	"math"
	"strconv"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/render/profile"
	"github.com/cleave-project/cleave/internal/wire"
)

// column gives access to the values of one data column by point.
type column struct {
	name   string
	number func(point int32) float64 // NaN if missing; nil for a column of texts
	text   func(point int32) string  // "" if missing
}

// maxCategories is the largest number of distinct texts in a column that describes clusters.
const maxCategories = 50

// findColumns returns the columns of the table that the data comes from, or else those of the points. It returns nil if the
// points do not match the labels.
func (b *pageBuilder) findColumns() []column {
	if b.scene.Table != nil {
		return b.tableColumns(b.scene.Table)
	}
	points, ok := b.scene.Data.(*dataset.Points)
	if !ok || points.N != len(b.Labels) {
		return nil
	}
	list := make([]column, points.D)
	for at := range list {
		number := func(point int32) float64 { return points.Values[int(point)*points.D+at] }
		list[at] = column{b.columnName(at), number, func(point int32) string { return page.Number(number(point)) }}
	}
	return list
}

// tableColumns returns the columns of a table without ids, texts with too many values, and the true classes, which do not
// describe clusters that were made to agree with them.
func (b *pageBuilder) tableColumns(t *table.Table) (list []column) {
	if b.fileRow(int32(len(b.Labels)-1)) >= t.Rows() {
		return nil
	}
	steps := wire.Recipe(b.Result.GetRecipe())
	for at := range t.Columns {
		c := &t.Columns[at]
		if steps != nil {
			c = steps.AsRead(c)
		}
		if b.isID(c) || c.Name == b.scene.LabelColumn {
			continue
		}
		empty := func(row int) bool { return c.Empty != nil && c.Empty[row] }
		switch c.Type {
		case table.Integer:
			list = append(list, b.numbers(c.Name, empty, func(row int) float64 { return float64(c.Integers[row]) },
				func(row int) string { return strconv.FormatInt(c.Integers[row], 10) }))
		case table.Number:
			list = append(list, b.numbers(c.Name, empty, func(row int) float64 { return c.Numbers[row] },
				func(row int) string { return page.Number(c.Numbers[row]) }))
		default:
			list = append(list, column{name: c.Name, text: func(point int32) string { return c.Texts[b.fileRow(point)] }})
		}
	}
	return list
}

// isID reports whether a column holds row ids, or so many different texts that none describes a cluster.
func (b *pageBuilder) isID(c *table.Column) bool {
	if c.Type == table.Text {
		seen := map[string]bool{}
		for _, value := range c.Texts {
			seen[value] = true
			if len(seen) > maxCategories {
				return true
			}
		}
		return len(seen) == c.Len() && c.Len() > 1
	}
	if len(b.RowIDs) == 0 || c.Type != table.Integer || c.Len() == 0 || c.Len() != len(b.RowIDs) {
		return false
	}
	for _, row := range []int{0, c.Len() / 2, c.Len() - 1} {
		if strconv.FormatInt(c.Integers[row], 10) != b.RowIDs[row] {
			return false
		}
	}
	return true
}

func (b *pageBuilder) numbers(name string, empty func(row int) bool, value func(row int) float64, written func(row int) string) column {
	return column{name, func(point int32) float64 {
		if row := b.fileRow(point); !empty(row) {
			return value(row)
		}
		return math.NaN()
	}, func(point int32) string {
		if row := b.fileRow(point); !empty(row) {
			return written(row)
		}
		return ""
	}}
}

// profiled returns the columns of the given points, and their labels.
func (b *pageBuilder) profiled(points []int32) ([]profile.Column, []int32) {
	columns, labels := make([]profile.Column, len(b.columns)), make([]int32, len(points))
	for at, i := range points {
		labels[at] = b.Labels[i]
	}
	for at, c := range b.columns {
		columns[at].Name = c.name
		for _, i := range points {
			if c.number != nil {
				columns[at].Numbers = append(columns[at].Numbers, c.number(i))
			} else {
				columns[at].Texts = append(columns[at].Texts, c.text(i))
			}
		}
	}
	return columns, labels
}

// maxMeanValues limits the values in the means of all clusters. Above it, sparse rows are not compared with the means.
const maxMeanValues = 5e7

// byDirection reports whether the run compared sparse rows by their directions, as auto does.
func (r *Report) byDirection(spec *cleavev1.JobSpec) bool {
	return r.Result.GetChoice() != nil || r.Model != nil && r.Model.Distortion == metric.Cosine || spec != nil && wire.ComparesDirections(spec)
}

// amongSparse compares sparse rows as the run did. It returns nil if there are too many columns.
func (b *pageBuilder) amongSparse(points *dataset.SparsePoints) *space {
	if float64(b.k)*float64(points.D) > maxMeanValues {
		return nil
	}
	words := "by distances between rows"
	if b.byDirection(b.spec()) {
		points, words = profile.Directions(points), "by the directions of rows"
	}
	perRow := max(1, float64(points.NonZeros())/float64(max(1, points.N)))
	rows := profile.Sample(b.Labels, b.k, max(minSampleRows, int(maxPlaceWork/(float64(b.k)*perRow))))
	few := profile.Sample(b.Labels, b.k, max(minSampleRows, min(maxSilhouetteRows, int(math.Sqrt(maxSilhouetteWork/(2*perRow))))))
	return &space{
		words: words, places: profile.SparsePlaces(points, b.Labels, b.k, rows),
		rows: few, silhouettes: profile.Silhouettes(profile.SparseEuclidean(points), b.Labels, b.k, few),
	}
}

// sparseProfiles returns the columns that are highest in each cluster, or nil if there are none.
func (b *pageBuilder) sparseProfiles(points *dataset.SparsePoints) *page.Section {
	return b.profileSection("The columns that are highest in the rows of each cluster, compared with all other rows: their means, where missing entries count as 0, "+
		"and below them the share of rows with an entry. Differences are in standard deviations: 0.5 is noticeable, 1 is large.",
		nil, profile.SparseTraits(points, b.Labels, b.k, profileTraits))
}

// traitName returns the name of a column that distinguishes a cluster.
func (b *pageBuilder) traitName(at int) string {
	if b.columns == nil {
		return b.columnName(at)
	}
	return b.columns[at].name
}
