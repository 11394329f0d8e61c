package profile

import (
	"cmp"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// SparseTraits returns at most limit columns of each cluster that are higher than in all other rows, the largest
// difference first. Absent values are 0, so a column that is lower than elsewhere mostly tells about other clusters
// and is left out.
func SparseTraits(points *dataset.SparsePoints, labels []int32, k, limit int) [][]Trait {
	byCluster := make([][]int32, k)
	for i, label := range labels {
		byCluster[label] = append(byCluster[label], int32(i))
	}
	whole := make([]total, points.D)
	scratch := make([]moments, points.D)
	for cluster, rows := range byCluster {
		eachColumn(points, rows, scratch, func(j int32, inside moments) { whole[j].add(cluster, inside) })
	}
	traits := make([][]Trait, k)
	for cluster, rows := range byCluster {
		others := points.N - len(rows)
		eachColumn(points, rows, scratch, func(j int32, inside moments) {
			outside := whole[j].without(cluster, inside)
			t := Trait{Column: int(j), Inside: inside.summary(len(rows)), Outside: outside.summary(others)}
			t.Difference = difference(inside.over(len(rows)), outside.over(others))
			if others > 0 && t.Difference > 0 {
				traits[cluster] = append(traits[cluster], t)
			}
		})
		slices.SortFunc(traits[cluster], func(a, b Trait) int {
			return cmp.Or(cmp.Compare(b.Difference, a.Difference), cmp.Compare(a.Column, b.Column))
		})
		traits[cluster] = slices.Clone(traits[cluster][:min(limit, len(traits[cluster]))])
	}
	return traits
}

// eachColumn calls visit with each column that has entries in some rows, and with the moments of those. scratch has
// zeros for all columns, before and after the call.
func eachColumn(points *dataset.SparsePoints, rows []int32, scratch []moments, visit func(j int32, inside moments)) {
	var touched []int32
	for _, i := range rows {
		columns, values := points.Row(int(i))
		for at, j := range columns {
			if scratch[j].count == 0 {
				touched = append(touched, j)
			}
			scratch[j].add(values[at])
		}
	}
	for _, j := range touched {
		visit(j, scratch[j])
		scratch[j] = moments{}
	}
}

// over counts the moments of the entries of a column as those of so many rows: rows without an entry are 0.
func (m moments) over(rows int) moments { return moments{rows, m.sum, m.squares} }

// summary describes the entries of a column in so many rows.
func (m moments) summary(rows int) Summary {
	return Summary{Count: rows, Mean: m.sum / float64(max(1, rows)), Present: float64(m.count) / float64(max(1, rows))}
}

// Directions scales sparse rows to length 1; an all-zero row stays as it is.
func Directions(points *dataset.SparsePoints) *dataset.SparsePoints {
	scaled := *points
	scaled.Value = slices.Clone(points.Value)
	for i := range points.N {
		_, values := scaled.Row(i)
		if length := math.Sqrt(sumOfSquares(values)); length > 0 && !math.IsInf(length, 0) {
			for at := range values {
				values[at] /= length
			}
		}
	}
	return &scaled
}

func sumOfSquares(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += float64(v * v)
	}
	return sum
}

// SparsePlaces is Places for sparse points.
func SparsePlaces(points *dataset.SparsePoints, labels []int32, k int, rows []int32) []Place {
	means := make([]float64, k*points.D)
	sizes := make([]int, k)
	squares := make([]float64, k)
	for i, label := range labels {
		sizes[label]++
		columns, values := points.Row(i)
		for at, j := range columns {
			means[int(label)*points.D+int(j)] += values[at]
		}
	}
	for cluster, size := range sizes {
		mean := means[cluster*points.D : (cluster+1)*points.D]
		for j := range mean {
			mean[j] /= float64(max(1, size))
		}
		squares[cluster] = sumOfSquares(mean)
	}
	return nearest(labels, sizes, rows, func(i int32, to []float64) {
		columns, values := points.Row(int(i))
		own := sumOfSquares(values)
		for cluster := range to {
			product := 0.0
			for at, j := range columns {
				product += float64(values[at] * means[cluster*points.D+int(j)])
			}
			to[cluster] = math.Sqrt(max(0, own-2*product+squares[cluster]))
		}
	})
}

// SparseEuclidean is Euclidean for sparse points.
func SparseEuclidean(points *dataset.SparsePoints) func(i, j int32) float64 {
	return func(i, j int32) float64 {
		columns, values := points.Row(int(i))
		others, theirs := points.Row(int(j))
		sum, a, b := 0.0, 0, 0
		for a < len(columns) || b < len(others) {
			switch {
			case b == len(others) || a < len(columns) && columns[a] < others[b]:
				sum += float64(values[a] * values[a])
				a++
			case a == len(columns) || others[b] < columns[a]:
				sum += float64(theirs[b] * theirs[b])
				b++
			default:
				sum += float64((values[a] - theirs[b]) * (values[a] - theirs[b]))
				a++
				b++
			}
		}
		return math.Sqrt(sum)
	}
}
