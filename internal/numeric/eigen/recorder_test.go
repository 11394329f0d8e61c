package eigen

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// A search that is interrupted after any of its steps continues in another process: with the same bits, the same work,
// the same reports and the same state of the random numbers.
func TestSearchesResumeWithTheSameBits(t *testing.T) {
	a := blocks(400, 4, 6, 0.8, seeded())
	largestOf := func(ctx context.Context, observe func(Progress)) ([]float64, error) {
		source := source()
		op := a.scaled(a.sums())
		found, err := largest(ctx, op, nil, 6, source, Options{Observe: observe, Basis: 40}.withDefaults())
		bits := append(slices.Concat(found.Vectors...), found.Values...)
		return append(bits, float64(found.Products), float64(source.Uint64()>>11)), err
	}
	p := problem(a, beliefs(400, 4, 60, seeded()), func(volume float64) float64 { return 0.05 * volume })
	constrainedOf := func(ctx context.Context, observe func(Progress)) ([]float64, error) {
		source := source()
		found, err := p.solve(ctx, Wanted{3, 6}, source, Options{Observe: observe}, false)
		bits := append(slices.Concat(found.Vectors...), found.Values...)
		return append(bits, float64(found.Products), float64(source.Uint64()>>11)), err
	}
	for name, search := range map[string]func(context.Context, func(Progress)) ([]float64, error){
		"largest": largestOf, "constrained": constrainedOf,
	} {
		var reports []Progress
		want, err := search(context.Background(), func(p Progress) { reports = append(reports, p) })
		if err != nil || len(reports) < 3 {
			t.Fatalf("%s: %d reports, %v", name, len(reports), err)
		}
		for stop := range reports {
			memory := snapshot.NewMemory(1<<30, nil)
			ctx, cancel := context.WithCancel(snapshot.With(context.Background(), memory))
			reported := 0
			_, _ = search(ctx, func(Progress) { // it ends with the context, unless that was the last step
				memory.Ask()
				if reported++; reported > stop {
					cancel()
				}
			})
			cancel()
			again := reopened(t, memory)
			var repeated []Progress
			got, err := search(snapshot.With(context.Background(), again), func(p Progress) {
				repeated = append(repeated, p)
			})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: interrupted after report %d, the bits differ", name, stop+1)
			}
			if !slices.Equal(repeated, reports) {
				t.Errorf("%s: interrupted after report %d, other steps are reported", name, stop+1)
			}
		}
	}
}

// reopened returns what the next process reads.
func reopened(t *testing.T, memory *snapshot.Memory) *snapshot.Memory {
	var saved bytes.Buffer
	if err := memory.Write(&saved, snapshot.Identity{}); err != nil {
		t.Fatal(err)
	}
	again := snapshot.NewMemory(1<<30, nil)
	if err := again.Read(saved.Bytes(), snapshot.Identity{}); err != nil {
		t.Fatal(err)
	}
	return again
}

// Least that is interrupted before any of its products continues to the same bits, without the products before.
func TestLeastResumesWithTheSameBits(t *testing.T) {
	for _, n := range []int{60, orthogonalRows + 1} {
		a := blocks(n, 4, 6, 0.8, seeded())
		op := a.scaled(a.sums())
		products := 0
		apply := func(ctx context.Context, x []float64) ([]float64, error) {
			products++
			y, err := op.Multiply(ctx, [][]float64{x})
			if err != nil {
				return nil, err
			}
			return y[0], nil
		}
		whole := source()
		want, err := Least(context.Background(), n, apply, whole)
		next := whole.Uint64()
		if err != nil || products != want.Steps {
			t.Fatalf("%d products, %+v, %v", products, want, err)
		}
		stopped := errors.New("stopped")
		for stop := 1; stop < want.Steps; stop++ {
			memory := snapshot.NewMemory(1<<30, nil)
			products = 0
			_, err := Least(snapshot.With(context.Background(), memory), n,
				func(ctx context.Context, x []float64) ([]float64, error) {
					if products == stop {
						return nil, stopped
					}
					memory.Ask()
					return apply(ctx, x)
				}, source())
			if !errors.Is(err, stopped) {
				t.Fatal(err)
			}
			resumed := source()
			got, err := Least(snapshot.With(context.Background(), reopened(t, memory)), n, apply, resumed)
			if err != nil || got != want || products != want.Steps {
				t.Errorf("%d rows, interrupted before product %d: %+v, %v after %d products in all, want %+v", n,
					stop+1, got, err, products, want)
			}
			if resumed.Uint64() != next {
				t.Errorf("%d rows, interrupted before product %d: the source is elsewhere", n, stop+1)
			}
		}
	}
}
