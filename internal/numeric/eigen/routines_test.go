package eigen

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/partition"
)

// noise draws values of many magnitudes, zeros, and numbers for which a fused operation would have another result.
func noise(n int, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Ldexp(rng.NormFloat64(), rng.IntN(40)-20)
		if rng.IntN(10) == 0 {
			x[i] = 0
		}
	}
	return x
}

func sameBits(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if i := firstDifference(got, want); i >= 0 {
		t.Fatalf("%s: entry %d is %x, the portable code has %x", what, i, got[i], want[i])
	}
}

func firstDifference(got, want []float64) int {
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			return i
		}
	}
	return -1
}

func TestVectorCodeHasTheBitsOfThePortableCode(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for _, n := range []int{8, 16, 24, 64, 1000} {
		x := noise(n, rng)
		v := noise(n, rng)
		q := noise(n, rng)
		var y [groupColumns][]float64
		for c := range y {
			y[c] = noise(n, rng)
		}
		factors := [groupColumns]float64(noise(groupColumns, rng))
		two := [2]float64(noise(2, rng))

		var got, want [lanes]float64
		dotLanes(&got, x, v)
		dotLanesPortable(&want, x, v)
		sameBits(t, "dot", got[:], want[:])

		var got4, want4 [groupColumns * lanes]float64
		dotLanes4(&got4, x, y[0], y[1], y[2], y[3])
		dotLanes4Portable(&want4, x, y[0], y[1], y[2], y[3])
		sameBits(t, "four dots", got4[:], want4[:])

		to := slices.Clone(x)
		other := slices.Clone(x)
		mixColumn(to, v, factors[0])
		mixColumnPortable(other, v, factors[0])
		sameBits(t, "mix", to, other)

		mixColumns4(to, y[0], y[1], y[2], y[3], &factors)
		mixColumns4Portable(other, y[0], y[1], y[2], y[3], &factors)
		sameBits(t, "mix four", to, other)

		left := [groupColumns][]float64{x, v, q, noise(n, rng)}
		var gotBlock, wantBlock [groupColumns * groupColumns * lanes]float64
		dotBlock(&gotBlock, &left, &y)
		dotBlockByColumns(&wantBlock, &left, &y)
		sameBits(t, "block of dots", gotBlock[:], wantBlock[:])
		byColumns := [groupColumns][]float64(cloneColumns(left[:]))
		mixed := [groupColumns][]float64(cloneColumns(left[:]))
		block := [groupColumns * groupColumns]float64(noise(groupColumns*groupColumns, rng))
		mixBlock(&mixed, &y, &block)
		mixBlockByColumns(&byColumns, &y, &block)
		for c := range mixed {
			sameBits(t, "block of mixtures", mixed[c], byColumns[c])
		}

		z := [groupColumns][]float64(cloneColumns(y[:]))
		spreadColumn4(z[0], z[1], z[2], z[3], x, &factors)
		spreadColumn4Portable(y[0], y[1], y[2], y[3], x, &factors)
		for c := range y {
			sameBits(t, "spread", z[c], y[c])
		}

		got, want = [lanes]float64{}, [lanes]float64{}
		updateLanes(&got, to, v, q, x, &two)
		updateLanesPortable(&want, other, v, q, x, &two)
		sameBits(t, "update", to, other)
		sameBits(t, "product of an update", got[:], want[:])
	}
	for _, rotations := range []int{0, 1, 2, 9} {
		rows := noise(12*stripColumns, rng)
		other := slices.Clone(rows)
		by := noise(2*rotations, rng)
		rotateRows(rows, 10, by)
		rotateRowsPortable(other, 10, by)
		sameBits(t, fmt.Sprintf("%d rotations", rotations), rows, other)
	}
}

// Columns are taken four by four, and what is left one by one.

