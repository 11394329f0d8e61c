package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/render/page"
)

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
