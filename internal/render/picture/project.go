package picture

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
)

const (
	maxPCARows       = 20000     // principal components of more rows are those of an even sample
	maxPCAValues     = 4_000_000 // a sample of wide rows has at most this many values,
	minPCARows       = 1000      // but at least this many rows
	maxDenseColumns  = 500       // with more columns the covariance matrix is not formed
	pcaProducts      = 360
	minVarianceShare = 1e-20 // a smaller share of the total variance counts as 0
)

// Project returns two coordinates for every point, and the names of the axes. For two columns they are the data itself;
// for more columns they are the first two principal components. For one column they are the value and an arbitrary
// number that spreads the points, whose axis has no name. With more than 20,000 rows (fewer if they are wide), the
// components come from an even sample, and all rows are projected onto them. Project also returns the coordinates of
// centers, which have the same columns as the points and may be nil.
func Project(points, centers *dataset.Points) (xy, centersXY [][2]float64, axes [2]string) {
	project, axes := projection(points)
	each := func(rows *dataset.Points) [][2]float64 {
		xy := make([][2]float64, rows.N)
		for i := range xy {
			xy[i] = project(rows.Row(i))
		}
		return xy
	}
	xy = each(points)
	if centers != nil {
		centersXY = each(centers)
	}
	if points.D == 1 {
		for i := range xy {
			// The fractional parts of multiples of the golden ratio are evenly spread over 0..1.
			_, xy[i][1] = math.Modf(float64(i) * (math.Phi - 1))
		}
	}
	return xy, centersXY, axes
}

// projection returns a function that maps a row to two coordinates, and the names of the axes. With one
// column the second coordinate is 0.5, the middle of the spread.
func projection(points *dataset.Points) (project func(row []float64) [2]float64, axes [2]string) {
	switch points.D {
	case 1:
		return func(row []float64) [2]float64 { return [2]float64{row[0], 0.5} }, [2]string{"x0", ""}
	case 2:
		return func(row []float64) [2]float64 { return [2]float64(row) }, [2]string{"x0", "x1"}
	}
	p := principalComponents(points)
	for c := range axes {
		axes[c] = fmt.Sprintf("principal component %d (%.1f%% of variance)", c+1, 100*p.shares[c])
	}
	centered := make([]float64, points.D)
	return func(row []float64) (xy [2]float64) {
		p.center(centered, row)
		for c, loading := range p.loadings {
			xy[c] = clampDrawn(elementary.Dot(loading, centered) / p.scale)
		}
		return xy
	}, axes
}

// components holds the first two principal components of points that were multiplied by scale.
type components struct {
	scale    float64      // a power of two
	mean     []float64    // of the scaled points
	loadings [2][]float64 // unit vectors; zero if there is no variance in that direction
	shares   [2]float64   // of the total variance
}

// center writes a row to another, scaled and relative to the mean.
func (p *components) center(to, row []float64) {
	for j, v := range row {
		to[j] = v*p.scale - p.mean[j]
	}
}

// safeScale returns the power of two that scales the largest value to about 1, so that squares neither
// overflow nor underflow. Multiplying by it is exact.
func safeScale(values []float64) float64 {
	largest := 0.0
	for _, v := range values {
		largest = math.Max(largest, math.Abs(v))
	}
	_, exponent := math.Frexp(largest)
	return math.Ldexp(1, -min(max(exponent, -1000), 1000))
}

// principalComponents returns the first two principal components of an even sample of the points. With few columns it
// solves the scatter matrix exactly; otherwise it only multiplies by it.
func principalComponents(points *dataset.Points) *components {
	d := points.D
	rows := choose.Even[int](points.N, min(maxPCARows, max(minPCARows, maxPCAValues/d)))
	p := &components{scale: safeScale(points.Values), mean: make([]float64, d)}
	for _, i := range rows {
		for j, v := range points.Row(i) {
			p.mean[j] += v * p.scale
		}
	}
	for j := range p.mean {
		p.mean[j] /= float64(len(rows))
	}
	centered := zeroVectors(len(rows), d)
	total := 0.0
	for at, i := range rows {
		p.center(centered[at], points.Row(i))
		total += elementary.Dot(centered[at], centered[at])
	}

	var values []float64
	var vectors [][]float64
	if d <= maxDenseColumns {
		all, whole := eigen.DenseEigenpairs(scatterMatrix(centered, d))
		values = all
		vectors = eigen.ColumnsOf(whole)
	} else {
		values, vectors = leadingEigenpairs(d, pcaProducts, scatter(centered))
	}
	for c := range p.loadings {
		p.loadings[c] = make([]float64, d)
		if !(values[c] > minVarianceShare*total) {
			continue // no variance in this direction: all points get the coordinate 0
		}
		addScaled(p.loadings[c], canonicalSign(vectors[c]), vectors[c])
		p.shares[c] = values[c] / total
	}
	return p
}

