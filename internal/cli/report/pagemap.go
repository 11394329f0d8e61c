package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/render/picture"
	"github.com/cleave-project/cleave/internal/render/profile"
)

// What a page draws at most, to stay small and readable.
const (
	maxDrawnPoints = 5000
	maxDrawnPairs  = 300 // satisfied ones, and as many violated ones
	maxDrawnEdges  = 8000
)

// clusterMap shows the clusters in two dimensions, nil where the data have none.
func (b *pageBuilder) clusterMap() (*page.Map, error) {
	if len(b.Labels) == 0 {
		return nil, nil
	}
	switch data := b.scene.Data.(type) {
	case *dataset.Points:
		points, centers, err := b.asCompared(data)
		if err != nil {
			return nil, err
		}
		xy, _, axes := picture.ProjectWith(points, centers)
		words := "the two directions in which rows differ most (principal components)"
		switch data.D {
		case 1:
			axes[0], words = b.columnName(0), "their only column; the height has no meaning and keeps them apart"
		case 2:
			axes, words = [2]string{b.columnName(0), b.columnName(1)}, "their two columns"
		}
		return b.pointMap(xy, axes, "Rows by "+words+"."), nil
	case *dataset.Kernel:
		xy, axes := picture.ProjectKernel(data)
		return b.pointMap(xy, axes, "Rows by the two directions in which they differ most in the space of the kernel."), nil
	case *dataset.Graph:
		if xy, small := b.layoutGraph(data); small {
			m := b.pointMap(xy, [2]string{}, "The vertices of the graph and their edges, placed so that neighbors are near each other.")
			return m, nil
		}
		return b.discMap(data), nil
	case *dataset.SparsePoints:
		if e := b.Embedding; e != nil && e.Rows == len(b.Labels) && e.Columns > 0 {
			xy, axes := picture.Project(&dataset.Points{N: e.Rows, D: e.Columns, Values: e.Values})
			return b.pointMap(xy, axes, "Rows by the coordinates that the algorithm made of them."), nil
		}
		xy, axes, words := b.projectSparse(data, b.spec())
		return b.pointMap(xy, axes, "Rows by "+words+"."), nil
	}
	return nil, nil
}

// pointMap draws rows at their places.
func (b *pageBuilder) pointMap(xy [][2]float64, axes [2]string, words string) *page.Map {
	m := &page.Map{Text: words, Axes: axes}
	satisfied, violated := b.splitPairs()
	counts := map[string]int{}
	for _, p := range slices.Concat(satisfied, violated) {
		counts[pairClass(p, b.Labels)]++
	}
	satisfied, violated = evenly(satisfied, maxDrawnPairs), evenly(violated, maxDrawnPairs)
	pairs := slices.Concat(satisfied, violated)
	place := b.choosePoints(m, xy, pairs)
	if graph, ok := b.scene.Data.(*dataset.Graph); ok {
		b.addEdges(m, graph, place)
	}
	for _, p := range pairs {
		m.Links = append(m.Links, page.Link{From: place[p.I], To: place[p.J], Kind: pairClass(p, b.Labels)})
	}
	b.addLegend(m)
	for _, kind := range []struct{ class, name string }{
		{"must", "must-link"}, {"cannot", "cannot-link"}, {"must violated", "must-link, violated"}, {"cannot violated", "cannot-link, violated"},
	} {
		if counts[kind.class] > 0 {
			m.Kinds = append(m.Kinds, page.LinkKind{Class: kind.class, Name: kind.name, Count: page.Count(counts[kind.class])})
		}
	}
	rings := 0
	for _, p := range m.Points {
		if p.Ring {
			rings++
		}
	}
	if rings > len(m.Points)/2 { // that says nothing about any of them
		for at := range m.Points {
			m.Points[at].Ring = false
		}
	} else if rings > 0 {
		m.Kinds = append(m.Kinds, page.LinkKind{Class: "ring", Name: "another true class than most of its cluster", Count: page.Count(rings)})
	}
	m.Kinds = append(m.Kinds, b.fades(m.Points)...)
	if drawn := len(m.Points); drawn < len(b.whole.Labels) {
		m.Note = fmt.Sprintf("Drawn: %s of %s, an even sample of each cluster.", page.Count(drawn), b.counted(len(b.whole.Labels))) + m.Note
	}
	if drawn := len(pairs); drawn < len(b.pairs) {
		m.Note += fmt.Sprintf(" Drawn: %s of %s constraints.", page.Count(drawn), page.Count(len(b.pairs)))
	}
	return m
}

