package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// The goals of whole runs.
const (
	iterateGoal    = 15  // times as fast as NumPy, from the first labels to the last
	withBuildGoal  = 5   // the same, with the time to build the matrix
	bytesGoal      = 2.5 // how often a whole run reads the matrix
	longRun        = 40  // bytesGoal applies to runs of at least this many iterations
	iterationLimit = 1000
)

// columnCounter is an executor that counts the columns that are read. A step that moves many points may
// read all of them.
type columnCounter struct {
	kernelkmeans.Executor
	n       int
	columns int
}

func (c *columnCounter) Load(ctx context.Context, labels []int32) ([]kernel.Int128, error) {
	for _, label := range labels {
		if label >= 0 {
			c.columns++
		}
	}
	return c.Executor.Load(ctx, labels)
}

func (c *columnCounter) Update(ctx context.Context, moves []labeling.Move) ([]kernel.Int128, error) {
	if kernel.FullSweepIsCheaper(c.n, len(moves)) {
		c.columns += c.n
	} else {
		c.columns += len(moves)
	}
	return c.Executor.Update(ctx, moves)
}

func (c *columnCounter) Matrix() kernelkmeans.Matrix { return countedMatrix{c.Executor.Matrix(), c} }

// countedMatrix is the matrix of a columnCounter.
type countedMatrix struct {
	kernelkmeans.Matrix
	*columnCounter
}

func (c countedMatrix) ColumnSums(ctx context.Context, lists [][]int32) ([][]float64, error) {
	for _, columns := range lists {
		c.columns += len(columns)
	}
	return c.Matrix.ColumnSums(ctx, lists)
}

func (c countedMatrix) Multiply(ctx context.Context, x [][]float64) ([][]float64, error) {
	c.columns += c.n
	return c.Matrix.Multiply(ctx, x)
}

// convergenceRuns are whole runs on one set, ours and NumPy's.
type convergenceRuns struct {
	set
	rho                      float64
	first                    []int32
	ours, oursBuild          times
	result                   *clustering.Result
	columns                  int
	plainNumpy, sparse       peerRuns
	kmeansPlusPlusColumns    int // of a run from a k-means++ start, which the peers do not have
	kmeansPlusPlusIterations int
	numpyBuild               times
}

// peerRuns are the runs of one variant of the product.
type peerRuns struct {
	variant    string
	times      times
	labels     []int32
	iterations int
}

func measureConvergence(ctx context.Context, b *benchmark) error {
	for _, load := range []func() (set, error){b.loadPendigits, b.loadLetter} {
		s, err := load()
		if err != nil {
			return err
		}
		if err := b.measureRuns(ctx, s); err != nil {
			return err
		}
	}
	b.report.note("without the build: from the first labels to the first step that moves no point, matrix in memory. " +
		"With the build: from the points in memory. Labels start random and are the same for all, and so is rho (the " +
		"median distance).")
	return b.peer.free()
}

func (b *benchmark) measureRuns(ctx context.Context, s set) error {
	r := &convergenceRuns{set: s, first: randomLabels(s.points.N, s.k, 5)}
	problem, err := gaussian(s, 0, r.first, iterationLimit)
	if err != nil {
		return err
	}
	r.rho = problem.Matrix.Rho
	if err := b.kmeansPlusPlusRun(ctx, r); err != nil {
		return err
	}
	for round := range b.longRounds {
		if err := b.ourRun(ctx, r); err != nil {
			return err
		}
		b.Say("%s, round %d: ours built in %s, ran in %s", s.name, round+1, duration(r.oursBuild[round]),
			duration(r.ours[round]))
		if b.peer == nil {
			continue
		}
		if err := b.numpyRuns(r, round); err != nil {
			return err
		}
		b.Say("%s, round %d: NumPy built in %s, ran in %s", s.name, round+1, duration(r.numpyBuild[round]),
			duration(r.plainNumpy.times[round]))
	}
	b.reportRuns(r)
	return nil
}

// ourRun builds the matrix and clusters.
func (b *benchmark) ourRun(ctx context.Context, r *convergenceRuns) error {
	debug.FreeOSMemory()
	b.waitForIdle()
	var problem *kernelkmeans.Problem
	var local kernelkmeans.Executor
	build, err := stopwatch(func() (err error) {
		if problem, err = gaussian(r.set, r.rho, r.first, iterationLimit); err != nil {
			return err
		}
		local, err = kernelkmeans.NewLocal(ctx, problem, r.points, b.Threads)
		return err
	})
	if err != nil {
		return err
	}
	counted := &columnCounter{Executor: local, n: r.points.N}
	seconds, err := stopwatch(func() (err error) {
		r.result, err = kernelkmeans.Run(ctx, problem, counted, clustering.NopObserver{})
		return err
	})
	r.oursBuild = append(r.oursBuild, build)
	r.ours = append(r.ours, seconds)
	r.columns = counted.columns
	return err
}

