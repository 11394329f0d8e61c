package spectral

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
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
		x, v, q := noise(n, rng), noise(n, rng), noise(n, rng)
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

		to, other := slices.Clone(x), slices.Clone(x)
		mixColumn(to, v, factors[0])
		mixColumnPortable(other, v, factors[0])
		sameBits(t, "mix", to, other)

		mixColumns4(to, y[0], y[1], y[2], y[3], &factors)
		mixColumns4Portable(other, y[0], y[1], y[2], y[3], &factors)
		sameBits(t, "mix four", to, other)

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
		mixed, single := slices.Clone(x), slices.Clone(x)
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
		v, q := noise(n, rng), noise(n, rng)
		row, naive := slices.Clone(x), slices.Clone(x)
		product := update(row, v, q, y[0], factors[0], factors[1])
		for i := range naive {
			naive[i] += float64(factors[0]*v[i]) + float64(factors[1]*q[i])
		}
		sameBits(t, "update", append(row, product), append(naive, plainDot(naive, y[0])))
	}
}