// choosePoints adds the points to be drawn in an order in which no cluster covers the others, and says where each is in the
// list.
func (b *pageBuilder) choosePoints(m *page.Map, xy [][2]float64, pairs []constraint.Pair) map[int32]int {
	var chosen []int32
	for _, p := range pairs {
		chosen = append(chosen, p.I, p.J)
	}
	chosen = append(chosen, profile.Sample(b.Labels, b.k, maxDrawnPoints-len(chosen))...)
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	slices.SortFunc(chosen, func(i, j int32) int { return cmp.Or(cmp.Compare(scattered(i), scattered(j)), cmp.Compare(i, j)) })
	common := b.commonClasses()
	place := make(map[int32]int, len(chosen))
	for at, i := range chosen {
		place[i] = at
		label := b.Labels[i]
		p := page.Point{X: xy[i][0], Y: xy[i][1], Cluster: int(label), Fade: b.fade(i), Title: fmt.Sprintf("%s, %s", b.inSentence(i), b.clusterWords(int(label)))}
		if common != nil {
			class := b.class(i)
			p.Ring = class != common[label]
			p.Title += ", true class " + page.Isolated(page.Short(class, maxName))
		}
		if b.hasConfidence() {
			p.Title += ", confidence " + confidenceText(b.Rows.Confidence[i])
		}
		m.Points = append(m.Points, p)
	}
	return place
}

// scattered is a key that has nothing to do with the order of rows, the finalizer of splitmix64.
func scattered(i int32) uint64 {
	z := uint64(i) + 0x9E3779B97F4A7C15
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}

// addEdges adds the edges between points that are drawn, or an even sample of them.
func (b *pageBuilder) addEdges(m *page.Map, graph *dataset.Graph, place map[int32]int) {
	var links []page.Link
	for i := range int32(graph.N) {
		neighbors, _ := graph.Row(int(i))
		for _, j := range neighbors {
			if j > i {
				links = append(links, page.Link{From: place[i], To: place[j], Kind: "edge"})
			}
		}
	}
	drawn := evenly(links, maxDrawnEdges)
	if len(drawn) > 1000 {
		for at := range drawn {
			drawn[at].Kind = "edge many"
		}
	}
	m.Links = append(m.Links, drawn...)
	m.Kinds = append(m.Kinds, page.LinkKind{Class: "edge", Name: "edge", Count: page.Count(len(links))})
	if len(drawn) < len(links) {
		m.Note += fmt.Sprintf(" Drawn: %s of %s edges.", page.Count(len(drawn)), page.Count(len(links)))
	}
}

// addLegend lists the clusters. The number of each is written at the member that is nearest to the middle of its drawn
// points, which may not be where their mean is.
func (b *pageBuilder) addLegend(m *page.Map) {
	type sum struct{ x, y, count float64 }
	sums := make([]sum, b.k)
	for _, p := range m.Points {
		s := &sums[p.Cluster]
		s.x, s.y, s.count = s.x+p.X, s.y+p.Y, s.count+1
	}
	middle, least := make([]page.Point, b.k), slices.Repeat([]float64{math.Inf(1)}, b.k)
	for _, p := range m.Points {
		s := sums[p.Cluster]
		if d := math.Hypot(p.X-s.x/s.count, p.Y-s.y/s.count); d < least[p.Cluster] {
			middle[p.Cluster], least[p.Cluster] = p, d
		}
	}
	m.Table = &page.Table{Caption: "Where the clusters are", Columns: []page.Column{{Name: "cluster"}, {Name: "size", Numbers: true}}}
	named := m.Axes[0] != ""
	if named {
		m.Table.Columns = append(m.Table.Columns, page.Column{Name: "middle, " + m.Axes[0], Numbers: true})
		if m.Axes[1] != "" {
			m.Table.Columns = append(m.Table.Columns, page.Column{Name: "middle, " + m.Axes[1], Numbers: true})
		}
	}
	for cluster, size := range b.sizesOf() {
		c := page.MapCluster{Cluster: cluster, Class: b.clusterClass(cluster), Size: page.Count(size), Placed: sums[cluster].count > 0, X: middle[cluster].X, Y: middle[cluster].Y}
		m.Clusters = append(m.Clusters, c)
		row := []page.Cell{b.ofCluster(cluster), page.Text(page.Count(size))}
		if named {
			row = append(row, page.Text(page.Number(sums[cluster].x/sums[cluster].count)))
			if m.Axes[1] != "" {
				row = append(row, page.Text(page.Number(sums[cluster].y/sums[cluster].count)))
			}
		}
		m.Table.Rows = append(m.Table.Rows, row)
	}
}

