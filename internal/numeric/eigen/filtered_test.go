package eigen

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// entries returns the matrix as Filtered takes it, with a bound of its eigenvalues.
func (s *sparse) entries(bound float64) *Sparse {
	m := &Sparse{Begin: s.start, Value: s.value, Bound: bound}
	for _, c := range s.column {
		m.Column = append(m.Column, int32(c))
	}
	return m
}

func TestFilteredAgainstDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for trial := range 24 {
		n := 20 + rng.IntN(380)
		count := 1 + rng.IntN(8)
		outside := []float64{0, 0.01, 0.1, 1}[trial%4]
		a := blocks(n, 1+rng.IntN(8), 2+rng.IntN(10), outside, rng)
		m := a.scaled(a.sums())
		values, vectors := pairsOf(n, m.dense())
		got, err := Filtered(context.Background(), m.entries(1), nil, count, source(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		compareLargest(t, "filtered", got, values, vectors)
	}
}

// What is left out need not be an eigenvector: the pairs are those of the matrix within the complement.
func TestFilteredStaysInAComplement(t *testing.T) {
	const n, count = 300, 12
	a := blocks(n, 5, 8, 0.5, seeded())
	m := a.scaled(a.sums())
	without := Orthonormalize(n, [][]float64{randomUnit(n, source())})
	projected := m.dense()
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = projected[i*n : (i+1)*n]
	}
	project(n, rows, without) // M P, and then P M P
	rows = transposed(rows, n)
	project(n, rows, without)
	values, vectors := pairsOf(n, slices.Concat(rows...))
	got, err := Filtered(context.Background(), m.entries(1), without, count, source(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	compareLargest(t, "filtered", got, values, vectors)
	if off := outsideSpan(without, got.Vectors); off < 1-1e-12 {
		t.Errorf("%g of the vector that is left out is outside the others", off)
	}
}

// All eigenvectors of a matrix can be asked for, and those of the matrix of zeros.
func TestFilteredOfOddMatrices(t *testing.T) {
	a := blocks(30, 3, 4, 0.5, seeded())
	m := a.scaled(a.sums())
	values, vectors := pairsOf(30, m.dense())
	got, err := Filtered(context.Background(), m.entries(1), nil, 30, source(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	compareLargest(t, "all", got, values, vectors)
	zero, err := Filtered(context.Background(), &Sparse{Begin: make([]int, 8)}, nil, 2, source(), Options{})
	if err != nil || !zero.Converged || !slices.Equal(zero.Values, []float64{0, 0}) {
		t.Errorf("%+v, %v", zero, err)
	}
	if _, err := Filtered(context.Background(), m.entries(1), nil, 31, source(), Options{}); err == nil {
		t.Error("31 eigenvectors of 30 rows were found")
	}
}

// Entries that are not finite are refused; they had vectors of NaN that had converged.
func TestMatricesThatAreNotFinite(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		m := blocks(30, 3, 4, 0.5, seeded()).entries(1)
		m.Value[7] = bad
		if _, err := Filtered(t.Context(), m, nil, 2, source(), Options{}); !errors.Is(err, invalid.MatrixNotFinite) {
			t.Errorf("filtered, %v: %v", bad, err)
		}
		dense := upperOf(3, []float64{1, 2, 3, 0, bad, 4, 0, 0, 5})
		if _, _, err := LeadingEigenpairs(t.Context(), dense, all); !errors.Is(err, invalid.MatrixNotFinite) {
			t.Errorf("dense, %v: %v", bad, err)
		}
	}
}

// The bits depend neither on the threads nor on where a search was interrupted.
func TestFilteredHasTheSameBits(t *testing.T) {
	a := blocks(1500, 6, 6, 0.8, seeded())
	m := a.scaled(a.sums()).entries(1)
	const count = 20
	want, err := Filtered(context.Background(), m, nil, count, source(), Options{})
	if err != nil || !want.Converged {
		t.Fatalf("%+v, %v", want.Work, err)
	}
	same := func(what string, got Eigenpairs) {
		t.Helper()
		if !slices.Equal(got.Values, want.Values) || got.Work != want.Work ||
			!slices.EqualFunc(got.Vectors, want.Vectors, slices.Equal) {
			t.Errorf("%s: %v %+v, want %v %+v", what, got.Values, got.Work, want.Values, want.Work)
		}
	}
	limited, err := Filtered(parallel.WithThreads(context.Background(), 3), m, nil, count, source(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	same("three threads", limited)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	alone, err := Filtered(context.Background(), m, nil, count, source(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	same("one thread", alone)
	for stop := 1; ; stop++ {
		memory := snapshot.NewMemory(1<<30, nil)
		ctx, cancel := context.WithCancel(snapshot.With(context.Background(), memory))
		_, err := Filtered(ctx, m, nil, count, source(), Options{Observe: func(p Progress) {
			if memory.Ask(); p.Iteration == stop {
				cancel()
			}
		}})
		done := err == nil
		cancel()
		var saved bytes.Buffer
		if err := memory.Write(&saved, snapshot.Identity{}); err != nil {
			t.Fatal(err)
		}
		again := snapshot.NewMemory(1<<30, nil)
		if err := again.Read(saved.Bytes(), snapshot.Identity{}); err != nil {
			t.Fatal(err)
		}
		reported := 0
		got, err := Filtered(snapshot.With(context.Background(), again), m, nil, count, source(),
			Options{Observe: func(p Progress) {
				if reported++; p.Iteration != reported {
					t.Errorf("iteration %d is reported as number %d", p.Iteration, reported)
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		same("another process", got)
		if done {
			return
		}
	}
}

// endingContext ends when it has been asked a number of times.
type endingContext struct {
	context.Context
	left atomic.Int64
}

func (c *endingContext) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A filter looks at the context after every product, because one on millions of rows takes minutes.
func TestFilteredEndsWithinAFilter(t *testing.T) {
	a := blocks(1500, 6, 6, 0.8, seeded())
	m := a.scaled(a.sums()).entries(1)
	ctx := &endingContext{Context: context.Background()}
	ctx.left.Store(2)
	iterations := 0
	_, err := Filtered(ctx, m, nil, 20, source(), Options{Observe: func(Progress) { iterations++ }})
	if !errors.Is(err, context.Canceled) || iterations > 0 {
		t.Errorf("the search ended with %v after %d iterations", err, iterations)
	}
}
