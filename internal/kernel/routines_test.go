package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every implementation has the bits of the portable one, with random values, odd sizes that are padded, and
// unaligned slices.
func TestRoutinesAgreeBitForBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	reference := portable()
	for _, other := range availableRoutines()[1:] {
		t.Run(other.name, func(t *testing.T) {
			for range 300 {
				offset := rng.IntN(4)
				rows := padded(1 + rng.IntN(200))
				grid := GridFor(1 << 12)
				floats := func(scale float64) []float64 {
					v := make([]float64, rows+offset)
					for i := range v {
						v[i] = grid.Round(scale * rng.NormFloat64())
					}
					return v[offset:]
				}
				p := &pass{values: make([]float32, columnsPerPass*rows+offset), count: 1 + rng.IntN(columnsPerPass)}
				for i := range p.values {
					p.values[i] = float32(grid.Round(float64(float32(rng.NormFloat64()))))
				}
				for i := range p.count {
					p.columns[i] = offset + rng.IntN(columnsPerPass)*rows
				}
				a := floats(10)
				b := floats(10)
				a2 := append([]float64(nil), a...)
				b2 := append([]float64(nil), b...)
				reference.addColumns(a, p)
				other.addColumns(a2, p)
				same(t, "addColumns", a, a2)
				reference.subtractColumns(b, p)
				other.subtractColumns(b2, p)
				same(t, "subtractColumns", b, b2)
				reference.moveColumns(a, b, p)
				other.moveColumns(a2, b2, p)
				same(t, "moveColumns from", a, a2)
				same(t, "moveColumns to", b, b2)

				some := rng.IntN(rows + 1)
				nearest := floats(1)
				weights := floats(1)
				if rng.IntN(2) == 0 {
					b[rng.IntN(rows)], nearest[rng.IntN(rows)] = math.NaN(), math.Inf(1)
				}
				nearest2 := slices.Clone(nearest)
				reference.distances(nearest[:some], b, weights, 0.7, 1.3)
				other.distances(nearest2[:some], b, weights, 0.7, 1.3)
				same(t, "distances", nearest, nearest2)

				products := floats(3)
				norms := floats(9)
				if rng.IntN(4) == 0 {
					products[rng.IntN(rows)] = -1e6 // far below the smallest float32
				}
				want := make([]float32, rows)
				got := make([]float32, rows+offset)[offset:]
				normY := 9 * rng.Float64()
				scale := rng.Float64()
				rounder := grid.Rounder()
				reference.gaussian(want, products, norms, normY, scale, rounder)
				other.gaussian(got, products, norms, normY, scale, rounder)
				halves := make([]uint16, rows)
				other16 := make([]uint16, rows+offset)[offset:]
				column := p.values[offset : offset+rows]
				for i := range column {
					column[i] *= float32(math.Ldexp(1, rng.IntN(40)-28)) // normal, subnormal, tiny
				}
				reference.toHalf(halves, column, 0.5)
				other.toHalf(other16, column, 0.5)
				if !slices.Equal(halves, other16) {
					t.Fatal("toHalf differs")
				}
				back := make([]float32, rows)
				back2 := make([]float32, rows+offset)[offset:]
				reference.fromHalf(back, halves, 2)
				other.fromHalf(back2, other16, 2)
				if !slices.Equal(back, back2) {
					t.Fatal("fromHalf differs")
				}
				for r := range want {
					if math.Float32bits(want[r]) != math.Float32bits(got[r]) {
						t.Fatalf("gaussian: row %d is %v, want %v", r, got[r], want[r])
					}
				}
			}
		})
	}
}

// Inner products are sums in feature order, for any number of them.
func TestProductsAgreeBitForBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, r := range availableRoutines() {
		for range 100 {
			features := 1 + rng.IntN(40)
			rows := make([]float64, features*r.innerRows)
			columns := make([]float64, features*r.innerColumns)
			for i := range rows {
				rows[i] = float64(float32(rng.NormFloat64()))
			}
			for i := range columns {
				columns[i] = float64(float32(rng.NormFloat64()))
			}
			stride := r.innerRows + rng.IntN(5)
			out := make([]float64, stride*r.innerColumns)
			for i := range out {
				out[i] = rng.NormFloat64() // must be overwritten
			}
			cut := rng.IntN(features)
			if cut > 0 {
				r.innerProducts(out, stride, rows, columns, cut, true)
			}
			r.innerProducts(out, stride, rows[cut*r.innerRows:], columns[cut*r.innerColumns:], features-cut, cut == 0)
			for c := range r.innerColumns {
				for i := range r.innerRows {
					want := 0.0
					for f := range features {
						want += rows[f*r.innerRows+i] * columns[f*r.innerColumns+c]
					}
					if got := out[c*stride+i]; math.Float64bits(got) != math.Float64bits(want) {
						t.Fatalf("%s: (%d,%d) is %v, want %v", r.name, i, c, got, want)
					}
				}
			}
		}
	}
}

// Points are packed group by group and feature by feature, for any number of points, sizes of groups and features.
func TestPackedPointsLieFeatureByFeature(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, r := range availableRoutines() {
		var k packed // reused, like its buffers
		for range 100 {
			p := &pointSet{n: 1 + rng.IntN(60), d: 1 + rng.IntN(300)}
			for range p.n * p.d {
				p.values = append(p.values, float32(rng.NormFloat64()))
			}
			size := []int{r.innerRows, r.innerColumns}[rng.IntN(2)]
			k.pack(&r, p, size, p.n, func(at int) int { return p.n - 1 - at })
			for from := 0; from < p.d; from += k.atOnce {
				for group := range k.groups {
					for at, got := range k.group(from, group) {
						point, f := group*size+at%size, from+at/size
						want := 0.0
						if point < p.n {
							want = float64(p.row(p.n - 1 - point)[f])
						}
						if got != want {
							t.Fatalf("%s, groups of %d: feature %d of point %d is %v, want %v", r.name, size, f,
								point, got, want)
						}
					}
				}
			}
		}
	}
}

// Squares are transposed, aligned or not, and nothing beside them changes.
func TestTransposeTurnsSquares(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, r := range availableRoutines() {
		for range 100 {
			squares := 1 + rng.IntN(4)
			offset := rng.IntN(2)
			height, width := squares*transposeStep, transposeStep*(1+rng.IntN(3))
			src := make([]float32, height*width)
			for i := range src {
				src[i] = float32(i + 1)
			}
			stride := height + 16*rng.IntN(2) + offset
			dst := make([]float32, transposeStep*stride+offset)
			column := rng.IntN(width/transposeStep) * transposeStep
			r.transpose(dst[offset:], stride, src[column:], width, squares)
			for c := range transposeStep {
				for i, got := range dst[offset+c*stride : offset+(c+1)*stride] {
					want := float32(0)
					if i < height {
						want = src[i*width+column+c]
					}
					if got != want {
						t.Fatalf("%s: (%d,%d) is %v, want %v", r.name, i, c, got, want)
					}
				}
			}
		}
	}
}

func same(t *testing.T, what string, want, got []float64) {
	t.Helper()
	for i := range want {
		if math.Float64bits(want[i]) != math.Float64bits(got[i]) {
			t.Fatalf("%s: row %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}
