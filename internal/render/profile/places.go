package profile

import (
	"cmp"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// Place tells where a row lies among the clusters. The meaning of a distance depends on the data.
type Place struct {
	Row      int32   // its number among the points
	Own      float64 // distance to the cluster that it is in
	Next     int32   // the nearest other cluster; -1 if there is none
	Distance float64 // to that
}

// Margin returns how clearly a row belongs to its cluster: 1 in its middle, 0 halfway to the next cluster, negative if
// nearer to the next.
func (p Place) Margin() float64 {
	if p.Next < 0 {
		return 1
	}
	if largest := max(p.Own, p.Distance); largest > 0 {
		return (p.Distance - p.Own) / largest
	}
	return 0
}

// Means returns the mean of the rows of each cluster, one after the other, and their numbers. That of an empty cluster
// is 0.
func Means(points *dataset.Points, labels []int32, k int) (means []float64, sizes []int) {
	means = make([]float64, k*points.D)
	sizes = make([]int, k)
	for i, label := range labels {
		sizes[label]++
		mean := means[int(label)*points.D:]
		for j, v := range points.Row(i) {
			mean[j] += v
		}
	}
	for cluster, size := range sizes {
		for j := range points.D {
			means[cluster*points.D+j] /= float64(max(1, size))
		}
	}
	return means, sizes
}

// Places returns the places of some rows, by their distances to the means of all rows of the clusters.
func Places(points *dataset.Points, labels []int32, k int, rows []int32) []Place {
	means, sizes := Means(points, labels, k)
	return nearest(labels, sizes, rows, func(i int32, to []float64) {
		for cluster := range to {
			to[cluster] = math.Sqrt(metric.SquaredDistance(points.Row(int(i)),
				means[cluster*points.D:(cluster+1)*points.D]))
		}
	})
}

// KernelPlaces returns the places of some rows, by distances to the means of clusters in the space of a kernel.
func KernelPlaces(kernel *dataset.Kernel, labels []int32, k int, rows []int32) []Place {
	sizes := make([]int, k)
	within := make([]float64, k) // within: the sum over all pairs of a cluster
	for i, label := range labels {
		sizes[label]++
		for j, v := range kernel.Row(i) {
			if labels[j] == label {
				within[label] += v
			}
		}
	}
	return nearest(labels, sizes, rows, func(i int32, to []float64) {
		clear(to)
		row := kernel.Row(int(i))
		for j, v := range row {
			to[labels[j]] += v
		}
		for cluster, sum := range to {
			size := float64(max(1, sizes[cluster]))
			to[cluster] = math.Sqrt(max(0, row[i]-2*sum/size+within[cluster]/(size*size)))
		}
	})
}

// GraphPlaces returns the places of some vertices: the distance to a cluster is the share of the weight of their edges
// that does not lead there. A vertex without edges to others is at distance 1 from all.
func GraphPlaces(graph *dataset.Graph, labels []int32, k int, rows []int32) []Place {
	sizes := make([]int, k)
	for _, label := range labels {
		sizes[label]++
	}
	return nearest(labels, sizes, rows, func(i int32, to []float64) {
		clear(to)
		total := 0.0
		neighbors, weights := graph.Row(int(i))
		for at, j := range neighbors {
			if j != i {
				to[labels[j]] += math.Abs(weights[at])
				total += math.Abs(weights[at])
			}
		}
		for cluster := range to {
			if total > 0 {
				to[cluster] /= total
			}
			to[cluster] = 1 - to[cluster]
		}
	})
}

// nearest computes places from the distances of each row to all clusters; it skips empty clusters.
func nearest(labels []int32, sizes []int, rows []int32, distances func(i int32, to []float64)) []Place {
	places := make([]Place, len(rows))
	to := make([]float64, len(sizes))
	for at, i := range rows {
		distances(i, to)
		p := Place{Row: i, Own: to[labels[i]], Next: -1}
		for cluster, distance := range to {
			if sizes[cluster] > 0 && int32(cluster) != labels[i] && (p.Next < 0 || distance < p.Distance) {
				p.Next, p.Distance = int32(cluster), distance
			}
		}
		places[at] = p
	}
	return places
}

// Typical returns at most limit rows of each cluster, the nearest to its middle first.
func Typical(places []Place, labels []int32, k, limit int) [][]Place {
	ordered := slices.Clone(places)
	slices.SortFunc(ordered, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Own, b.Own), cmp.Compare(a.Row, b.Row))
	})
	typical := make([][]Place, k)
	for _, p := range ordered {
		if list := &typical[labels[p.Row]]; len(*list) < limit {
			*list = append(*list, p)
		}
	}
	return typical
}

// Borderline returns at most limit places, the smallest margin first.
func Borderline(places []Place, limit int) []Place {
	ordered := slices.DeleteFunc(slices.Clone(places), func(p Place) bool { return p.Next < 0 })
	slices.SortFunc(ordered, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Margin(), b.Margin()), cmp.Compare(a.Row, b.Row))
	})
	return ordered[:min(limit, len(ordered))]
}
