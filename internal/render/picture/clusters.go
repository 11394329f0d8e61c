package picture

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/render/profile"
	"github.com/cleave-project/cleave/internal/text"
)

// ClustersPlot shows a clustering in two dimensions. Its lists about points have one entry for each point; coordinates
// are finite.
type ClustersPlot struct {
	// one for each point, from Project, ProjectKernel, ProjectSparse or LayoutGraph; unused by ClusterGraph
	XY     [][2]float64
	Axes   [2]string // names of the two coordinates; one without a meaning has no name and no scale
	Labels []int32   // 0..K-1
	K      int
	// Classes names the clusters besides their numbers, "" for none; nil if none has a class.
	Classes []string
	Pairs   []constraint.Pair
	Graph   *dataset.Graph // its edges are drawn; nil for points
	Truth   []int32        // optional: the true classes, from 0; -1 for a point that is not compared
	// Centers has the centers of the K clusters; it is empty for methods without centers.
	Centers [][2]float64

	Title, Subtitle string

	// The fields below are set only for report.html.

	Label    string                // describes the figure to those who cannot see it
	Noun     string                // plural of what a point is; "" means points
	Sizes    []int                 // of the clusters, where the points are a sample; nil: they are counted
	Describe func(i int) string    // the text that a browser shows for a point; nil for none
	Fade     func(i int) int       // how faint a point is drawn: 0 as usual, up to 3; nil: all are as usual
	FadeName func(fade int) string // explains a fade in the legend
}

// The largest numbers of things that are drawn, to keep the file below 2 MB and the picture readable.
const (
	maxPoints      = 5000
	maxConstraints = 300 // satisfied ones, and the same number of violated ones
	maxEdges       = 12000
	manyEdges      = 1000 // more of them are drawn fainter
	maxCenters     = 300
	maxFade        = 3
)

// Figure draws the points in the colors of their clusters, satisfied constraints as faint lines, and violated ones as
// bold lines on top. Of a large data set it draws a sample, and Note says so.
func (c ClustersPlot) Figure() *Figure {
	figure := &Figure{Title: c.Title, Subtitle: c.Subtitle, id: "map", label: c.Label, width: figureWidth,
		height: figureHeight}
	frame := c.frame()
	figure.zoom = &frame
	figure.drawFrame(frame)
	satisfied, violated := splitPairs(c.Pairs, c.Labels)
	drawnSatisfied := choose.At(satisfied, choose.Even[int](len(satisfied), maxConstraints))
	drawnViolated := choose.At(violated, choose.Even[int](len(violated), maxConstraints))
	points := c.choose(slices.Concat(drawnViolated, drawnSatisfied))
	figure.class = crowding(len(points))
	edges, allEdges := c.edges(points)
	centers := choose.Even[int](len(c.Centers), maxCenters)

	place := func(i int32) point { return frame.at(c.XY[i][0], c.XY[i][1]) }
	edgeClass := "edge"
	if len(edges) > manyEdges {
		edgeClass = "edge many"
	}
	if len(edges) > 0 { // one element is smaller, and its color does not add up where edges cross
		var d strings.Builder
		for _, e := range edges {
			d.WriteString(pathThrough([]point{place(e[0]), place(e[1])}))
		}
		figure.data.path("link "+edgeClass, d.String(), "")
	}
	for _, p := range drawnSatisfied {
		figure.data.line("link "+pairClass(p, false), place(p.I), place(p.J))
	}
	differs, mismatches := c.mismatches()
	c.drawPoints(figure, points, drawnViolated, differs, place)
	for _, cluster := range centers {
		figure.data.use("center", cluster, "mark "+ColorClass(cluster)+" center",
			frame.at(c.Centers[cluster][0], c.Centers[cluster][1]), fmt.Sprintf("centroid of cluster %d", cluster))
	}
	c.addClusters(figure, frame, points)

	kind := func(class, name string, count int) {
		if count > 0 {
			figure.Kinds = append(figure.Kinds, KindEntry{class, name, text.Grouped(count)})
		}
	}
	kind("center", "centroid", len(c.Centers))
	for _, links := range []struct {
		pairs    []constraint.Pair
		violated bool
		name     string
	}{{satisfied, false, ", satisfied"}, {violated, true, ", violated"}} {
		must, cannot := constraint.CountKinds(links.pairs)
		kind(pairClass(constraint.Pair{Kind: constraint.MustLink}, links.violated), "must-link"+links.name, must)
		kind(pairClass(constraint.Pair{Kind: constraint.CannotLink}, links.violated), "cannot-link"+links.name, cannot)
	}
	kind("edge", "edge", allEdges)
	kind("ring", "true class differs", mismatches)
	c.addFades(points, kind)

	noun := cmp.Or(c.Noun, "points")
	all := 0
	for _, entry := range figure.Clusters {
		all += entry.Size
	}
	figure.Note = drawnNote(
		drawn{len(points), all, noun}, drawn{len(drawnSatisfied) + len(drawnViolated), len(c.Pairs), "constraints"},
		drawn{len(edges), allEdges, "edges"}, drawn{len(centers), len(c.Centers), "centroids"})
	return figure
}

