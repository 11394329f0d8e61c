package picture

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/text"
)

func paintClusters(c ClustersPlot) func(io.Writer) error {
	return func(w io.Writer) error { return c.Figure().Write(w) }
}

func TestClustersDrawsEveryPointAndConstraint(t *testing.T) {
	r := generator()
	xy, truth := twoCircles(r, 200)
	labels := slices.Clone(truth)
	for i := range 10 {
		labels[i] = 1 - labels[i]
	}
	pairs := randomPairs(r, truth, 50)
	pairs = append(pairs,
		constraint.Pair{I: 0, J: 40, Kind: constraint.MustLink},
		constraint.Pair{I: 1, J: 50, Kind: constraint.CannotLink}) // both violated
	satisfied, violated := splitPairs(pairs, labels)
	mustSatisfied, cannotSatisfied := constraint.CountKinds(satisfied)
	mustViolated, cannotViolated := constraint.CountKinds(violated)
	if mustViolated == 0 || cannotViolated == 0 {
		t.Fatal("the example should violate both kinds")
	}
	elements, _ := render(t, paintClusters(ClustersPlot{
		XY: xy, Axes: [2]string{"x0", "x1"}, Labels: labels, K: 2, Pairs: pairs, Truth: truth,
		Title: "Two circles", Subtitle: "gaussian kernel",
	}))

	// One more of each for the legend.
	entries := clusterEntries(labels, 2, nil, nil)
	for cluster, entry := range entries {
		size := entry.Size
		if got := countMarkers(elements, cluster); got != size+1 {
			t.Errorf("%d markers of cluster %d, want %d and one in the legend", got, cluster, size)
		}
	}
	for classes, want := range map[string]int{
		"link must": mustSatisfied + mustViolated + 2, "link cannot": cannotSatisfied + cannotViolated + 2,
		"link must violated": mustViolated + 1, "link cannot violated": cannotViolated + 1, "mark ring": 10,
	} {
		if got := count(elements, classes); got != want {
			t.Errorf("%s: %d elements, want %d", classes, got, want)
		}
	}
	wantTexts(t, elements, "Two circles", "gaussian kernel", "x0", "x1", "cluster 0", "cluster 1",
		text.Grouped(entries[0].Size), text.Grouped(entries[1].Size), "must-link, satisfied",
		text.Grouped(mustSatisfied),
		"cannot-link, satisfied", "must-link, violated", "cannot-link, violated", "true class differs")
}

func TestCentersLieOnTop(t *testing.T) {
	xy := [][2]float64{{0, 0}, {1, 0}, {2, 1}, {9, 0}}
	labels := []int32{0, 0, 1, 1}
	elements, _ := render(t,
		paintClusters(ClustersPlot{XY: xy, Labels: labels, K: 2, Centers: [][2]float64{{0.5, 0}, {20, 0.5}},
			Pairs: []constraint.Pair{{I: 0, J: 3, Kind: constraint.MustLink}}}))
	if centers := count(elements, "mark center"); centers != 3 {
		t.Errorf("%d centers, want 2 and one in the legend", centers)
	}
	first := slices.IndexFunc(elements, func(e element) bool { return e.has("mark center") })
	violated := slices.IndexFunc(elements, func(e element) bool { return e.has("link violated") })
	if first < violated {
		t.Errorf("the first center is element %d, a violated constraint %d", first, violated)
	}
	wantTexts(t, elements, "centroid")

	many := ClustersPlot{K: 2 * maxCenters}
	for i := range many.K {
		at := [2]float64{float64(i), float64(i % 7)}
		many.XY = append(many.XY, at)
		many.Labels = append(many.Labels, int32(i))
		many.Centers = append(many.Centers, at)
	}
	elements, _ = render(t, paintClusters(many))
	if centers := count(elements, "mark center"); centers != maxCenters+1 {
		t.Errorf("%d centers of %d clusters", centers, many.K)
	}
	wantTexts(t, elements, "Drawn: 300 of 600 centroids.")
}

func TestViolatedConstraintsLieOnTop(t *testing.T) {
	xy := [][2]float64{{0, 0}, {1, 0}, {2, 1}, {3, 0}}
	elements, _ := render(t, paintClusters(ClustersPlot{XY: xy, Labels: []int32{0, 0, 1, 1}, K: 2,
		Pairs: []constraint.Pair{
			{I: 0, J: 3, Kind: constraint.MustLink}, {I: 0, J: 1, Kind: constraint.MustLink},
		}}))
	at := func(classes string) int {
		return slices.IndexFunc(elements, func(e element) bool { return e.has(classes) })
	}
	satisfied := at("link must")
	point := at("mark c0")
	violated := at("link violated")
	if !(satisfied < point && point < violated) {
		t.Errorf("order is satisfied %d, points %d, violated %d", satisfied, point, violated)
	}
}

