package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/tools/measure"
)

const (
	matrixFreeFeatures = 16
	matrixFreeClusters = 10
	// matrixFreeFactor is how many times the n (k + d) numbers of 8 bytes a run may take, with the garbage
	// collector and the program.
	matrixFreeFactor = 6
)

// measureMatrixFree compares the results with stored and with recomputed matrices bit by bit, then runs on
// points whose matrix would not fit into memory.
func measureMatrixFree(ctx context.Context, b *benchmark) error {
	if err := b.compareStorage(ctx); err != nil {
		return err
	}
	points, err := matrixFreePoints(b.matrixFreeRows)
	if err != nil {
		return err
	}
	var result *clustering.Result
	var seconds float64
	counted := &columnCounter{n: points.N}
	before, peak, err := peakMemory(func() error {
		seconds, err = stopwatch(func() (err error) {
			result, err = b.matrixFreeRun(ctx, points, false, b.matrixFreeIterations, counted)
			return err
		})
		return err
	})
	if err != nil {
		return err
	}
	n := float64(points.N)
	what := fmt.Sprintf("matrix-free, n = %d, d = %d, k = %d", points.N, points.D, matrixFreeClusters)
	need := 8 * n * (matrixFreeClusters + float64(points.D))
	extra := float64(peak - before)
	b.report.add(Row{
		What: what + ": peak memory", Ours: fmt.Sprintf("%s MiB", threeDigits(extra/(1<<20))),
		Peer:    fmt.Sprintf("the matrix: %s MiB", threeDigits(4*n*n/(1<<20))),
		Ratio:   fmt.Sprintf("%.1f x 8n(k+d)", extra/need),
		Goal:    fmt.Sprintf("<= %d x 8n(k+d)", matrixFreeFactor),
		Verdict: b.report.verdict(extra <= matrixFreeFactor*need),
	})
	b.report.add(Row{
		What: fmt.Sprintf("%s: k-means++ start and %d iterations", what, result.Iterations),
		Ours: fmt.Sprintf("%s, %s M entries/s", duration(seconds), threeDigits(float64(counted.columns)*n/seconds/1e6)),
	})
	b.report.note("peak memory is the growth of the resident set during the run, excluding the points. %.2f matrices "+
		"were computed on the way.", float64(counted.columns)/n)
	return nil
}

func matrixFreePoints(n int) (*dataset.Points, error) {
	points, _, err := synth.Gaussians(n, matrixFreeFeatures, matrixFreeClusters, clusterSpread,
		rand.New(rand.NewPCG(9, 9)))
	return points, err
}

// matrixFreeRun clusters with tiles that are stored, for comparison, or not.
func (b *benchmark) matrixFreeRun(ctx context.Context, points *dataset.Points, stored bool, limit int,
	counted *columnCounter) (*clustering.Result, error) {
	problem, err := kernelkmeans.Prepare(points, clustering.Spec{
		K: matrixFreeClusters, MaxIterations: limit,
		Initialization: clustering.Initialization{Start: clustering.StartKmeansPlusPlus},
		Algorithm:      &kernelkmeans.Options{},
	})
	if err != nil {
		return nil, err
	}
	s, err := newSweeper(ctx, problem, points, b.Threads, stored)
	if err != nil {
		return nil, err
	}
	counted.Executor = kernelkmeans.OnShard(s.shard, s.n)
	result, err := kernelkmeans.Run(ctx, problem, counted, clustering.NopObserver{})
	counted.Executor = nil
	return result, err
}

// compareStorage runs to convergence with and without a stored matrix and compares the results bit by bit.
func (b *benchmark) compareStorage(ctx context.Context) error {
	points, err := matrixFreePoints(b.equalRows)
	if err != nil {
		return err
	}
	var results [2]*clustering.Result
	var took [2]float64
	for i, stored := range []bool{true, false} {
		took[i], err = stopwatch(func() (err error) {
			results[i], err = b.matrixFreeRun(ctx, points, stored, iterationLimit, &columnCounter{n: points.N})
			return err
		})
		if err != nil {
			return err
		}
	}
	same := slices.Equal(results[0].Labels, results[1].Labels) &&
		slices.EqualFunc(results[0].History, results[1].History, sameEntry)
	answer, verdict := "the same bits", Met
	if !same {
		answer, verdict = "DIFFERENT BITS", NotMet
	}
	b.report.add(Row{
		What: fmt.Sprintf("matrix-free against stored, n = %d, %d iterations", points.N, results[0].Iterations),
		Ours: answer + ", " + duration(took[1]), Peer: "stored: " + duration(took[0]),
		Ratio: fmt.Sprintf("%.2fx the time", took[1]/took[0]), Goal: "the same bits", Verdict: verdict,
	})
	return nil
}

func sameEntry(a, b clustering.HistoryEntry) bool {
	return a.Iteration == b.Iteration && a.Moved == b.Moved &&
		math.Float64bits(a.Objective) == math.Float64bits(b.Objective)
}

// peakMemory returns the resident memory in bytes before some work and its largest value during it; 0 on systems that
// do not tell.
func peakMemory(work func() error) (before, peak int64, err error) {
	runtime.GC()
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // resets the peak
	before, _ = measure.Memory(os.Getpid())
	err = work()
	_, peak = measure.Memory(os.Getpid())
	return before, max(before, peak), err
}