// Products of sparse rows have the bits of a plain sum in the order of the entries, for any number of columns and
// entries, also where a row takes several calls of assembly.
func TestSparseProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for _, size := range []struct{ rows, most int }{{1, 3}, {7, 0}, {200, 9}, {130, 400}, {3, 3 * entriesPerCall}} {
		m := &Sparse{Begin: []int{0}}
		for range size.rows {
			for range rng.IntN(size.most + 1) {
				m.Column = append(m.Column, int32(rng.IntN(size.rows)))
			}
			m.Begin = append(m.Begin, len(m.Column))
		}
		m.Value = noise(len(m.Column), rng)
		for count := 1; count <= together; count++ {
			x := make([][]float64, count)
			y := Columns(size.rows, count)
			for c := range x {
				x[c] = noise(size.rows, rng)
			}
			m.setProducts(y, x)
			for c := range x {
				want := make([]float64, size.rows)
				for i := range want {
					for at := m.Begin[i]; at < m.Begin[i+1]; at++ {
						want[i] += float64(m.Value[at] * x[c][m.Column[at]])
					}
				}
				sameBits(t, fmt.Sprintf("product %d of %d with %d rows", c, count, size.rows), y[c], want)
			}
		}
		got := noise(together*size.rows, rng)
		want := slices.Clone(got)
		products := noise(len(got), rng)
		own := noise(len(got), rng)
		factors := [3]float64(noise(3, rng))
		combineRows(got, products, own, &factors)
		combineRowsPortable(want, products, own, &factors)
		sameBits(t, "combination", got, want)
	}
}

func TestBlocksOfAnySizeAndLength(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 9))
	for size := range 160 {
		n, most, count := 1+size%39, 1+size/13, 1+size%11
		rows := partition.Range{From: size % 3, To: size%3 + n}
		draw := func(count int) [][]float64 {
			some := make([][]float64, count)
			for c := range some {
				some[c] = noise(rows.To+2, rng)
			}
			return some
		}
		x := draw(most)
		y := draw(count)
		products := Columns(count, most)
		factors := mat.NewDense(most, count, nil)
		dots(x, y, rows, products)
		for i := range most {
			factors.SetRow(i, noise(count, rng))
		}
		to := make([][]float64, count)
		for j := range to {
			to[j] = noise(n, rng)
		}
		naive := cloneColumns(to)
		addCombinations(to, x, rows, factors)
		for j := range naive {
			for i := range x {
				sameBits(t, "product", products[i][j:j+1],
					[]float64{plainDot(x[i][rows.From:rows.To], y[j][rows.From:rows.To])})
				for row := range naive[j] {
					naive[j][row] += float64(factors.At(i, j) * x[i][rows.From+row])
				}
			}
			sameBits(t, "combination", to[j], naive[j])
		}
	}
}

// Sums depend neither on the other columns that a vector is multiplied together with, nor on what is beyond its end.
func TestProductsOfAnyLength(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 9))
	for n := range 40 {
		x := noise(n, rng)
		var y [groupColumns][]float64
		for c := range y {
			y[c] = noise(n, rng)
		}
		together := plainDots(x, &y)
		for c := range y {
			var sums [lanes]float64
			for i := range x {
				sums[i%lanes] += float64(x[i] * y[c][i])
			}
			want := folded(sums[:], nil, nil)
			sameBits(t, "dots", []float64{together[c], plainDot(x, y[c])}, []float64{want, want})
		}
		factors := [groupColumns]float64(noise(groupColumns, rng))
		mixed := slices.Clone(x)
		single := slices.Clone(x)
		addMultiples(mixed, &y, &factors)
		for c := range y {
			subtractMultiple(single, y[c], -factors[c])
		}
		sameBits(t, "multiples", mixed, single)
		spread := [groupColumns][]float64(cloneColumns(y[:]))
		addTo(&spread, x, &factors)
		for c := range y {
			subtractMultiple(y[c], x, -factors[c])
			sameBits(t, "added to", spread[c], y[c])
		}
		v := noise(n, rng)
		q := noise(n, rng)
		row := slices.Clone(x)
		naive := slices.Clone(x)
		product := update(row, v, q, y[0], factors[0], factors[1])
		for i := range naive {
			naive[i] += float64(factors[0]*v[i]) + float64(factors[1]*q[i])
		}
		sameBits(t, "update", append(row, product), append(naive, plainDot(naive, y[0])))
	}
}
