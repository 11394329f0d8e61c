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
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/synth"
)

const (
	freeFeatures = 16
	freeClusters = 10
	// freeFactor allows for the collector and the program beside the n (k + d) numbers of 8 bytes.
	freeFactor = 6
)

// measureMatrixFree compares the bits of stored and recomputed matrices, then runs where no matrix
// would fit.
func measureMatrixFree(ctx context.Context, b *run) error {
	if err := b.compareStorage(ctx); err != nil {
		return err
	}
	points, err := freePoints(b.freeRows)
	if err != nil {
		return err
	}
	var result *clustering.Result
	var seconds float64
	counted := &counting{n: points.N}
	before, peak, err := peakMemory(func() error {
		seconds, err = stopwatch(func() (err error) {
			result, err = b.freeRun(ctx, points, false, b.freeIterations, counted)
			return err
		})
		return err
	})
	if err != nil {
		return err
	}
	n := float64(points.N)
	what := fmt.Sprintf("matrix-free, n = %d, d = %d, k = %d", points.N, points.D, freeClusters)
	need := 8 * n * (freeClusters + float64(points.D))
	extra := float64(peak - before)
	b.report.add(Row{
		What: what + ": peak memory", Ours: fmt.Sprintf("%s MiB", figures(extra/(1<<20))),
		Peer:  fmt.Sprintf("the matrix: %s MiB", figures(4*n*n/(1<<20))),
		Ratio: fmt.Sprintf("%.1f x 8n(k+d)", extra/need),
		Goal:  fmt.Sprintf("<= %d x 8n(k+d)", freeFactor), Verdict: b.report.judge(extra <= freeFactor*need),
	})
	b.report.add(Row{
		What: fmt.Sprintf("%s: k-means++ start and %d iterations", what, result.Iterations),
		Ours: fmt.Sprintf("%s, %s M entries/s", duration(seconds), figures(float64(counted.columns)*n/seconds/1e6)),
	})
	b.report.note("peak memory is the growth of the resident set while the run lasts, points not counted. %.2f matrices were computed on the way.", float64(counted.columns)/n)
	return nil
}

func freePoints(n int) (*dataset.Points, error) {
	points, _, err := synth.Gaussians(n, freeFeatures, freeClusters, overlap, rand.New(rand.NewPCG(9, 9)))
	return points, err
}

// freeRun clusters with tiles that are stored or not.
func (b *run) freeRun(ctx context.Context, points *dataset.Points, stored bool, limit int, counted *counting) (*clustering.Result, error) {
	problem, err := kernelkmeans.Prepare(points, clustering.Spec{
		K: freeClusters, MaxIterations: limit, Start: clustering.StartKmeansPlusPlus, Algorithm: &kernelkmeans.Options{},
	})
	if err != nil {
		return nil, err
	}
	s, err := newSweeper(ctx, problem, points, b.Threads, stored)
	if err != nil {
		return nil, err
	}
	counted.Executor = whole{s}
	result, err := kernelkmeans.Run(ctx, problem, counted, clustering.Silent{})
	counted.Executor = nil
	return result, err
}

// compareStorage runs to the end with and without a stored matrix and compares every bit.
func (b *run) compareStorage(ctx context.Context) error {
	points, err := freePoints(b.equalRows)
	if err != nil {
		return err
	}
	var results [2]*clustering.Result
	var took [2]float64
	for i, stored := range []bool{true, false} {
		took[i], err = stopwatch(func() (err error) {
			results[i], err = b.freeRun(ctx, points, stored, iterationLimit, &counting{n: points.N})
			return err
		})
		if err != nil {
			return err
		}
	}
	same := slices.Equal(results[0].Labels, results[1].Labels) && slices.EqualFunc(results[0].History, results[1].History, sameEntry)
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

func sameEntry(a, b clustering.Entry) bool {
	return a.Iteration == b.Iteration && a.Moved == b.Moved && math.Float64bits(a.Objective) == math.Float64bits(b.Objective)
}

// peakMemory tells the resident bytes before some work, and the most of them during it. Where the
// system does not tell, it is what the Go runtime has taken from it.
func peakMemory(work func() error) (before, peak int64, err error) {
	runtime.GC()
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak begins anew
	before = resident("VmRSS")
	err = work()
	return before, max(before, resident("VmHWM")), err
}

func resident(key string) int64 {
	kilobytes, err := strconv.ParseInt(strings.TrimSuffix(firstValue("/proc/self/status", key, ""), " kB"), 10, 64)
	if err != nil {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.Sys)
	}
	return kilobytes << 10
}