// kmeansPlusPlusRun counts the columns that a run from a k-means++ start reads.
func (b *benchmark) kmeansPlusPlusRun(ctx context.Context, r *convergenceRuns) error {
	problem, err := kernelkmeans.Prepare(r.points, clustering.Spec{
		K: r.k, MaxIterations: iterationLimit,
		Initialization: clustering.Initialization{Start: clustering.StartKmeansPlusPlus},
		Algorithm:      &kernelkmeans.Options{Rho: r.rho},
	})
	if err != nil {
		return err
	}
	local, err := kernelkmeans.NewLocal(ctx, problem, r.points, b.Threads)
	if err != nil {
		return err
	}
	counted := &columnCounter{Executor: local, n: r.points.N}
	result, err := kernelkmeans.Run(ctx, problem, counted, clustering.NopObserver{})
	if err != nil {
		return err
	}
	r.kmeansPlusPlusColumns, r.kmeansPlusPlusIterations = counted.columns, result.Iterations
	return nil
}

// numpyRuns does the same with NumPy's best product, found in the first round, and with SciPy's.
func (b *benchmark) numpyRuns(r *convergenceRuns, round int) error {
	path, err := b.writePoints(r.points)
	if err != nil {
		return err
	}
	labels, err := b.write("first-labels", r.first)
	if err != nil {
		return err
	}
	if round == 0 {
		variants, sparse, err := b.prepareProducts(r.points.N)
		if err != nil {
			return err
		}
		if r.plainNumpy.variant, err = b.bestProduct(r.k, variants); err != nil {
			return err
		}
		r.sparse.variant = sparse
	}
	b.waitForIdle()
	build, err := b.peer.seconds(map[string]any{"do": "kmeans_build", "points": path, "n": r.points.N, "d": r.points.D,
		"rho": r.rho, "variant": plainBuild})
	if err != nil {
		return err
	}
	r.numpyBuild = append(r.numpyBuild, build)
	for _, p := range []*peerRuns{&r.plainNumpy, &r.sparse} {
		if p.variant == "" {
			continue
		}
		b.waitForIdle()
		out := filepath.Join(b.temp, "last-labels")
		var answer struct {
			Seconds    float64
			Iterations int
		}
		err := b.peer.ask(map[string]any{"do": "kmeans", "labels": labels, "k": r.k, "limit": iterationLimit,
			"variant": p.variant, "out": out}, &answer)
		if err != nil {
			return err
		}
		p.times = append(p.times, answer.Seconds)
		p.iterations = answer.Iterations
		if p.labels, err = readLabels(out, r.points.N); err != nil {
			return err
		}
	}
	return nil
}

func (b *benchmark) reportRuns(r *convergenceRuns) {
	what := fmt.Sprintf("%s, k = %d", r.name, r.k)
	b.report.compare(what+": iterations", r.ours, r.plainNumpy.times, r.ours.String(),
		"NumPy: "+r.plainNumpy.times.String(), iterateGoal)
	whole := sum(r.oursBuild, r.ours)
	peerWhole := sum(r.numpyBuild, r.plainNumpy.times)
	b.report.compare(what+": build and iterations", whole, peerWhole, whole.String(), "NumPy: "+peerWhole.String(),
		withBuildGoal)
	if len(r.sparse.times) > 0 {
		b.report.compare(what+": iterations, against SciPy", r.ours, r.sparse.times, r.ours.String(),
			"sparse H' @ K: "+r.sparse.times.String(), 0)
	}
	row := b.bytesRow(what+": bytes read, random start", r.points.N, r.columns, r.result.Iterations)
	if len(r.plainNumpy.times) > 0 {
		row.Peer = fmt.Sprintf("NumPy: %d x 4n^2, %d iterations", r.plainNumpy.iterations+1, r.plainNumpy.iterations)
	}
	b.report.add(row)
	b.report.add(b.bytesRow(what+": bytes read, k-means++ start", r.points.N, r.kmeansPlusPlusColumns,
		r.kmeansPlusPlusIterations))
	if r.plainNumpy.labels != nil {
		same := agreement(r.result.Labels, r.plainNumpy.labels)
		b.report.add(Row{
			What: what + ": points with the same final label", Ours: fmt.Sprintf("%.3f %%", 100*same),
			Goal: "all", Verdict: b.report.verdict(same == 1),
		})
	}
	n := float64(r.points.N)
	note := fmt.Sprintf("%s: we stop by %s after %d iterations; the best run took %s", r.name, r.result.StopReason,
		r.result.Iterations, duration(r.ours.best()))
	if b.limit > 0 {
		floor := float64(r.columns) * 4 * n / b.limit
		note += fmt.Sprintf(", where reading its %.2f GB at the read limit takes %s", float64(r.columns)*4*n/1e9,
			duration(floor))
	}
	b.report.note("%s. NumPy's best product is %s.", note, orMissing(r.plainNumpy.variant))
}

// bytesRow says how often a whole run, its start included, read the matrix.
func (b *benchmark) bytesRow(what string, n, columns, iterations int) Row {
	share := float64(columns) / float64(n)
	row := Row{What: what, Ours: fmt.Sprintf("%.2f x 4n^2, %d iterations", share, iterations)}
	if iterations >= longRun {
		row.Goal = fmt.Sprintf("<= %g", bytesGoal)
		row.Verdict = b.report.verdict(share <= bytesGoal)
	}
	return row
}

func orMissing(name string) string {
	if name == "" {
		return "missing"
	}
	return name
}

// sum adds the times of the same rounds.
func sum(a, b times) times {
	var total times
	for i := range min(len(a), len(b)) {
		total = append(total, a[i]+b[i])
	}
	return total
}
