package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/text"
)

// leastSureRows is how many of the rows are listed that are least sure.
const leastSureRows = 12

// sureness are the bounds of confidences that are shown alike: on the map, the lower, the fainter.
var sureness = []sure{{0.95, "≥ 0.95"}, {0.8, "0.8–0.95"}, {0.5, "0.5–0.8"}, {math.Inf(-1), "< 0.5"}}

type sure struct {
	from float64
	name string
}

// surenessOf is the place of a confidence in that list.
func surenessOf(confidence float64) int {
	return slices.IndexFunc(sureness, func(s sure) bool { return confidence >= s.from })
}

// hasConfidence tells whether there were several runs to compare, and several clusters to be in.
func (b *pageBuilder) hasConfidence() bool {
	return b.Rows != nil && len(b.Rows.Confidence) == len(b.Labels) && len(b.Labels) > 0 && b.k > 1
}

func confidenceText(confidence float64) string {
	if math.IsNaN(confidence) {
		return "unknown"
	}
	return page.Fixed(confidence, 2)
}

// meanText writes a mean with two decimals, and 1 only if it is 1.
func meanText(mean float64) string {
	if mean < 1 && mean >= 0.995 {
		return "> 0.99"
	}
	return page.Fixed(mean, 2)
}

// meanConfidence is that of all rows that have one.
func (b *pageBuilder) meanConfidence() float64 {
	sum, count := 0.0, 0
	for _, c := range b.whole.Rows.Confidence {
		if !math.IsNaN(c) {
			sum, count = sum+c, count+1
		}
	}
	return sum / float64(max(1, count))
}

// fade is how faint a point is drawn.
func (b *pageBuilder) fade(point int32) int {
	if !b.hasConfidence() || math.IsNaN(b.Rows.Confidence[point]) {
		return 0
	}
	return surenessOf(b.Rows.Confidence[point])
}

// fades are the entries of the legend for points that are drawn fainter.
func (b *pageBuilder) fades(points []page.Point) (kinds []page.LinkKind) {
	counts := make([]int, len(sureness))
	for _, p := range points {
		counts[p.Fade]++
	}
	for fade, count := range counts {
		if fade > 0 && count > 0 {
			kinds = append(kinds, page.LinkKind{Class: "fade" + strconv.Itoa(fade), Name: "confidence " + sureness[fade].name, Count: page.Count(count)})
		}
	}
	return kinds
}

// confidence shows how sure rows are of their clusters, nil where there was one run only.
func (b *pageBuilder) confidence(columns []int) *page.Confidence {
	if !b.hasConfidence() {
		return nil
	}
	unsure := 0
	for _, c := range b.whole.Rows.Confidence {
		if c < 1 {
			unsure++
		}
	}
	others := "restarts"
	if len(b.Result.GetChoice().GetTried()) > 0 {
		others = "restarts, and answers to parts of the constraints"
	}
	c := &page.Confidence{Text: fmt.Sprintf("The answer is compared with %s: %s.", text.Plural(b.Rows.Runs-1, "other run"), others)}
	if unsure == 0 {
		c.Text += fmt.Sprintf(" All of them put every %s where the answer does.", b.noun())
		return c
	}
	c.Text += fmt.Sprintf(" The confidence of a %s is the share of all runs that put it with its cluster. On average it is %s; %s of %s are not put alike by all.",
		b.noun(), meanText(b.meanConfidence()), page.Count(unsure), b.counted(len(b.whole.Labels)))
	c.Clusters, c.Least = b.surenessTable(), b.leastSure(columns)
	return c
}

// surenessTable counts how sure the rows of each cluster are.
func (b *pageBuilder) surenessTable() *page.Table {
	t := &page.Table{
		Caption: "How many " + b.plural() + " of each cluster have which confidence", Wide: true,
		Columns: []page.Column{{Name: "cluster"}, {Name: "mean", Numbers: true}},
	}
	for _, s := range sureness {
		t.Columns = append(t.Columns, page.Column{Name: s.name, Numbers: true})
	}
	sums, counts := make([]float64, b.k), make([][]int, b.k)
	for cluster := range counts {
		counts[cluster] = make([]int, len(sureness))
	}
	for i, label := range b.whole.Labels {
		if c := b.whole.Rows.Confidence[i]; !math.IsNaN(c) {
			sums[label] += c
			counts[label][surenessOf(c)]++
		}
	}
	for cluster, list := range counts {
		if cluster == maxListedClusters {
			t.Note = fmt.Sprintf("Shown: the first %d of %s clusters.", cluster, page.Count(b.k))
			break
		}
		size := 0
		for _, count := range list {
			size += count
		}
		row := []page.Cell{b.ofCluster(cluster), page.Text(meanText(sums[cluster] / float64(max(1, size))))}
		for _, count := range list {
			row = append(row, page.Text(page.Count(count)).Shaded(float64(count)/float64(max(1, size))))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// leastSure lists the rows of the smallest confidence, of equal ones those of the smallest margin.
func (b *pageBuilder) leastSure(columns []int) *page.Table {
	confidence, margins := b.Rows.Confidence, b.Rows.Margin
	var rows []int32
	for i, c := range confidence {
		if c < 1 {
			rows = append(rows, int32(i))
		}
	}
	margin := func(i int32) float64 {
		if int(i) < len(margins) {
			return margins[i]
		}
		return 0
	}
	slices.SortStableFunc(rows, func(x, y int32) int {
		return cmp.Or(cmp.Compare(confidence[x], confidence[y]), cmp.Compare(margin(x), margin(y)))
	})
	t := &page.Table{Caption: upperFirst(b.plural()) + " that are least sure", Columns: []page.Column{{Name: b.idHeading()}, {Name: "cluster"}, {Name: "confidence"}}}
	if len(b.Labels) < len(b.whole.Labels) {
		t.Note = fmt.Sprintf("Chosen from a sample of %s.", b.counted(len(b.Labels)))
	}
	b.headColumns(t, columns)
	for _, i := range rows[:min(leastSureRows, len(rows))] {
		t.Rows = append(t.Rows, append([]page.Cell{
			page.Named(b.name(i)), b.ofCluster(int(b.Labels[i])), page.ShareBar(confidenceText(confidence[i]), confidence[i]),
		}, b.cells(i, columns)...))
	}
	return t
}
