package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/tools/measure"
)

// lloydGoal is how many times as fast as scikit-learn an iteration of k-means should be.
const lloydGoal = 1

// The time of an iteration is computed from the difference of a long and a short run, so that what happens
// once in a run does not count.
const (
	shortLloyd = 2
	longLloyd  = 12
)

// measureLloyd compares plain k-means with scikit-learn's, from the same first centroids.
func measureLloyd(ctx context.Context, b *benchmark) error {
	const d, k = 16, 100
	n := b.lloydRows
	points, _, err := synth.Gaussians(n, d, k, clusterSpread, rand.New(rand.NewPCG(5, 5)))
	if err != nil {
		return err
	}
	first := points.Values[:k*d]
	var executor kmeans.Executor
	problemOf := func(iterations int) (*kmeans.Problem, error) {
		return kmeans.Prepare(points, clustering.Spec{
			K: k, MaxIterations: iterations,
			Initialization: clustering.Initialization{Start: clustering.StartCentroids},
			Algorithm:      &kmeans.Options{Algorithm: kmeans.Kmeans, InitialCentroids: first},
		})
	}
	problems := map[int]*kmeans.Problem{}
	for _, iterations := range []int{shortLloyd, longLloyd} {
		if problems[iterations], err = problemOf(iterations); err != nil {
			return err
		}
	}
	if executor, err = kmeans.NewLocal(ctx, problems[longLloyd], points, b.Threads); err != nil {
		return err
	}
	difference := func(work func(iterations int) (float64, int, error)) func() (float64, error) {
		return func() (float64, error) {
			short, few, err := work(shortLloyd)
			if err != nil {
				return 0, err
			}
			long, many, err := work(longLloyd)
			if err != nil {
				return 0, err
			}
			if many <= few {
				return 0, fmt.Errorf("the long run had %d iterations, the short one %d", many, few)
			}
			return (long - short) / float64(many-few), nil
		}
	}
	var ours, double, single times
	measurements := []measurement{{difference(func(iterations int) (float64, int, error) {
		var result *clustering.Result
		seconds, err := stopwatch(func() (err error) {
			result, err = kmeans.Run(ctx, problems[iterations], executor, clustering.NopObserver{})
			return err
		})
		if err != nil {
			return 0, 0, err
		}
		return seconds, result.Iterations, nil
	}), &ours}}
	if b.peer != nil {
		path, err := b.writePoints(points)
		if err != nil {
			return err
		}
		ask := func(kind string) func(int) (float64, int, error) {
			return func(iterations int) (float64, int, error) {
				seconds, err := b.peer.seconds(map[string]any{
					"do": "lloyd", "points": path, "n": n, "d": d, "k": k, "iterations": iterations, "kind": kind,
				})
				return seconds, iterations, err
			}
		}
		measurements = append(measurements, measurement{difference(ask("float64")), &double},
			measurement{difference(ask("float32")), &single})
	}
	if err := b.interleave(b.longRounds, measurements...); err != nil {
		return err
	}
	what := fmt.Sprintf("k-means, %d x %d, k = %d: one iteration", n, d, k)
	b.report.compare(what, ours, double, ours.String(), "scikit-learn, Lloyd, float64: "+double.String(), lloydGoal)
	if len(single) > 0 {
		b.report.compare(what+", against float32", ours, single, ours.String(),
			"scikit-learn, Lloyd, float32: "+single.String(), lloydGoal)
	}
	b.report.note("an iteration assigns all points, takes the means and, on our side, sums up the objective twice, "+
		"before and after the means. It is the difference of runs of %d and %d iterations from the same centroids, "+
		"divided.", shortLloyd, longLloyd)
	return nil
}

// How many times as fast as scikit-learn's k-means of ten starts the program should be on many rows by its defaults,
// and how much memory it may take.
const (
	millionGoal      = 1
	millionGoalBytes = 500 << 20
)

// measureMillion runs the cleave program by its defaults on a file of many rows, and scikit-learn's k-means from ten
// starts on the same file.
func measureMillion(ctx context.Context, b *benchmark) error {
	const d, k = 8, 8
	n := b.millionRows
	what := fmt.Sprintf("%d x %d, k = %d: by the defaults, file to labels", n, d, k)
	if b.Cleave == "" {
		b.report.add(Row{What: what, Ours: "missing: the cleave program", Goal: fmt.Sprintf(">= %dx", millionGoal),
			Verdict: Missing})
		return nil
	}
	points, _, err := synth.Gaussians(n, d, k, clusterSpread, rand.New(rand.NewPCG(6, 6)))
	if err != nil {
		return err
	}
	file := filepath.Join(b.temp, "million.npy")
	out := filepath.Join(b.temp, "million")
	if err := format.WriteFile(file, func(w io.Writer) error { return writeDoubles(w, points) }); err != nil {
		return err
	}
	var ours, theirs times
	var peak int64
	measurements := []measurement{{func() (float64, error) {
		usage, err := measure.Run(exec.CommandContext(ctx, b.Cleave, "run", "--data", file, "--k", strconv.Itoa(k),
			"--out", out, "--quiet"))
		peak = max(peak, usage.PeakBytes)
		return usage.Seconds, err
	}, &ours}}
	if b.peer != nil {
		measurements = append(measurements, measurement{func() (float64, error) {
			return b.peer.seconds(map[string]any{"do": "kmeans_starts", "npy": file, "k": k})
		}, &theirs})
	}
	if err := b.interleave(b.longRounds, measurements...); err != nil {
		return err
	}
	b.report.compare(what, ours, theirs, ours.String(), "KMeans, n_init = 10: "+theirs.String(), millionGoal)
	if peak > 0 {
		b.report.add(Row{
			What: what + ", memory", Ours: fmt.Sprintf("%d MiB", peak>>20),
			Goal:    fmt.Sprintf("<= %d MiB", int64(millionGoalBytes)>>20),
			Verdict: b.report.verdict(peak <= millionGoalBytes),
		})
	}
	b.report.note("cleave runs as its own process, and its start, reading and pictures count; memory is its largest " +
		"resident set. For scikit-learn, reading and fitting count, but not the start of Python and its imports.")
	return nil
}

// writeDoubles writes points as an array of NumPy in float64.
func writeDoubles(w io.Writer, points *dataset.Points) error {
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", points.N, points.D)
	const fixed = 10 // bytes before the header
	padded := append([]byte(header), bytes.Repeat([]byte{' '}, 63-(fixed+len(header))%64)...)
	padded = append(padded, '\n')
	if _, err := io.WriteString(w, "\x93NUMPY\x01\x00"); err != nil {
		return err
	}
	for _, part := range []any{uint16(len(padded)), padded, points.Values} {
		if err := binary.Write(w, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return nil
}