// scatterMatrix returns X'X.
func scatterMatrix(centered [][]float64, d int) *mat.SymDense {
	sums := mat.NewSymDense(d, nil)
	for _, row := range centered {
		sums.SymRankOne(sums, 1, mat.NewVecDense(d, row))
	}
	return sums
}

// scatter multiplies by X'X without forming it, one pass over the rows for all vectors.
func scatter(centered [][]float64) func(dst, src [][]float64) {
	return func(dst, src [][]float64) {
		for _, out := range dst {
			clear(out)
		}
		for _, row := range centered {
			for c, in := range src {
				addScaled(dst[c], elementary.Dot(row, in), row)
			}
		}
	}
}

const (
	maxSparseValues = 1_000_000 // principal components come from an even sample with about this many values
	minSparseRows   = 500
	sparseProducts  = 240
)

// ProjectSparse returns the first two principal components of every row, and the names of the axes. With many rows,
// the components come from an even sample. It never forms the centered rows, which would not be sparse: a product with
// them is one with the sparse rows minus one with their mean.
func ProjectSparse(points *dataset.SparsePoints) (xy [][2]float64, axes [2]string) {
	perRow := max(1, points.NonZeros()/max(1, points.N))
	p := &sparseRows{points: points,
		rows:  choose.Even[int](points.N, min(maxPCARows, max(minSparseRows, maxSparseValues/perRow))),
		scale: safeScale(points.Value)}
	p.center()
	// Use the eigenvectors of the rows' Gram matrix, which have an entry for each row, as there may be far more
	// columns.
	values, vectors := leadingEigenpairs(len(p.rows), sparseProducts, p.multiply)
	xy = make([][2]float64, points.N)
	for c := range axes {
		share := 0.0
		if values[c] > minVarianceShare*p.total {
			share = values[c] / p.total
			direction, offset := p.direction(vectors[c], 1/math.Sqrt(values[c]))
			sign := canonicalSign(direction)
			for i := range xy {
				xy[i][c] = clampDrawn(sign * (p.dot(i, direction) - offset) / p.scale)
			}
		}
		axes[c] = fmt.Sprintf("principal component %d (%.1f%% of variance)", c+1, 100*share)
	}
	return xy, axes
}

// sparseRows holds some rows of sparse points, multiplied by scale, and their mean.
type sparseRows struct {
	points *dataset.SparsePoints
	rows   []int     // those that the components come from
	scale  float64   // a power of two
	mean   []float64 // of the scaled rows
	total  float64   // the sum of the squared distances from the mean
}

// center computes the mean and the total. It takes the total as a difference of squares, because centered rows would
// not be sparse.
func (p *sparseRows) center() {
	p.mean = make([]float64, p.points.D)
	squares := 0.0
	for _, i := range p.rows {
		columns, values := p.points.Row(i)
		for at, j := range columns {
			v := values[at] * p.scale
			p.mean[j] += v / float64(len(p.rows))
			squares += v * v
		}
	}
	p.total = max(0, squares-float64(len(p.rows))*elementary.Dot(p.mean, p.mean))
}

// dot returns the product of a scaled row with a vector.
func (p *sparseRows) dot(i int, with []float64) float64 {
	columns, values := p.points.Row(i)
	sum := 0.0
	for at, j := range columns {
		sum += values[at] * p.scale * with[j]
	}
	return sum
}

// direction returns the sum of the centered rows, each times its weight and the factor, and the product of that sum
// with the mean.
func (p *sparseRows) direction(weights []float64, factor float64) (direction []float64, offset float64) {
	direction = make([]float64, p.points.D)
	all := 0.0
	for at, i := range p.rows {
		columns, values := p.points.Row(i)
		weight := weights[at] * factor
		all += weight
		for at, j := range columns {
			direction[j] += weight * (values[at] * p.scale)
		}
	}
	addScaled(direction, -all, p.mean)
	return direction, elementary.Dot(direction, p.mean)
}

// multiply sets dst to the Gram matrix of the centered rows times src.
func (p *sparseRows) multiply(dst, src [][]float64) {
	for c, in := range src {
		direction, offset := p.direction(in, 1)
		for at, i := range p.rows {
			dst[c][at] = p.dot(i, direction) - offset
		}
	}
}

const (
	maxLandmarks   = 1000 // points whose kernel matrix the components come from
	kernelProducts = 400
)

