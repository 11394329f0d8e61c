package kernel

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/partition"
)

// randomVectors returns vectors of normally distributed values.
func randomVectors(rng *rand.Rand, count, n int) [][]float64 {
	x := make([][]float64, count)
	for v := range x {
		x[v] = make([]float64, n)
		for i := range x[v] {
			x[v][i] = rng.NormFloat64()
		}
	}
	return x
}

// Products of a dense matrix of 10,000 rows with several vectors.
func BenchmarkDenseMultiply(b *testing.B) {
	const n = 10_000
	for _, stored := range []bool{true, false} {
		s := NewShard(benchmarkPoints(b, n, 4), 2)
		tiles := partition.AllTiles(n)
		if err := s.Build(context.Background(), tiles, stored); err != nil {
			panic(err)
		}
		setOperands(b, s, Operands{K: 1, Sparse: &Sparse{RowStart: make([]int64, n+1)}})
		for _, vectors := range []int{1, 4, 8, 16, 64} {
			b.Run(fmt.Sprintf("stored=%v/vectors=%d", stored, vectors), func(b *testing.B) {
				x := randomVectors(rand.New(rand.NewPCG(7, 7)), vectors, n)
				b.ReportAllocs()
				for b.Loop() {
					must(s.Multiply(context.Background(), tiles, x))
				}
				b.ReportMetric(2*float64(vectors)*n*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

// Products of a graph of 1,000,000 vertices, 20 million entries, with several vectors.
func BenchmarkGraphMultiply(b *testing.B) {
	const n = 1_000_000
	source, operands := benchmarkGraph(b, n, 10, 100)
	s := NewShard(source, 2)
	tiles := partition.AllTiles(n)
	if err := s.Build(context.Background(), tiles, true); err != nil {
		panic(err)
	}
	setOperands(b, s, operands)
	for _, vectors := range []int{1, 2, 4, 8, 16, 32} {
		b.Run(fmt.Sprintf("vectors=%d", vectors), func(b *testing.B) {
			x := randomVectors(rand.New(rand.NewPCG(7, 7)), vectors, n)
			b.ReportAllocs()
			for b.Loop() {
				must(s.Multiply(context.Background(), tiles, x))
			}
			b.ReportMetric(float64(vectors)*float64(len(source.graph.Column))*float64(b.N)/b.Elapsed().Seconds()/1e6,
				"Mproducts/s")
		})
	}
}