// drawn is how many of all things of a kind are drawn. noun is their plural.
type drawn struct {
	shown, all int
	noun       string
}

// drawnNote says of what only a part is drawn; "" if everything is.
func drawnNote(parts ...drawn) string {
	var partial []string
	for _, p := range parts {
		if p.shown < p.all {
			partial = append(partial, fmt.Sprintf("%s of %s %s", text.Grouped(p.shown), text.Grouped(p.all), p.noun))
		}
	}
	if len(partial) == 0 {
		return ""
	}
	return "Drawn: " + strings.Join(partial, ", ") + "."
}

// maxScaleRatio is the ratio of the two scales up to which both axes get the same scale.
const maxScaleRatio = 4

// buttonRoom is left on the right of a map, where a page has its buttons.
const buttonRoom = 54

// frame fits the data into the figure. Both axes get the same scale (a circle is round) unless they measure different
// things or the picture would become a thin strip.
func (c ClustersPlot) frame() frame {
	var xs, ys []float64
	for _, xy := range slices.Concat(c.XY, c.Centers) {
		xs = append(xs, xy[0])
		ys = append(ys, xy[1])
	}
	x := axisOf(c.Axes[0], 0.04, xs)
	y := axisOf(c.Axes[1], 0.04, ys)
	f := frame{left: 12, top: 12, right: figureWidth - buttonRoom, x: x, y: y}
	f.bottom = figureHeight - 8 - roomBelow(axis{name: x.name, ticks: ticksOf(x)})
	// The labels of the y axis take room from the x axis, which with equal scales changes the y axis and its labels:
	// the second round knows how much room they take.
	for range 2 {
		f.x, f.y = x, y
		if (x.name == "") == (y.name == "") {
			equalScale(&f.x, &f.y, f.width(), f.height())
		}
		f.x.ticks = ticksOf(f.x)
		f.y.ticks = ticksOf(f.y)
		f.left = max(f.left, roomLeft(f.y))
	}
	return f
}

// ticksOf returns the ticks of an axis; one without a meaning has none.
func ticksOf(a axis) []tick {
	if a.name == "" {
		return nil
	}
	return linearTicks(a.lo, a.hi, 8, 0)
}

// equalScale widens the axis that has the finer scale.
func equalScale(x, y *axis, width, height float64) {
	perX, perY := (x.hi-x.lo)/width, (y.hi-y.lo)/height
	if perX > maxScaleRatio*perY || perY > maxScaleRatio*perX {
		return
	}
	widen := func(a *axis, to float64) {
		by := (to - (a.hi - a.lo)) / 2
		a.lo, a.hi = a.lo-by, a.hi+by
	}
	if perX > perY {
		widen(y, perX*height)
	} else {
		widen(x, perY*width)
	}
}

// choose returns the points to draw: the ends of the pairs and an even sample of each cluster, in an order in which no
// cluster covers the others.
func (c ClustersPlot) choose(pairs []constraint.Pair) []int32 {
	var chosen []int32
	for _, p := range pairs {
		chosen = append(chosen, p.I, p.J)
	}
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	chosen = append(chosen, profile.Sample(c.Labels, c.K, max(0, maxPoints-len(chosen)))...)
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	slices.SortFunc(chosen, func(i, j int32) int { return cmp.Compare(shuffleKey(i), shuffleKey(j)) })
	return chosen
}

// shuffleKey returns the key by which points are put into a random-looking order. It is the finalizer of splitmix64, a
// bijection, so no two points have the same key.
func shuffleKey(i int32) uint64 {
	z := uint64(i) + 0x9E3779B97F4A7C15
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}

// crowding returns the CSS class of a figure by its number of points. The more there are, the smaller are their
// markers.
func crowding(points int) string {
	switch {
	case points > 1500:
		return "crowd"
	case points > 500:
		return "many"
	case points > 150:
		return "some"
	}
	return ""
}

// edges returns an even sample of the edges between the given points, and how many edges the graph has; loops do not
// count.
func (c ClustersPlot) edges(points []int32) (edges [][2]int32, total int) {
	if c.Graph == nil {
		return nil, 0
	}
	shown := make([]bool, c.Graph.N)
	for _, i := range points {
		shown[i] = true
	}
	for i := range c.Graph.N {
		neighbors, _ := c.Graph.Row(i)
		for _, j := range neighbors {
			if int(j) <= i {
				continue
			}
			total++
			if shown[i] && shown[j] {
				edges = append(edges, [2]int32{int32(i), j})
			}
		}
	}
	return choose.At(edges, choose.Even[int](len(edges), maxEdges)), total
}

