package krange

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

const (
	// maxSilhouettes is the maximum number of rows whose silhouettes are computed, from distances among them.
	maxSilhouettes = 4096
	// There are fewer if rows are long, so that a k takes a fraction of a second.
	minSilhouettes      = 512
	maxSilhouetteValues = 1 << 28
)

// silhouette returns the mean silhouette of the labels in the space that was clustered.
func (r *run) silhouette(ctx context.Context, result *clustering.Result, k int) (*float64, error) {
	distances, width, err := r.distances(result)
	if err != nil {
		return nil, err
	}
	n := len(result.Labels)
	affordable := int(math.Sqrt(maxSilhouetteValues / float64(max(1, width))))
	rows := choose.Even[int32](n, max(minSilhouettes, min(maxSilhouettes, affordable)))
	mean, err := silhouetteOf(ctx, rows, result.Labels, k, distances, r.threads)
	if err != nil {
		return nil, err
	}
	return &mean, nil
}

// silhouetteOf returns the mean of evaluate.Silhouette over some rows. Rows with labels below 0 are ignored. All
// distances of a row are requested together.
func silhouetteOf(ctx context.Context, rows, labels []int32, k int, distances Distances, threads int) (float64, error) {
	var kept []int32
	sizes := make([]int, k)
	for _, i := range rows {
		if c := labels[i]; c >= 0 {
			kept = append(kept, i)
			sizes[c]++
		}
	}
	values := make([]float64, len(kept))
	const block = 64 // rows at a time
	blocks := (len(kept) + block - 1) / block
	err := parallel.Run(ctx, threads, blocks, func(b int) error {
		out := make([]float64, len(kept))
		sums := make([]float64, k)
		for at := b * block; at < min(len(kept), (b+1)*block); at++ {
			distances(kept[at], kept, out)
			clear(sums)
			for place, j := range kept {
				sums[labels[j]] += out[place]
			}
			values[at] = evaluate.Silhouette(int(labels[kept[at]]), sums, sizes)
		}
		return ctx.Err()
	})
	if err != nil || len(kept) == 0 {
		return 0, err
	}
	return partition.SumByTile(len(kept), func(at int) float64 { return values[at] }) / float64(len(kept)), nil
}

// Distances stores the distances of row i from other rows in out.
type Distances func(i int32, to []int32, out []float64)

// distances returns the distances in the space that a result was found in, and the number of values per row.
func (r *run) distances(result *clustering.Result) (Distances, int, error) {
	if e := result.Spectral.Embedding; e != nil {
		return euclidean(&dataset.Points{N: e.Rows, D: e.Columns, Values: e.Values}), e.Columns, nil
	}
	data, err := result.Units.Apply(r.data)
	if err != nil {
		return nil, 0, err
	}
	cosines := result.Model != nil && result.Model.Distortion == metric.Cosine
	switch data := data.(type) {
	case *dataset.Points:
		switch {
		case cosines:
			return byProducts(data.N, densely(data, nil), cosine), data.D, nil
		case result.Kernel.Matrix != nil:
			matrix := result.Kernel.Matrix
			return byProducts(data.N, densely(data, matrix.Mean), kernelDistance(matrix)), data.D, nil
		}
		return euclidean(data), data.D, nil
	case *dataset.SparsePoints:
		width := data.NonZeros() / max(1, data.N)
		switch {
		case result.Kernel.Matrix != nil:
			return byProducts(data.N, sparsely(data), kernelDistance(result.Kernel.Matrix)), width, nil
		case cosines || result.Auto.Choice != nil: // auto compares sparse points by cosines
			return byProducts(data.N, sparsely(data), cosine), width, nil
		}
		return byProducts(data.N, sparsely(data), straight), width, nil
	case *dataset.Kernel:
		return byEntries(data), 1, nil
	}
	return nil, 0, nil
}

func euclidean(p *dataset.Points) Distances {
	return func(i int32, to []int32, out []float64) {
		row := p.Row(int(i))
		for at, j := range to {
			out[at] = math.Sqrt(metric.SquaredDistance(row, p.Row(int(j))))
		}
	}
}

func byEntries(data *dataset.Kernel) Distances {
	return func(i int32, to []int32, out []float64) {
		row := data.Row(int(i))
		for at, j := range to {
			out[at] = math.Sqrt(max(0, row[i]+data.Row(int(j))[j]-2*row[j]))
		}
	}
}

// byProducts derives the distances of n rows from their inner products, which of computes.
func byProducts(n int, of Distances, distance func(product, own, other float64) float64) Distances {
	norms := make([]float64, n)
	for i := range int32(n) {
		of(i, []int32{i}, norms[i:i+1])
	}
	return func(i int32, to []int32, out []float64) {
		of(i, to, out)
		for at, j := range to {
			out[at] = distance(out[at], norms[i], norms[j])
		}
	}
}

func cosine(product, own, other float64) float64 {
	if scale := math.Sqrt(own) * math.Sqrt(other); scale > 0 {
		return max(0, 1-product/scale)
	}
	return 1
}

func straight(product, own, other float64) float64 { return math.Sqrt(max(0, own+other-2*product)) }

func kernelDistance(m *kernel.MatrixSpec) func(product, own, other float64) float64 {
	return func(product, own, other float64) float64 {
		return math.Sqrt(max(0, m.Value(own, own, own)+m.Value(other, other, other)-2*m.Value(product, own, other)))
	}
}

// densely returns the inner products of dense rows less their mean, if there is one, added up in the order of the
// columns.
func densely(p *dataset.Points, mean []float64) Distances {
	if mean == nil {
		mean = make([]float64, p.D)
	}
	return func(i int32, to []int32, out []float64) {
		row := p.Row(int(i))
		for at, j := range to {
			sum := 0.0
			for f, v := range p.Row(int(j)) {
				sum += float64((row[f] - mean[f]) * (v - mean[f]))
			}
			out[at] = sum
		}
	}
}

// sparsely returns the inner products of sparse rows.
func sparsely(p *dataset.SparsePoints) Distances {
	return func(i int32, to []int32, out []float64) {
		for at, j := range to {
			out[at] = p.Dot(int(i), int(j))
		}
	}
}

// Modularity returns the share of the weight of a graph that is within clusters, beyond what chance would give (Newman
// and Girvan 2004):
//
//	sum_c (w_c / W - (d_c / W)^2)
//
// where w_c is the weight within a cluster in both directions, d_c is the sum of the degrees of its vertices and W that
// of all degrees. It returns 0 if W is not positive.
func Modularity(g *dataset.Graph, labels []int32, k int) float64 {
	value := modularity(g, labels, k, 1)
	if math.IsNaN(value) { // sums overflowed, so all weights are taken times a power of two
		value = modularity(g, labels, k, 0x1p-64)
	}
	return value
}

// modularity returns the modularity of the graph whose weights are multiplied by unit, NaN if their sum overflows.
func modularity(g *dataset.Graph, labels []int32, k int, unit float64) float64 {
	within := make([]float64, k)
	degrees := make([]float64, k)
	total := 0.0
	for i, c := range labels {
		neighbors, weights := g.Row(i)
		for at, j := range neighbors {
			weight := float64(weights[at] * unit)
			total += weight
			if c < 0 {
				continue
			}
			degrees[c] += weight
			if labels[j] == c {
				within[c] += weight
			}
		}
	}
	switch {
	case math.IsInf(total, 1):
		return math.NaN()
	case !(total > 0):
		return 0
	}
	sum := 0.0
	for c := range k {
		share := degrees[c] / total
		sum += within[c]/total - float64(share*share)
	}
	return sum
}
