package picture

import (
	"io"
	"math"
	"reflect"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

func edge(a, b int32, weight float64) dataset.Edge {
	return dataset.Edge{Source: a, Target: b, Weight: weight}
}

func distance(a, b [2]float64) float64 { return math.Hypot(a[0]-b[0], a[1]-b[1]) }

func TestLayoutOfDegenerateGraphs(t *testing.T) {
	const huge = math.MaxFloat64
	var star, complete []dataset.Edge
	for i := range int32(30) {
		star = append(star, edge(0, i+1, 1))
		for j := range i {
			complete = append(complete, edge(i, j, 1))
		}
	}
	for name, g := range map[string]*dataset.Graph{
		"one vertex":   graph(t, 1),
		"isolated":     graph(t, 7),
		"a pair":       graph(t, 2, edge(0, 1, 1)),
		"a path":       graph(t, 3, edge(0, 1, 1), edge(1, 2, 1)),
		"loops":        graph(t, 3, edge(0, 0, 5), edge(1, 1, 5)),
		"disconnected": graph(t, 9, edge(0, 1, 1), edge(1, 2, 1), edge(4, 5, 1), edge(7, 7, 1)),
		"zero weight":  graph(t, 3, edge(0, 1, 0), edge(1, 2, 1)),
		"negative":     graph(t, 3, edge(0, 1, -4), edge(1, 2, 1)),
		"huge":         graph(t, 4, edge(0, 1, huge), edge(1, 2, huge), edge(2, 3, 5e-324)),
		"tiny":         graph(t, 3, edge(0, 1, 5e-324), edge(1, 2, 5e-324)),
		"star":         graph(t, 0, star...),
		"complete":     graph(t, 0, complete...),
	} {
		xy, ok := LayoutGraph(g, 3)
		if !ok || len(xy) != g.N {
			t.Fatalf("%s: ok %v, %d vertices", name, ok, len(xy))
		}
		allFinite(t, name, xy)
		for i := range xy {
			for j := range i {
				if distance(xy[i], xy[j]) < 0.05 {
					t.Errorf("%s: vertices %d and %d are on top of each other at %v", name, i, j, xy[i])
				}
			}
		}
		render(t, paintClusters(ClustersPlot{XY: xy, Graph: g, Labels: make([]int32, g.N), K: 1}))
	}
}

func TestLayoutShowsBlocks(t *testing.T) {
	g, truth := blocks(t, generator(), 120, 4, 0.3, 0.01)
	xy, _ := LayoutGraph(g, 1)
	var inside, between, pairsInside, pairsBetween float64
	for i := range xy {
		for j := range i {
			if truth[i] == truth[j] {
				inside += distance(xy[i], xy[j])
				pairsInside++
			} else {
				between += distance(xy[i], xy[j])
				pairsBetween++
			}
		}
	}
	if ratio := (between / pairsBetween) / (inside / pairsInside); ratio < 1.8 {
		t.Errorf("blocks are only %.2f times farther from each other than from themselves", ratio)
	}
}

func TestLayoutIsDeterminedByItsSeed(t *testing.T) {
	g, _ := blocks(t, generator(), 60, 3, 0.3, 0.02)
	first, _ := LayoutGraph(g, 1)
	again, _ := LayoutGraph(g, 1)
	other, _ := LayoutGraph(g, 2)
	if !reflect.DeepEqual(first, again) {
		t.Error("the same seed gives another layout")
	}
	if reflect.DeepEqual(first, other) {
		t.Error("another seed gives the same layout")
	}
}

func TestComponentsDoNotOverlap(t *testing.T) {
	var edges []dataset.Edge
	for part := range int32(4) {
		for i := range int32(9) {
			edges = append(edges, edge(part*10+i, part*10+i+1, 1))
		}
	}
	xy, _ := LayoutGraph(graph(t, 40, edges...), 1)
	for a := range 40 {
		for b := range a {
			if a/10 != b/10 && distance(xy[a], xy[b]) < 1 {
				t.Errorf("vertices %d and %d of different components are %v apart", a, b, distance(xy[a], xy[b]))
			}
		}
	}
}

func TestLayoutDeclinesLargeGraphs(t *testing.T) {
	if xy, ok := LayoutGraph(graph(t, maxLayoutVertices+1), 1); ok || xy != nil {
		t.Error("a layout of too large a graph")
	}
}

func paintClusterGraph(g *dataset.Graph, c ClustersPlot) func(io.Writer) error {
	return func(w io.Writer) error { return c.ClusterGraph(g).Write(w) }
}

func TestClusterGraph(t *testing.T) {
	r := generator()
	g := graph(t, 6, edge(0, 1, 3), edge(1, 2, 1), edge(3, 4, 2), edge(4, 5, 1), edge(2, 2, 1))
	labels := []int32{0, 0, 1, 1, 2, 2}
	elements, _ := render(t, paintClusterGraph(g, ClustersPlot{
		Labels: labels, K: 4, Pairs: randomPairs(r, []int32{0, 0, 1, 1, 1, 1}, 8), Title: "blocks",
	}))
	for cluster, want := range []int{2, 2, 2, 1} { // disc and legend; cluster 3 is empty
		if got := countMarkers(elements, cluster); got != want {
			t.Errorf("%d elements of cluster %d, want %d", got, cluster, want)
		}
	}
	// 0-1 with weight 1, 1-2 with weight 2; none between 0 and 2.
	if count(elements, "edge w10") != 1 || count(elements, "edge w5") != 1 {
		t.Error("the lines between discs do not have the widths of their weights")
	}
	wantTexts(t, elements, "blocks", "cluster 3", "62.5%", "37.5%", "must-links satisfied", "cannot-links satisfied")
}

func TestClusterGraphOfManyAndFew(t *testing.T) {
	r := generator()
	g, truth := blocks(t, r, 600, 100, 0.5, 0.2)
	elements, size := render(t, paintClusterGraph(g, ClustersPlot{Labels: truth, K: 100}))
	if size > 500_000 {
		t.Errorf("%d bytes", size)
	}
	if got := count(elements, "link edge"); got != maxLinks {
		t.Errorf("%d lines", got)
	}
	wantTexts(t, elements, "… 66 more", "Drawn: 60 of 100 clusters, the largest, 400 of 1,769 lines between them, "+
		"the heaviest.")
	const huge = math.MaxFloat64
	for _, g := range []*dataset.Graph{
		graph(t, 5), graph(t, 5, edge(0, 1, -3), edge(2, 3, 0)), graph(t, 5, edge(0, 1, huge), edge(1, 2, huge),
			edge(3, 4, -huge)),
	} {
		render(t, paintClusterGraph(g, ClustersPlot{Labels: make([]int32, 5), K: 1}))
		render(t, paintClusterGraph(g, ClustersPlot{Labels: []int32{0, 1, 2, 3, 3}, K: 5}))
	}
}

func TestDiscsDoNotTouch(t *testing.T) {
	for _, sizes := range [][]int{{5, 5}, {1000, 1, 1, 1}, {1, 2, 3, 4, 5, 6, 7}, {100000, 100000, 1}} {
		all := make([]ClusterEntry, len(sizes))
		for cluster, size := range sizes {
			all[cluster] = ClusterEntry{Cluster: cluster, Size: size}
		}
		discs := largestClusters(all)
		places := placeDiscs(all, discs, frame{right: 500, bottom: 500, x: axis{hi: 1}, y: axis{hi: 1}})
		for _, a := range discs {
			for _, b := range discs {
				p, q := places[a], places[b]
				if apart := math.Hypot(p.center.x-q.center.x, p.center.y-q.center.y); a != b &&
					apart < p.radius+q.radius {
					t.Errorf("sizes %v: discs %d and %d overlap", sizes, a, b)
				}
			}
		}
	}
}
