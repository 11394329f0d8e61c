package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"

	"github.com/cleave-project/cleave/internal/data/synth"
)

// The two ways in which the peers build the matrix: a plain one, which the goals refer to, and a faster
// one.
const (
	plainBuild = "product, then exp in place"
	tunedBuild = "the same in cached blocks and threads"
)

// buildGoal returns how many times as fast as NumPy's plain way we should be.
func buildGoal(features int) float64 {
	if features > 100 {
		return 1
	}
	return 3
}

func measureBuilds(ctx context.Context, b *benchmark) error {
	for _, load := range []func() (set, error){b.loadNarrow, b.loadMnist} {
		s, err := load()
		if err != nil {
			return err
		}
		if err := b.measureBuild(ctx, s); err != nil {
			return err
		}
	}
	b.report.note("every build allocates a new matrix from the system, for us and for the peers. Entries are all " +
		"n^2, of which we compute half and mirror the rest.")
	return nil
}

// loadNarrow makes points of few features.
func (b *benchmark) loadNarrow() (set, error) {
	points, _, err := synth.Gaussians(b.buildRows, 16, 10, clusterSpread, rand.New(rand.NewPCG(3, 3)))
	return set{name: "synthetic", points: points, k: 10}, err
}

func (b *benchmark) measureBuild(ctx context.Context, s set) error {
	n, d := s.points.N, s.points.D
	problem, err := gaussian(s, 0, make([]int32, n), 0)
	if err != nil {
		return err
	}
	var ours, plain, tuned times
	measurements := []measurement{{func() (float64, error) {
		debug.FreeOSMemory()
		return stopwatch(func() error {
			_, err := newSweeper(ctx, problem, s.points, b.Threads, true)
			return err
		})
	}, &ours}}
	if b.peer != nil {
		path, err := b.writePoints(s.points)
		if err != nil {
			return err
		}
		ask := func(variant string) func() (float64, error) {
			return func() (float64, error) {
				return b.peer.seconds(map[string]any{"do": "build", "points": path, "n": n, "d": d,
					"rho": problem.Matrix.Rho, "variant": variant})
			}
		}
		measurements = append(measurements, measurement{ask(plainBuild), &plain}, measurement{ask(tunedBuild), &tuned})
	}
	if err := b.interleave(b.rounds, measurements...); err != nil {
		return err
	}
	entries := float64(n) * float64(n) / 1e6
	what := fmt.Sprintf("build, n = %d, d = %d (%s)", n, d, s.name)
	b.report.compare(what, ours, plain, rate(entries, ours, "M entries/s"),
		"NumPy, "+plainBuild+": "+rate(entries, plain, "M entries/s"), buildGoal(d))
	if len(tuned) > 0 {
		b.report.compare(what+", a better peer", ours, tuned, rate(entries, ours, "M entries/s"),
			tunedBuild+": "+rate(entries, tuned, "M entries/s"), 0)
	}
	return nil
}
