package eigen

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// A search that is interrupted after any of its steps continues in another process: with the same bits, the same work,
// the same reports and the same state of the random numbers.
func TestSearchesResumeWithTheSameBits(t *testing.T) {
	a := blocks(400, 4, 6, 0.8, seeded())
	largestOf := func(ctx context.Context, observe func(Progress)) ([]float64, error) {
		rng := &generator{Rand: seeded()}
		op := a.scaled(a.sums())
		found, err := largest(ctx, op, nil, 6, rng, Options{Observe: observe, Basis: 40}.withDefaults())
		bits := append(slices.Concat(found.Vectors...), found.Values...)
		return append(bits, float64(found.Products), float64(rng.drawn)), err
	}
	p := problem(a, beliefs(400, 4, 60, seeded()), func(volume float64) float64 { return 0.05 * volume })
	constrainedOf := func(ctx context.Context, observe func(Progress)) ([]float64, error) {
		rng := &generator{Rand: seeded()}
		found, err := p.solve(ctx, Wanted{3, 6}, rng, Options{Observe: observe}, false)
		bits := append(slices.Concat(found.Vectors...), found.Values...)
		return append(bits, float64(found.Products), float64(rng.drawn)), err
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
			var saved bytes.Buffer
			if err := memory.Write(&saved, snapshot.Identity{}); err != nil {
				t.Fatal(err)
			}
			again := snapshot.NewMemory(1<<30, nil)
			if err := again.Read(saved.Bytes(), snapshot.Identity{}); err != nil {
				t.Fatal(err)
			}
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
