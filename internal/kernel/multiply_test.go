package kernel

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/partition"
)

// entriesOf returns the base matrix, column by column.
func (p *problem) entriesOf(t testing.TB, s *Shard) [][]float64 {
	t.Helper()
	plain := p.operands
	plain.Sparse = &Sparse{RowStart: make([]int64, p.n+1)}
	setOperands(t, s, plain)
	defer func() { setOperands(t, s, p.operands) }()
	entries := make([][]float64, p.n)
	for j := range entries {
		entries[j] = must(columnSum(s, partition.AllTiles(p.n), []int32{int32(j)}))
	}
	return entries
}

// chain is the product of row i by definition: fused multiply-adds from 0 over the base matrix, then over the
// sparse part.
func (p *problem) chain(entries [][]float64, i int, x []float64) float64 {
	sum := 0.0
	for j := range entries {
		if entries[j][i] != 0 || p.source.graph == nil {
			sum = math.FMA(entries[j][i], x[j], sum)
		}
	}
	columns, values := p.operands.Sparse.Row(i)
	for at, j := range columns {
		sum = math.FMA(values[at], x[j], sum)
	}
	return sum
}

// A product is the chain of its row and vector to the bit, whichever routines compute it, with any number of
// other vectors, on any number of threads, for any tiles, stored in full or half precision or not at all.
func TestProductsAreChains(t *testing.T) {
	ctx := context.Background()
	for round, all := uint64(0), availableRoutines(); round < 40; round++ {
		for _, routines := range all {
			for _, function := range []Function{Gaussian, Polynomial, Adjacency} {
				rng := rand.New(rand.NewPCG(round, uint64(function)))
				n := 1 + rng.IntN(40)
				if round%4 == 0 {
					n += rng.IntN(300)
				}
				p := newProblem(t, rng, n, 1, function)
				p.source.routines = routines
				if rng.IntN(3) == 0 && function != Adjacency {
					p.source.spec.HalfScale = p.bounds.HalfScale()
				}
				stored := rng.IntN(2) == 0
				s := NewShard(p.source, 1+rng.IntN(3))
				if err := s.Build(ctx, partition.AllTiles(n), stored); err != nil {
					panic(err)
				}
				entries := p.entriesOf(t, s)
				for _, count := range []int{1, 1 + rng.IntN(13), 1 + rng.IntN(70)} {
					x := randomVectors(rng, count, n)
					tiles := rng.Perm(partition.TileCount(n))
					tiles = tiles[:1+rng.IntN(len(tiles))]
					products := must(s.Multiply(ctx, tiles, x))
					what := fmt.Sprintf("%s, function %d, n %d, stored %v, half %v, %d vectors",
						routines.name, function, n, stored, p.source.spec.HalfScale != 0, count)
					if len(products) != count {
						t.Fatalf("%s: %d products", what, len(products))
					}
					for v := range x {
						at := 0
						for _, tile := range tiles {
							for i := partition.Tile(n, tile).From; i < partition.Tile(n, tile).To; i++ {
								want := p.chain(entries, i, x[v])
								if got := products[v][at]; math.Float64bits(got) != math.Float64bits(want) {
									t.Fatalf("%s: row %d of vector %d is %v, want %v", what, i, v, got, want)
								}
								at++
							}
						}
						if at != len(products[v]) {
							t.Fatalf("%s: %d values for %d rows", what, len(products[v]), at)
						}
					}
				}
			}
		}
	}
}

// Panels of all sizes have the same bits in every implementation, in tiles of full height.
func TestPanelsAgreeBitForBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 100 {
		height := padded(1 + rng.IntN(100))
		columns := 1 + rng.IntN(columnsPerPanel)
		from := rng.IntN(3)
		x := randomVectors(rng, 1+rng.IntN(40), from+columns)
		values := make([]float32, columns*height)
		for i := range values {
			values[i] = float32(rng.NormFloat64())
		}
		ahead := values[:rng.IntN(len(values))]
		var want []float64
		for _, r := range availableRoutines() {
			s := NewShard(&Source{spec: MatrixSpec{Rows: from + columns}, routines: r}, 1)
			if err := s.makeBundles(context.Background(), x); err != nil {
				t.Fatal(err)
			}
			p := &panel{sums: make([]float64, len(x)*height), height: height, rows: height, values: values,
				pitch: height, from: from, columns: columns, ahead: ahead}
			for i := range p.sums {
				p.sums[i] = float64(i % 7)
			}
			r.addPanel(p, s.bundles)
			if want == nil {
				want = p.sums
			}
			same(t, fmt.Sprintf("%s, %d by %d with %d vectors", r.name, height, columns, len(x)), want, p.sums)
		}
	}
}

// A vector of another length is an error, not a panic.
func TestProductsRefuseOtherLengths(t *testing.T) {
	for _, function := range []Function{Gaussian, Adjacency} {
		p := newProblem(t, rand.New(rand.NewPCG(1, 9)), 40, 2, function)
		s := p.shard(t, 1)
		for _, length := range []int{0, 39, 41} {
			if _, err := product(s, partition.AllTiles(40), make([]float64, length)); err == nil {
				t.Errorf("function %d: a vector of %d values has a product with 40 rows", function, length)
			}
		}
		if products, err := s.Multiply(context.Background(), partition.AllTiles(40), nil); err != nil ||
			len(products) != 0 {
			t.Errorf("function %d: no vectors have %d products, %v", function, len(products), err)
		}
	}
}

// The rows of a bundle cross no more cache lines than necessary.
func TestLineWidth(t *testing.T) {
	for count, want := range []int{1: 1, 2, 4, 4, 8, 8, 8, 8, 16, 16: 16, 17: 24, 31: 32, 32: 32} {
		if want != 0 && lineWidth(count) != want {
			t.Errorf("%d vectors are %d wide, want %d", count, lineWidth(count), want)
		}
	}
}