func TestClustersSamplesLargeData(t *testing.T) {
	r := generator()
	points, truth := gaussians(r, 30000, 4, 10, 3)
	xy, _, axes := Project(points, nil)
	labels := withWrongLabels(r, truth, 10, 0.02)
	pairs := randomPairs(r, truth, 3000)
	elements, size := render(t, paintClusters(ClustersPlot{XY: xy, Axes: axes, Labels: labels, K: 10, Pairs: pairs}))
	if size > 2_000_000 {
		t.Errorf("the file has %d bytes", size)
	}
	markers := 0
	for cluster := range 10 {
		markers += countMarkers(elements, cluster)
	}
	if markers > maxPoints+10 || markers < maxPoints*4/5 {
		t.Errorf("%d markers, want about %d", markers, maxPoints)
	}
	satisfied, violated := splitPairs(pairs, labels)
	_, cannotSatisfied := constraint.CountKinds(satisfied)
	if len(violated) == 0 || len(violated) > maxConstraints {
		t.Fatalf("the example violates %d", len(violated))
	}
	if got := count(elements, "link violated"); got != len(violated)+2 {
		t.Errorf("%d violated constraints drawn, want %d and 2 in the legend", got, len(violated))
	}
	wantTexts(t, elements, text.Grouped(cannotSatisfied),
		fmt.Sprintf("Drawn: %s of 30,000 points, %d of 3,000 constraints.", text.Grouped(markers-10),
			maxConstraints+len(violated)))
}

func TestLargestPictureOfClustersIsSmall(t *testing.T) {
	r := generator()
	n := maxPoints
	g, _ := blocks(t, r, 1500, 3, 0.03, 0.01)
	var edges []dataset.Edge
	for i := range g.N {
		neighbors, _ := g.Row(i)
		for _, j := range neighbors {
			edges = append(edges, dataset.Edge{Source: int32(i), Target: j, Weight: 1})
		}
	}
	large := graph(t, n, edges...)
	labels := make([]int32, n)
	classes := make([]int32, n)
	xy := make([][2]float64, n)
	for i := range labels {
		labels[i], classes[i] = int32(i%40), r.Int32N(3)
		xy[i] = [2]float64{r.NormFloat64(), r.NormFloat64()}
	}
	elements, size := render(t, paintClusters(ClustersPlot{
		XY: xy, Labels: labels, K: 40, Graph: large, Truth: classes, Pairs: randomPairs(r, classes, 5000),
	}))
	if size > 2_000_000 {
		t.Errorf("the file has %d bytes", size)
	}
	wantTexts(t, elements, "… 6 more", "edge")
	notes := strings.Join(texts(elements), "\n")
	if !strings.Contains(notes, "12,000 of ") || !strings.Contains(notes, "600 of 5,000 constraints") {
		t.Errorf("the notes do not say what was left out: %s", notes)
	}
}

func TestClustersLegendOfManyClusters(t *testing.T) {
	for _, c := range []struct {
		k          int
		last, more string
	}{{12, "cluster 11", ""}, {18, "cluster 17", ""}, {19, "18", ""}, {36, "35", ""}, {37, "33", "… 3 more"},
		{300, "33", "… 266 more"}} {
		xy := make([][2]float64, c.k)
		labels := make([]int32, c.k)
		for i := range labels {
			xy[i] = [2]float64{float64(i % 17), float64(i / 17)}
			labels[i] = int32(i)
		}
		elements, _ := render(t, paintClusters(ClustersPlot{XY: xy, Labels: labels, K: c.k}))
		wantTexts(t, elements, c.last)
		if c.more != "" {
			wantTexts(t, elements, c.more)
		} else if slices.ContainsFunc(texts(elements), func(s string) bool { return strings.HasSuffix(s, " more") }) {
			t.Errorf("k=%d does not list all clusters", c.k)
		}
	}
}

func TestTheFirst36ClustersLookDifferent(t *testing.T) {
	seen := map[string]int{}
	for cluster := range 36 {
		look := ColorClass(cluster) + ShapeName(cluster)
		if other, again := seen[look]; again {
			t.Errorf("clusters %d and %d look the same", other, cluster)
		}
		seen[look] = cluster
	}
	ShapeName(math.MaxInt32) // any number has a marker
}

// Files have the light colors of the style sheet, and no variables, which few programs know.
func TestFilesHaveNoVariables(t *testing.T) {
	if style := fileStyle(); strings.Contains(style, "var(") || strings.Contains(style, "--") ||
		!strings.Contains(style, ".c0 { color: #0072b2; }") {
		t.Error(style)
	}
}

