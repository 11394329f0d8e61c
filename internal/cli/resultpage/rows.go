package resultpage

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/render/profile"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// space tells where rows lie among the clusters, as the run compared them. Rows are points of the sample. rows and
// silhouettes have the same length, 0 for a graph; places may be of other rows, since they are cheaper.
type space struct {
	words       string          // "by distances in the columns"
	graph       bool            // distances are shares of edges; there are no silhouettes
	places      []profile.Place // of all rows, or of a sample
	rows        []int32         // those that have silhouettes
	silhouettes []float64       // of these rows, among each other
}

// Limits of what is computed for a page, so that it takes a second or two; larger data is sampled.
const (
	maxPlaceWork      = 2e8 // rows x clusters x columns
	maxSilhouetteWork = 2e8 // rows x rows x columns
	maxSilhouetteRows = 2000
	minSampleRows     = 300
	maxKernelRows     = 1200
)

// compare finds where rows lie in the space that was clustered: by the coordinates that the algorithm computed, by its
// kernel, or by columns in its units and with its metric. It returns nil if that cannot be computed again, as for
// values that are too large; the page leaves those sections out.
func (s *sample) compare() *space {
	n := len(s.Labels)
	if n == 0 {
		return nil
	}
	if e := s.Embedding; e != nil && e.Rows == n && e.Columns > 0 {
		return s.amongPoints(coordinates(e),
			"by distances between the coordinates that were clustered, which the algorithm made of the data")
	}
	switch data := s.scene.Data.(type) {
	case *dataset.Points:
		if k := s.Result.GetKernel(); k != nil && k.GetFunction() != cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR {
			return s.underKernel()
		}
		return s.amongPoints(s.compared())
	case *dataset.Kernel:
		rows := profile.Sample(s.Labels, s.k, maxSilhouetteRows)
		return &space{
			words: "by distances in the space of the kernel", places: profile.KernelPlaces(data, s.Labels, s.k, rows),
			rows: rows, silhouettes: profile.Silhouettes(profile.InKernel(data), s.Labels, rows),
		}
	case *dataset.SparsePoints:
		return s.amongSparse(data)
	case *dataset.Graph:
		rows := profile.Sample(s.Labels, s.k, 1<<20)
		return &space{words: "by where the edges of a vertex lead", graph: true,
			places: profile.GraphPlaces(data, s.Labels, s.k, rows)}
	}
	return nil
}

// amongPoints compares points by Euclidean distance.
func (s *sample) amongPoints(points *dataset.Points, words string) *space {
	rows := profile.Sample(s.Labels, s.k, max(minSampleRows, maxPlaceWork/(s.k*points.D)))
	few := profile.Sample(s.Labels, s.k,
		max(minSampleRows, min(maxSilhouetteRows, int(math.Sqrt(maxSilhouetteWork/float64(points.D))))))
	return &space{
		words: words, places: profile.Places(points, s.Labels, s.k, rows),
		rows: few, silhouettes: profile.Silhouettes(profile.Euclidean(points), s.Labels, few),
	}
}

// underKernel compares a sample of points by the kernel of the run. It returns nil for values that are too large.
func (s *sample) underKernel() *space {
	rows := profile.Sample(s.Labels, s.k, maxKernelRows)
	few := s.scaled.Take(rows)
	labels := choose.At(s.Labels, rows)
	of := s.Result.GetKernel()
	spec := kernel.MatrixSpec{
		Function: text.Named[kernel.Function](wire.EnumWord(of.GetFunction())), Rho: of.GetRho(), Gamma: of.GetGamma(),
		Coef0:  of.GetCoef0(),
		Degree: int(of.GetDegree()), Rows: few.N, Columns: few.D,
	}
	bounds, err := kernel.FindBounds(spec, few)
	if err != nil {
		return nil
	}
	spec.Grid = kernel.GridFor(bounds.RowSum)
	values, err := kernel.Square(spec, few)
	if err != nil {
		return nil
	}
	matrix, all := &dataset.Kernel{N: few.N, Values: values}, profile.Sample(labels, s.k, few.N)
	found := &space{
		words: "by distances in the space of the " + wire.EnumWord(of.GetFunction()) + " kernel", rows: rows,
		places:      profile.KernelPlaces(matrix, labels, s.k, all),
		silhouettes: profile.Silhouettes(profile.InKernel(matrix), labels, all),
	}
	for at := range found.places {
		found.places[at].Row = rows[found.places[at].Row]
	}
	return found
}