// ProjectKernel returns the first two kernel principal components of every point, and the names of the
// axes. The components come from at most 1,000 evenly spaced points, the landmarks; the other points are
// projected onto them by the Nystroem method, which is exact for the landmarks. A component without a
// positive eigenvalue is 0 for all points.
func ProjectKernel(k *dataset.Kernel) (xy [][2]float64, axes [2]string) {
	chosen := choose.Even[int](k.N, maxLandmarks)
	m := len(chosen)
	scale := safeScale(k.Values)

	// Centering in feature space: k(x,l) - mean_l k(x,l) - mean_x k(x,l) + mean of all.
	landmarks := zeroVectors(m, m)
	means := make([]float64, m)
	grand := 0.0
	for a, i := range chosen {
		for b, j := range chosen {
			landmarks[a][b] = k.Values[i*k.N+j] * scale
			means[a] += landmarks[a][b] / float64(m)
		}
		grand += means[a] / float64(m)
	}
	trace := 0.0
	for a, row := range landmarks {
		for b := range row {
			row[b] += grand - means[a] - means[b]
		}
		trace += row[a]
	}
	values, vectors := leadingEigenpairs(m, kernelProducts, func(dst, src [][]float64) {
		for a, row := range landmarks {
			for c, in := range src {
				dst[c][a] = elementary.Dot(row, in)
			}
		}
	})

	// The coordinate of x is sum_l u_l k(x,l) / sqrt(lambda), and sqrt(scale) undoes the scaling.
	var factors [2]float64
	for c := range factors {
		if values[c] > 1e-12*math.Abs(values[0]) {
			factors[c] = canonicalSign(vectors[c]) / (math.Sqrt(values[c]) * math.Sqrt(scale))
		}
	}
	xy = make([][2]float64, k.N)
	row := make([]float64, m)
	for i := range xy {
		mean := 0.0
		for b, j := range chosen {
			row[b] = k.Values[i*k.N+j] * scale
			mean += row[b] / float64(m)
		}
		for b := range row {
			row[b] += grand - mean - means[b]
		}
		for c, vector := range vectors {
			xy[i][c] = elementary.Dot(vector, row) * factors[c]
		}
	}
	for c := range axes {
		axes[c] = fmt.Sprintf("kernel component %d", c+1)
		if share := values[c] / trace; share > 0 && share <= 1 {
			axes[c] += fmt.Sprintf(" (%.1f%% of variance)", 100*share)
		}
	}
	return xy, axes
}

// operator multiplies by a symmetric matrix that is not formed; multiply sets dst = A src, vector by vector.
type operator struct {
	rows     int
	multiply func(dst, src [][]float64)
}

func (o operator) Rows() int { return o.rows }

func (o operator) Multiply(_ context.Context, columns [][]float64) ([][]float64, error) {
	products := zeroVectors(len(columns), o.rows)
	o.multiply(products, columns)
	return products, nil
}

// leadingEigenpairs finds the two algebraically largest eigenvalues of a symmetric operator, in descending order, and
// unit eigenvectors. It stops after so many products, which is accurate enough for a picture. Pairs beyond the size of
// the operator are zero. The start is fixed, so the same operator gives the same answer.
func leadingEigenpairs(n, products int, multiply func(dst, src [][]float64)) (values []float64, vectors [][]float64) {
	values = make([]float64, 2)
	vectors = zeroVectors(2, n)
	if n <= maxDenseColumns {
		products = max(products, 2*n) // lets the search give up early and solve the dense matrix
	}
	options := eigen.Options{Tolerance: 1e-7, MaxProducts: products}
	// Multiply does not fail, so neither does the search.
	found, err := eigen.Largest(context.Background(), operator{n, multiply}, min(2, n), rand.NewPCG(1, 2), options)
	if err == nil {
		copy(values, found.Values)
		copy(vectors, found.Vectors)
	}
	return values, vectors
}

func zeroVectors(count, n int) [][]float64 {
	vectors := make([][]float64, count)
	for c := range vectors {
		vectors[c] = make([]float64, n)
	}
	return vectors
}

func norm(v []float64) float64 { return math.Sqrt(elementary.Dot(v, v)) }

func addScaled(to []float64, by float64, v []float64) {
	for i, x := range v {
		to[i] += by * x
	}
}

// canonicalSign returns the sign by which to multiply an eigenvector, so that its largest entry is positive; of
// entries that are equally large but for rounding, the first.
func canonicalSign(v []float64) float64 {
	largest := 0.0
	for _, x := range v {
		largest = math.Max(largest, math.Abs(x))
	}
	for _, x := range v {
		if math.Abs(x) >= largest*(1-1e-6) {
			return math.Copysign(1, x)
		}
	}
	return 1
}