func TestClustersOfDegenerateData(t *testing.T) {
	const huge = math.MaxFloat64
	for name, xy := range map[string][][2]float64{
		"none":      {},
		"one":       {{3, 4}},
		"identical": {{1e9, 1e9}, {1e9, 1e9}, {1e9, 1e9}},
		"line":      {{0, 5}, {1, 5}, {2, 5}},
		"huge":      {{huge, -huge}, {-huge, huge}, {0, 0}},
		"tiny":      {{5e-324, 0}, {0, 5e-324}, {0, 0}},
		"close":     {{1, 1}, {math.Nextafter(1, 2), 1}},
		"strip":     {{0, 0}, {1e12, 1e-12}},
	} {
		for _, axes := range [][2]string{{}, {"x0", "x1"}, {"x0", ""}} {
			k := min(1, len(xy))
			elements, _ := render(t, paintClusters(ClustersPlot{XY: xy, Axes: axes, Labels: make([]int32, len(xy)),
				K: k, Title: name}))
			if got := countMarkers(elements, 0); got != len(xy)+k {
				t.Errorf("%s: %d markers, want %d", name, got, len(xy)+k)
			}
		}
	}
}

func TestClustersKeepsCirclesRound(t *testing.T) {
	xy, labels := twoCircles(generator(), 100)
	f := ClustersPlot{XY: xy, Axes: [2]string{"x0", "x1"}, Labels: labels, K: 2}.frame()
	o := f.at(0, 0)
	right := f.at(1, 0)
	up := f.at(0, 1)
	if ratio := (right.x - o.x) / (o.y - up.y); math.Abs(ratio-1) > 1e-9 {
		t.Errorf("a unit of x is %.3f units of y wide", ratio)
	}
}

func TestTitlesMayContainAnything(t *testing.T) {
	elements, _ := render(t, paintClusters(ClustersPlot{
		Title:    "a<b & \"c\"\x00\x1b\xff\nd]]>",
		Subtitle: strings.Repeat("long ", 100000),
	}))
	wantTexts(t, elements, "a<b & \"c\" d]]>")
	shortened := false
	for _, txt := range texts(elements) {
		shortened = shortened || (strings.HasPrefix(txt, "long ") && strings.HasSuffix(txt, "…"))
	}
	if !shortened {
		t.Error("the long subtitle was not shortened")
	}
}

// A cluster whose points are all at one place, or which has few of them, is not hidden by its name.
func TestNamesHideNoCluster(t *testing.T) {
	cloud := make([]point, 400)
	for i := range cloud {
		cloud[i] = point{float64(300 + 10*(i%20)), float64(200 + 10*(i/20))}
	}
	for _, c := range []struct {
		what    string
		members []point
		on      bool
	}{
		{"27 points at one place", slices.Repeat([]point{{400, 300}}, 27), false},
		{"four vertices", []point{{400, 300}, {700, 310}, {100, 500}, {700, 500}}, false},
		{"a cloud", cloud, true},
	} {
		n := namer{frame: frame{left: 0, right: 800, top: 0, bottom: 600}, members: [][]point{c.members}}
		n.add(&Figure{}, ClusterEntry{}, point{400, 300})
		if on := n.taken[0].at.y == 305; on != c.on {
			t.Errorf("%s: the name is at %v", c.what, n.taken[0].at)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriteErrorsAreReturned(t *testing.T) {
	for name, err := range map[string]error{
		"clusters":  ClustersPlot{}.Figure().Write(brokenWriter{}),
		"objective": ObjectivePlot{Iterations: []int{0}, Values: []float64{1}}.Figure().Write(brokenWriter{}),
		"graph":     ClustersPlot{Labels: []int32{0}, K: 1}.ClusterGraph(graph(t, 1)).Write(brokenWriter{}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The names of many clusters in a map are numbers, because their classes would cover it; the legend has the classes.
func TestManyClassesAreInTheLegendOnly(t *testing.T) {
	for _, k := range []int{3, 20} {
		plot := ClustersPlot{K: k, Axes: [2]string{"x0", "x1"}}
		for cluster := range k {
			plot.XY = append(plot.XY, [2]float64{float64(cluster), 0})
			plot.Labels = append(plot.Labels, int32(cluster))
			plot.Classes = append(plot.Classes, fmt.Sprintf("class%d", cluster))
		}
		figure := plot.Figure()
		if inMap := strings.Contains(figure.data.String(), "class2"); inMap != (k == 3) {
			t.Errorf("%d clusters: the map has classes: %v", k, inMap)
		}
		var legend canvas
		if figure.drawLegend(&legend); !strings.Contains(legend.String(), fmt.Sprintf(">%d class%d<", k-1, k-1)) {
			t.Errorf("%d clusters: the legend has no classes:\n%s", k, legend.String())
		}
	}
}