// compared returns points as the run compared them, in its units, with its metric, or as directions, and words for it.
func (s *sample) compared() (points *dataset.Points, words string) {
	points, words = s.scaled, "by distances between rows"
	if wire.ScaleOf(s.Result) == clustering.ScaleZscore {
		words += ", with columns of equal variance"
	}
	m := s.Model
	if m == nil || m.Landmarks != nil || m.D != points.D {
		return points, words
	}
	if m.Distortion == metric.Cosine {
		return weighted(points, func(row []float64) { metric.Cosine.NormalizeMean(row) }), "by the directions of rows"
	}
	if m.Metric.Form() == metric.Diagonal {
		weights := m.Metric.Values()
		return weighted(points, func(row []float64) {
			for j := range row {
				row[j] *= math.Sqrt(weights[j])
			}
		}), "by distances between rows, with the weights of columns that were learned"
	}
	return points, words
}

// weighted returns a copy of points after calling change with each of its rows.
func weighted(points *dataset.Points, change func(row []float64)) *dataset.Points {
	changed := &dataset.Points{N: points.N, D: points.D, Values: slices.Clone(points.Values)}
	for i := range changed.N {
		change(changed.Row(i))
	}
	return changed
}

// leastConfidentRows is how many of the least confident rows are listed.
const leastConfidentRows = 12

// confidenceLevels are ranges of confidence, from the highest down. The map draws lower ones fainter.
var confidenceLevels = []struct {
	from float64
	name string
}{{0.95, "≥ 0.95"}, {0.8, "0.8–0.95"}, {0.5, "0.5–0.8"}, {math.Inf(-1), "< 0.5"}}

// confidenceLevel returns the index of the range of a confidence, 0 if it is unknown (NaN).
func confidenceLevel(confidence float64) int {
	for level, l := range confidenceLevels {
		if confidence >= l.from {
			return level
		}
	}
	return 0
}

// hasConfidence reports whether rows have confidences, and there are several clusters.
func (p *part) hasConfidence() bool {
	return p.Rows != nil && len(p.Rows.Confidence) == len(p.Labels) && len(p.Labels) > 0 && p.k > 1
}

// confidenceText writes a confidence with two decimals.
func confidenceText(confidence float64) string {
	if math.IsNaN(confidence) {
		return "unknown"
	}
	return page.Fixed(confidence, 2)
}

// meanText writes a mean with two decimals; only 1 is written as 1.
func meanText(mean float64) string {
	if mean < 1 && mean >= 0.995 {
		return "> 0.99"
	}
	return page.Fixed(mean, 2)
}

// meanConfidence returns the mean over all rows that have a confidence.
func (p *part) meanConfidence() float64 {
	sum, count := 0.0, 0
	for _, c := range p.Rows.Confidence {
		if !math.IsNaN(c) {
			sum, count = sum+c, count+1
		}
	}
	return sum / float64(max(1, count))
}

// confidence shows the confidence of the rows. It returns nil if they have none.
func (s *sample) confidence(columns []int) *page.Section {
	if !s.hasConfidence() {
		return nil
	}
	sure, words, unsure := 1.0, s.agreement, 0
	if s.Rows.Posterior {
		sure, words = confidenceLevels[0].from, s.posterior
	}
	for _, c := range s.all.Rows.Confidence {
		if c < sure {
			unsure++
		}
	}
	section := &page.Section{ID: "confidence", Title: "Confidence", Text: []string{words(unsure)}}
	if unsure > 0 {
		section.Tables = []*page.Table{s.confidenceTable(), s.leastConfident(columns)}
	}
	return section
}

