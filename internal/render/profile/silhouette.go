package profile

import (
	"math"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// Silhouettes returns the silhouettes of some rows among these rows. Clusters without any of them take no memory.
func Silhouettes(distance func(i, j int32) float64, labels []int32, rows []int32) []float64 {
	clusters := evaluate.Ranks(choose.At(labels, rows)) // of the rows, by their places
	var sizes []int
	for _, cluster := range clusters {
		sizes = append(sizes, make([]int, max(0, int(cluster)+1-len(sizes)))...)
		sizes[cluster]++
	}
	k := len(sizes)
	sums := make([]float64, len(rows)*k) // of the distances of each row to those of each cluster
	for a, i := range rows {
		for b := range a {
			d := distance(i, rows[b])
			sums[a*k+int(clusters[b])] += d
			sums[b*k+int(clusters[a])] += d
		}
	}
	silhouettes := make([]float64, len(rows))
	for at, cluster := range clusters {
		silhouettes[at] = evaluate.Silhouette(int(cluster), sums[at*k:(at+1)*k], sizes)
	}
	return silhouettes
}

// Euclidean returns the distance function of rows.
func Euclidean(points *dataset.Points) func(i, j int32) float64 {
	return func(i, j int32) float64 {
		return math.Sqrt(metric.SquaredDistance(points.Row(int(i)), points.Row(int(j))))
	}
}

// InKernel returns the distance function of rows in the space of a kernel.
func InKernel(kernel *dataset.Kernel) func(i, j int32) float64 {
	return func(i, j int32) float64 {
		row := kernel.Row(int(i))
		return math.Sqrt(max(0, row[i]-2*row[j]+kernel.Row(int(j))[j]))
	}
}

// Sample returns at most limit of the rows 0..n-1, ascending, the same at every call: an even sample of the rows
// sorted by cluster, so that it has about the same shares of clusters, and one of every cluster while the limit
// allows.
func Sample(labels []int32, k, limit int) []int32 {
	n := len(labels)
	chosen := make([]bool, n)
	if n > limit {
		start := make([]int, k+1)
		for _, label := range labels {
			start[label+1]++
		}
		for cluster := range k {
			start[cluster+1] += start[cluster]
		}
		byCluster := make([]int32, n)
		next := append([]int(nil), start...)
		for i, label := range labels {
			byCluster[next[label]] = int32(i)
			next[label]++
		}
		left := limit
		for cluster := range k {
			if left > 0 && start[cluster] < start[cluster+1] {
				chosen[byCluster[start[cluster]]] = true
				left--
			}
		}
		rest := byCluster[:0]
		for _, i := range byCluster {
			if !chosen[i] {
				rest = append(rest, i)
			}
		}
		for at := range left {
			chosen[rest[int(int64(at)*int64(len(rest))/int64(left))]] = true
		}
	}
	var rows []int32
	for i, yes := range chosen {
		if yes || n <= limit {
			rows = append(rows, int32(i))
		}
	}
	return rows
}