// drawPoints draws the points, then the violated constraints, then the points at their ends. See mismatches for
// differs.
func (c ClustersPlot) drawPoints(figure *Figure, points []int32, violated []constraint.Pair, differs []bool,
	place func(int32) point) {
	ends := map[int32]bool{}
	for _, p := range violated {
		ends[p.I], ends[p.J] = true, true
	}
	put := func(i int32) {
		class, title := "", ""
		if differs != nil && differs[i] {
			class = "ring"
		}
		if ends[i] {
			class += " broken"
		}
		if fade := c.fade(i); fade > 0 {
			class += " fade" + strconv.Itoa(fade)
		}
		if c.Describe != nil {
			title = c.Describe(int(i))
		}
		figure.data.mark(int(c.Labels[i]), class, place(i), 0, title)
	}
	for _, i := range points {
		if !ends[i] {
			put(i)
		}
	}
	for _, p := range violated {
		figure.data.line("casing", place(p.I), place(p.J))
		figure.data.line("link "+pairClass(p, true), place(p.I), place(p.J))
	}
	for _, i := range points {
		if ends[i] {
			put(i)
		}
	}
}

func (c ClustersPlot) fade(i int32) int {
	if c.Fade == nil {
		return 0
	}
	return min(maxFade, c.Fade(int(i)))
}

// addFades explains the fades of the points that are drawn.
func (c ClustersPlot) addFades(points []int32, kind func(class, name string, count int)) {
	var counts [maxFade + 1]int
	for _, i := range points {
		counts[c.fade(i)]++
	}
	for fade := 1; fade <= maxFade && c.FadeName != nil; fade++ {
		kind("fade"+strconv.Itoa(fade), c.FadeName(fade), counts[fade])
	}
}

// addClusters lists the clusters. The name of each is written at the member that is nearest to the mean of its drawn
// points, or above its center.
func (c ClustersPlot) addClusters(figure *Figure, frame frame, points []int32) {
	figure.Clusters = clusterEntries(c.Labels, c.K, c.Classes, c.Sizes)
	counts := make([]float64, c.K)
	least := slices.Repeat([]float64{math.Inf(1)}, c.K)
	for _, i := range points {
		counts[c.Labels[i]]++
	}
	for _, i := range points {
		entry := &figure.Clusters[c.Labels[i]]
		entry.X += c.XY[i][0] / counts[c.Labels[i]]
		entry.Y += c.XY[i][1] / counts[c.Labels[i]]
		entry.Drawn = true
	}
	middle := make([]int32, c.K)
	for _, i := range points {
		entry := figure.Clusters[c.Labels[i]]
		if d := math.Hypot(c.XY[i][0]-entry.X, c.XY[i][1]-entry.Y); d < least[c.Labels[i]] {
			middle[c.Labels[i]], least[c.Labels[i]] = i, d
		}
	}
	names := namer{frame: frame, members: make([][]point, c.K), beside: len(c.Centers) > 0, brief: c.K > maxClasses}
	for _, i := range points {
		names.members[c.Labels[i]] = append(names.members[c.Labels[i]], frame.at(c.XY[i][0], c.XY[i][1]))
	}
	for _, entry := range figure.Clusters {
		if !entry.Drawn {
			continue
		}
		center := c.XY[middle[entry.Cluster]]
		if names.beside {
			center = c.Centers[entry.Cluster]
		}
		names.add(figure, entry, frame.at(center[0], center[1]))
	}
}

// clusterEntries lists the k clusters with their classes and their sizes, which are counted if sizes is nil.
func clusterEntries(labels []int32, k int, classes []string, sizes []int) []ClusterEntry {
	entries := make([]ClusterEntry, max(k, 0))
	for _, label := range labels {
		entries[label].Size++
	}
	for cluster := range entries {
		entries[cluster].Cluster = cluster
		if cluster < len(classes) {
			entries[cluster].Class = classes[cluster]
		}
		if sizes != nil {
			entries[cluster].Size = sizes[cluster]
		}
	}
	return entries
}

// splitPairs separates satisfied from violated constraints.
func splitPairs(pairs []constraint.Pair, labels []int32) (satisfied, violated []constraint.Pair) {
	for _, p := range pairs {
		if p.Violates(labels) {
			violated = append(violated, p)
		} else {
			satisfied = append(satisfied, p)
		}
	}
	return satisfied, violated
}

// pairClass returns the CSS class of a constraint.
func pairClass(p constraint.Pair, violated bool) string {
	class := "cannot"
	if p.Kind == constraint.MustLink {
		class = "must"
	}
	if violated {
		class += " violated"
	}
	return class
}

// mismatches marks the points whose true class is not the most frequent one of their cluster, the errors that purity
// counts, and returns their number; of equally frequent classes the smaller number counts. If that is more than half of
// the compared points it returns nil and 0, because rings around most points say nothing about any of them.
func (c ClustersPlot) mismatches() (differs []bool, count int) {
	type cell struct{ label, class int32 }
	counts := make(map[cell]int)
	compared := 0
	for i, class := range c.Truth {
		if class >= 0 {
			counts[cell{c.Labels[i], class}]++
			compared++
		}
	}
	most := make([]int, max(0, c.K))
	common := make([]int32, max(0, c.K))
	for at, number := range counts {
		if k := at.label; number > most[k] || (number == most[k] && at.class < common[k]) {
			most[k], common[k] = number, at.class
		}
	}
	differs = make([]bool, len(c.Labels))
	for i, class := range c.Truth {
		if class >= 0 && class != common[c.Labels[i]] {
			differs[i] = true
			count++
		}
	}
	if 2*count > compared {
		return nil, 0
	}
	return differs, count
}