// posterior describes the probabilities of rows by a mixture of Gaussians; unsure of them are below the highest level.
func (s *sample) posterior(unsure int) string {
	words := fmt.Sprintf("The confidence of a %s is the probability of its cluster by the mixture of Gaussians, "+
		"given the %s alone.", s.noun(), s.noun())
	if unsure == 0 {
		return words + fmt.Sprintf(" It is at least %g for every %s.", confidenceLevels[0].from, s.noun())
	}
	return words + fmt.Sprintf(" The mean is %s; it is below %g for %s of %s.",
		strings.Replace(meanText(s.all.meanConfidence()), ">", "above", 1), confidenceLevels[0].from,
		text.Grouped(unsure), s.counted(len(s.all.Labels)))
}

// agreement describes how far other runs agree with the answer; they disagree about unsure rows.
func (s *sample) agreement(unsure int) string {
	others := text.Plural(s.Rows.Runs-1, "other restart")
	if len(s.Result.GetChoice().GetTried()) > 0 {
		others = text.Plural(s.Rows.Runs-1, "other run") +
			", which were restarts or saw only a part of what is known about the answer"
	}
	words := fmt.Sprintf("The answer is compared with %s.", others)
	if unsure == 0 {
		return words + fmt.Sprintf(" All of them put every %s into the same cluster.", s.noun())
	}
	return words + fmt.Sprintf(" The confidence of a %s is the share of runs that put it into this cluster. The mean "+
		"is %s; the runs disagree about %s of %s.",
		s.noun(), strings.Replace(meanText(s.all.meanConfidence()), ">", "above", 1), text.Grouped(unsure),
		s.counted(len(s.all.Labels)))
}

// confidenceTable counts the rows of each cluster by their confidence.
func (s *sample) confidenceTable() *page.Table {
	t := page.NewTable(upperFirst(s.plural())+" of each cluster by confidence", "cluster").Numbers("mean")
	t.Wide = true
	for _, level := range confidenceLevels {
		t.Numbers(level.name)
	}
	sums := make([]float64, s.k)
	sizes := make([]int, s.k)
	counts := make([][]int, s.k)
	for cluster := range counts {
		counts[cluster] = make([]int, len(confidenceLevels))
	}
	for i, label := range s.all.Labels {
		if c := s.all.Rows.Confidence[i]; !math.IsNaN(c) {
			sums[label] += c
			sizes[label]++
			counts[label][confidenceLevel(c)]++
		}
	}
	for cluster, list := range counts {
		if cluster == maxListedClusters {
			t.Note = fmt.Sprintf("Shown: the first %d of %s clusters.", cluster, text.Grouped(s.k))
			break
		}
		size := float64(max(1, sizes[cluster]))
		row := []page.Cell{s.ofCluster(cluster), page.Text(meanText(sums[cluster] / size))}
		for _, count := range list {
			row = append(row, page.Text(text.Grouped(count)).Shaded(float64(count)/size))
		}
		t.Add(row...)
	}
	return t
}

// leastConfident lists the rows of the smallest confidence, of equal ones those of the smallest margin.
func (s *sample) leastConfident(columns []int) *page.Table {
	confidence, margins := s.Rows.Confidence, s.Rows.Margin
	if len(margins) == 0 {
		margins = make([]float64, len(confidence))
	}
	var rows []int32
	for i, c := range confidence {
		if c < 1 {
			rows = append(rows, int32(i))
		}
	}
	slices.SortStableFunc(rows, func(x, y int32) int {
		return cmp.Or(cmp.Compare(confidence[x], confidence[y]), cmp.Compare(margins[x], margins[y]))
	})
	t := page.NewTable("Least confident "+s.plural(), s.idHeading(), "cluster", "confidence")
	if len(s.Labels) < len(s.all.Labels) {
		t.Note = fmt.Sprintf("Chosen from a sample of %s.", s.counted(len(s.Labels)))
	}
	s.headColumns(t, columns)
	for _, i := range rows[:min(leastConfidentRows, len(rows))] {
		s.addRow(t, i, columns, page.ShareBar(confidenceText(confidence[i]), confidence[i]))
	}
	return t
}
