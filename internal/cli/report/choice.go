package report

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/forest"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/render/picture"
	"github.com/cleave-project/cleave/internal/text"
)

// triedText says which method was tried, and on which fold of the constraints.
func triedText(t *cleavev1.MethodTried) string {
	line := "tried " + explain.MethodName(t.GetMethod())
	if t.GetFold() > 0 {
		line += fmt.Sprintf(": fold %d of %d", t.GetFold(), t.GetFolds())
	}
	return line
}

// triedLine also says how many held-out constraints the method predicted.
func triedLine(t *cleavev1.MethodTried) string {
	line := triedText(t)
	for _, kind := range []struct {
		name       string
		all, right uint32
	}{{"must-links", t.GetMustLinks(), t.GetMustLinksRight()}, {"cannot-links", t.GetCannotLinks(), t.GetCannotLinksRight()}} {
		if kind.all > 0 {
			line += fmt.Sprintf(", %d of %d %s right", kind.right, kind.all, kind.name)
		}
	}
	return line
}

// shownMethods is how many methods a summary lists; methods.svg and the page show all.
const shownMethods = 3

// summarizeChoice writes which method was chosen and why, and the held-out accuracy of the best methods. The method that
// would be chosen without constraints is always among them.
func summarizeChoice(line func(name, format string, args ...any), c *cleavev1.Choice) {
	line("method", "%s", explain.MethodText(c.GetChosen()))
	name := "why"
	for _, clause := range clauses(c.GetReason()) {
		line(name, "%s", clause)
		name = ""
	}
	name = "held-out"
	for _, t := range bestMethods(c, shownMethods) {
		mark := ""
		if explain.SameMethod(t.GetMethod(), c.GetChosen()) {
			mark = " (chosen)"
		}
		line(name, "%.2f %s%s", t.GetAgreement(), explain.MethodName(t.GetMethod()), mark)
		name = ""
	}
}

// clauses splits a reason where a semicolon separates two, but not within parentheses.
func clauses(reason string) (all []string) {
	begin := 0
	for at := range reason {
		if strings.HasPrefix(reason[at:], "; ") && strings.Count(reason[begin:at], "(") == strings.Count(reason[begin:at], ")") {
			all, begin = append(all, reason[begin:at]), at+len("; ")
		}
	}
	if reason != "" {
		all = append(all, reason[begin:])
	}
	return all
}

// bestMethods returns at most limit methods, the best held-out accuracy first. The chosen method and the one that the
// others are compared with are always among them.
func bestMethods(c *cleavev1.Choice, limit int) []*cleavev1.MethodScore {
	var methods []*cleavev1.MethodScore
	for _, t := range c.GetTried() { // a method may be tried again to be fitted to all constraints
		if !slices.ContainsFunc(methods, func(m *cleavev1.MethodScore) bool { return explain.SameMethod(m.GetMethod(), t.GetMethod()) }) {
			methods = append(methods, t)
		}
	}
	slices.SortStableFunc(methods, func(a, b *cleavev1.MethodScore) int { return cmp.Compare(b.GetAgreement(), a.GetAgreement()) })
	base := slices.IndexFunc(c.GetTried(), func(t *cleavev1.MethodScore) bool {
		return t.GetMethod().GetConstraintUse() == cleavev1.ConstraintUse_CONSTRAINT_USE_NONE && t.GetAdvantage() == 0
	})
	for at := len(methods) - 1; at >= 0 && len(methods) > limit; at-- {
		if t := methods[at]; !explain.SameMethod(t.GetMethod(), c.GetChosen()) && (base < 0 || t != c.GetTried()[base]) {
			methods = slices.Delete(methods, at, at+1)
		}
	}
	return methods
}