// splitPairs separates satisfied from violated constraints.
func (b *pageBuilder) splitPairs() (satisfied, violated []constraint.Pair) {
	for _, p := range b.pairs {
		if p.Violates(b.Labels) {
			violated = append(violated, p)
		} else {
			satisfied = append(satisfied, p)
		}
	}
	return satisfied, violated
}

// pairClass is how a constraint is drawn.
func pairClass(p constraint.Pair, labels []int32) string {
	class := "cannot"
	if p.Kind == constraint.MustLink {
		class = "must"
	}
	if p.Violates(labels) {
		class += " violated"
	}
	return class
}

// evenly is at most limit of a list, evenly spaced.
func evenly[T any](list []T, limit int) []T {
	if len(list) <= limit {
		return list
	}
	chosen := make([]T, limit)
	for at := range chosen {
		chosen[at] = list[int64(at)*int64(len(list))/int64(limit)]
	}
	return chosen
}

// columnName is the name of a column of the points.
func (b *pageBuilder) columnName(at int) string {
	if at < len(b.scene.Header) && strings.TrimSpace(b.scene.Header[at]) != "" {
		return b.scene.Header[at]
	}
	return fmt.Sprintf("x%d", at)
}

const (
	maxDiscs = 60
	maxLines = 400
)

// discMap draws a graph that is too large for its vertices: each cluster a disc on a circle, and the weight of the edges
// between them.
func (b *pageBuilder) discMap(graph *dataset.Graph) *page.Map {
	sizes := b.sizesOf()
	discs := make([]int, 0, b.k)
	for cluster, size := range sizes {
		if size > 0 {
			discs = append(discs, cluster)
		}
	}
	slices.SortStableFunc(discs, func(x, y int) int { return cmp.Compare(sizes[y], sizes[x]) })
	largest, total := sizes[discs[0]], len(discs)
	discs = discs[:min(len(discs), maxDiscs)]
	slices.Sort(discs)
	m := &page.Map{Text: "A disc is a cluster, its area the number of vertices; the width of a line is the weight of the edges between two clusters."}
	place := make([]int, b.k)
	for cluster := range place {
		place[cluster] = -1
	}
	biggest := min(60, 260*math.Sin(math.Pi/float64(max(3, len(discs)))))
	for at, cluster := range discs {
		sin, cos := math.Sincos(2*math.Pi*float64(at)/float64(len(discs)) + math.Pi/2)
		place[cluster] = at
		m.Points = append(m.Points, page.Point{
			X: -cos, Y: sin, Cluster: cluster, Radius: max(5, biggest*math.Sqrt(float64(sizes[cluster])/float64(largest))),
			Title: b.clusterWords(cluster) + ": " + b.counted(sizes[cluster]),
		})
	}
	between, inside, all := b.weights(graph)
	type linked struct {
		pair   [2]int32
		weight float64
	}
	var list []linked
	for pair, weight := range between {
		if place[pair[0]] >= 0 && place[pair[1]] >= 0 && weight > 0 {
			list = append(list, linked{pair, weight})
		}
	}
	slices.SortFunc(list, func(x, y linked) int {
		return cmp.Or(cmp.Compare(y.weight, x.weight), cmp.Compare(x.pair[0], y.pair[0]), cmp.Compare(x.pair[1], y.pair[1]))
	})
	for _, l := range list[:min(len(list), maxLines)] {
		m.Links = append(m.Links, page.Link{From: place[l.pair[0]], To: place[l.pair[1]], Kind: "edge", Width: l.weight / list[0].weight})
	}
	b.addLegend(m)
	if all > 0 {
		m.Text += fmt.Sprintf(" %s of the weight of all edges lies within clusters.", page.Percent(inside/all))
	}
	if len(discs) < total {
		m.Note = fmt.Sprintf("Drawn: the %d largest of %s clusters.", len(discs), page.Count(total))
	}
	if len(list) > maxLines {
		m.Note += fmt.Sprintf(" Drawn: the %d heaviest of %s lines.", maxLines, page.Count(len(list)))
	}
	return m
}

// weights sums up the absolute weights of edges between each two clusters, within clusters, and of all.
func (b *pageBuilder) weights(graph *dataset.Graph) (between map[[2]int32]float64, inside, all float64) {
	between = map[[2]int32]float64{}
	for i := range graph.N {
		neighbors, weights := graph.Row(i)
		for at, j := range neighbors {
			if int(j) <= i {
				continue
			}
			x, y := b.Labels[i], b.Labels[j]
			weight := math.Abs(weights[at])
			all += weight
			if x == y {
				inside += weight
			} else {
				between[[2]int32{min(x, y), max(x, y)}] += weight
			}
		}
	}
	return between, inside, all
}