// drawMethods draws the held-out accuracy of the methods, the best first.
func (r *Report) drawMethods(w io.Writer, title string) error {
	choice := r.Result.GetChoice()
	plot := picture.BarsPlot{
		Title: titled(title, "methods that were tried"), Subtitle: strings.TrimSuffix(explain.Sentence(choice.GetReason()), "."),
		Axis: "held-out accuracy (1: all right, 0: chance)",
	}
	for _, t := range bestMethods(choice, len(choice.GetTried())) {
		plot.Bars = append(plot.Bars, picture.Bar{Name: explain.MethodName(t.GetMethod()), Share: min(1, max(0, t.GetAgreement())), Bold: explain.SameMethod(t.GetMethod(), choice.GetChosen())})
	}
	return picture.Write(w, plot.Figure)
}

// byClassifier reports whether a classifier that was fitted to known rows predicted the groups of the others. The features of its
// model are the scores of a row, one for each group, and its centroids are the scores that the rows of a group should have.
func byClassifier(r *cleavev1.Result) bool {
	return r.GetChoice().GetChosen().GetConstraintUse() == cleavev1.ConstraintUse_CONSTRAINT_USE_DISCRIMINANT
}

// loadClassifier reads a classifier from a folder, and the names of the columns.
func loadClassifier(folder string, head *cleavev1.ModelHead, names []string) (*clustering.Model, []string, error) {
	k, of := int(head.GetK()), head.GetLandmarks()
	if k < 1 || head.GetColumns() != head.GetK() || head.GetK() > of.GetCount() || head.GetMetric() != cleavev1.Metric_METRIC_IDENTITY {
		return nil, nil, fault.Invalid("BAD_MODEL", "%s: this is not a classifier of %s fitted to %s", filepath.Join(folder, ResultFile),
			text.Plural(k, "group"), text.Plural(int(of.GetCount()), "row"))
	}
	landmarks, header, err := loadLandmarks(folder, of, k, names)
	if err != nil {
		return nil, nil, err
	}
	m := &clustering.Model{K: k, D: k, Distortion: metric.SquaredEuclidean, Metric: metric.NewIdentity(k), Centroids: groupIndicators(k), Landmarks: landmarks}
	if head.GetScaled() {
		m.Units, err = loadUnits(folder, m.Columns(), names)
	}
	if of := head.GetForest(); of != nil && err == nil {
		m.Forest, err = loadForest(folder, of, k, m.Columns())
	}
	if err != nil {
		return nil, nil, err
	}
	return m, header, nil
}

// groupIndicators returns the k scores that a row of each of k groups should have: they add up to 0, and its own one is 1 more than
// the others.
func groupIndicators(k int) []float64 {
	scores := make([]float64, k*k)
	for at := range scores {
		if scores[at] = -1 / float64(k); at%(k+1) == 0 {
			scores[at]++
		}
	}
	return scores
}

// byCluster returns the projection of a classifier with its columns, which are groups, in the order of the clusters, and its trees
// with clusters in place of groups, nil if there are none. The group of a cluster is the one in which its centroid scores highest.
func byCluster(m *clustering.Model) ([]float64, *forest.Forest) {
	group, cluster := make([]int, m.K), make([]int32, m.K)
	for c := range group {
		scores := m.Centroids[c*m.D : (c+1)*m.D]
		group[c] = slices.Index(scores, slices.Max(scores))
		cluster[group[c]] = int32(c)
	}
	var ordered []float64
	for row := range slices.Chunk(m.Landmarks.Projection, m.D) {
		for _, g := range group {
			ordered = append(ordered, row[g])
		}
	}
	if m.Forest == nil {
		return ordered, nil
	}
	return ordered, m.Forest.Trees.Renumbered(cluster)
}

// columnMeans returns the means of the columns in each cluster, in the coordinates of the data, or nil if not all points are at hand.
func (r *Report) columnMeans(s Scene) []float64 {
	points, dense := s.Data.(*dataset.Points)
	if !dense || s.Sample != nil || points.N != len(r.Labels) || points.D != r.Model.Columns() {
		return nil
	}
	means, sizes := make([]float64, r.Model.K*points.D), make([]float64, r.Model.K)
	for i, label := range r.Labels {
		sizes[label]++
		of := means[int(label)*points.D : (int(label)+1)*points.D]
		for j, v := range points.Row(i) {
			of[j] += v
		}
	}
	for at := range means {
		means[at] /= max(1, sizes[at/points.D])
	}
	return means
}
