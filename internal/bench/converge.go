package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/kernel"
)

// The goals of whole runs.
const (
	iterateGoal    = 15  // times NumPy, from first labels to last
	withBuildGoal  = 5   // the same, with the building of the matrix
	bytesGoal      = 2.5 // matrices read by a whole run
	longRun        = 40  // iterations from which on bytesGoal counts
	iterationLimit = 1000
)

// counting is an executor that counts the columns that are read: a step that moves many points may be
// a full sweep instead of a delta.
type counting struct {
	kernelkmeans.Executor
	n       int
	columns int
}

func (c *counting) Load(ctx context.Context, labels []int32) ([]kernel.Int128, error) {
	for _, label := range labels {
		if label >= 0 {
			c.columns++
		}
	}
	return c.Executor.Load(ctx, labels)
}

func (c *counting) Update(ctx context.Context, moves []kernel.Move) ([]kernel.Int128, error) {
	if kernel.MadeAnew(c.n, len(moves)) {
		c.columns += c.n
	} else {
		c.columns += len(moves)
	}
	return c.Executor.Update(ctx, moves)
}

func (c *counting) ColumnSums(ctx context.Context, lists [][]int32) ([][]float64, error) {
	for _, columns := range lists {
		c.columns += len(columns)
	}
	return c.Executor.ColumnSums(ctx, lists)
}

func (c *counting) Multiply(ctx context.Context, x [][]float64) ([][]float64, error) {
	c.columns += c.n
	return c.Executor.Multiply(ctx, x)
}

// runs are the whole runs on one set, ours and NumPy's.
type runs struct {
	set
	rho                float64
	first              []int32
	ours, oursBuild    times
	result             *clustering.Result
	columns            int
	plainNumpy, sparse peerRuns
	usualColumns       int // of a run from the usual start, k-means++, which the peers do not have
	usualIterations    int
	numpyBuild         times
}

// peerRuns are the runs of one variant of the product.
type peerRuns struct {
	variant    string
	times      times
	labels     []int32
	iterations int
}

func measureConvergence(ctx context.Context, b *run) error {
	for _, load := range []func() (set, error){b.loadPendigits, b.loadLetter} {
		s, err := load()
		if err != nil {
			return err
		}
		if err := b.measureRuns(ctx, s); err != nil {
			return err
		}
	}
	b.report.note("without the build: from the first labels to the first step that moves no point, matrix in memory. With the build: from the points in memory. Labels start random and are the same for all, and so is rho (the median distance).")
	return b.peer.free()
}

func (b *run) measureRuns(ctx context.Context, s set) error {
	r := &runs{set: s, first: randomLabels(s.points.N, s.k, 5)}
	problem, err := gaussian(s, 0, r.first, iterationLimit)
	if err != nil {
		return err
	}
	r.rho = problem.Matrix.Rho
	if err := b.usualRun(ctx, r); err != nil {
		return err
	}
	for round := range b.longRounds {
		if err := b.ourRun(ctx, r); err != nil {
			return err
		}
		b.progress("%s, round %d: ours built in %s, ran in %s", s.name, round+1, duration(r.oursBuild[round]), duration(r.ours[round]))
		if b.peer == nil {
			continue
		}
		if err := b.numpyRuns(r, round); err != nil {
			return err
		}
		b.progress("%s, round %d: NumPy built in %s, ran in %s", s.name, round+1, duration(r.numpyBuild[round]), duration(r.plainNumpy.times[round]))
	}
	b.reportRuns(r)
	return nil
}

// ourRun builds the matrix and clusters.
func (b *run) ourRun(ctx context.Context, r *runs) error {
	debug.FreeOSMemory()
	b.settle()
	var problem *kernelkmeans.Problem
	var local *kernelkmeans.Local
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
	counted := &counting{Executor: local, n: r.points.N}
	seconds, err := stopwatch(func() (err error) {
		r.result, err = kernelkmeans.Run(ctx, problem, counted, clustering.Silent{})
		return err
	})
	r.oursBuild, r.ours, r.columns = append(r.oursBuild, build), append(r.ours, seconds), counted.columns
	return err
}

// usualRun counts what a run from the usual start reads.
func (b *run) usualRun(ctx context.Context, r *runs) error {
	problem, err := kernelkmeans.Prepare(r.points, clustering.Spec{
		K: r.k, MaxIterations: iterationLimit, Start: clustering.StartKmeansPlusPlus,
		Algorithm: &kernelkmeans.Options{Rho: r.rho},
	})
	if err != nil {
		return err
	}
	local, err := kernelkmeans.NewLocal(ctx, problem, r.points, b.Threads)
	if err != nil {
		return err
	}
	counted := &counting{Executor: local, n: r.points.N}
	result, err := kernelkmeans.Run(ctx, problem, counted, clustering.Silent{})
	if err != nil {
		return err
	}
	r.usualColumns, r.usualIterations = counted.columns, result.Iterations
	return nil
}

// numpyRuns does the same by NumPy's best product, found in the first round, and by SciPy's.
func (b *run) numpyRuns(r *runs, round int) error {
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
	b.settle()
	build, err := b.peer.seconds(map[string]any{"do": "kmeans_build", "points": path, "n": r.points.N, "d": r.points.D, "rho": r.rho, "variant": plainBuild})
	if err != nil {
		return err
	}
	r.numpyBuild = append(r.numpyBuild, build)
	for _, p := range []*peerRuns{&r.plainNumpy, &r.sparse} {
		if p.variant == "" {
			continue
		}
		b.settle()
		out := filepath.Join(b.temp, "last-labels")
		var answer struct {
			Seconds    float64
			Iterations int
		}
		err := b.peer.ask(map[string]any{"do": "kmeans", "labels": labels, "k": r.k, "limit": iterationLimit, "variant": p.variant, "out": out}, &answer)
		if err != nil {
			return err
		}
		p.times, p.iterations = append(p.times, answer.Seconds), answer.Iterations
		if p.labels, err = readLabels(out, r.points.N); err != nil {
			return err
		}
	}
	return nil
}

func (b *run) reportRuns(r *runs) {
	what := fmt.Sprintf("%s, k = %d", r.name, r.k)
	b.report.against(what+": iterations", r.ours, r.plainNumpy.times, r.ours.String(), "NumPy: "+r.plainNumpy.times.String(), iterateGoal)
	whole, peerWhole := sum(r.oursBuild, r.ours), sum(r.numpyBuild, r.plainNumpy.times)
	b.report.against(what+": build and iterations", whole, peerWhole, whole.String(), "NumPy: "+peerWhole.String(), withBuildGoal)
	if len(r.sparse.times) > 0 {
		b.report.against(what+": iterations, against SciPy", r.ours, r.sparse.times, r.ours.String(), "sparse H' @ K: "+r.sparse.times.String(), 0)
	}
	row := b.bytesRow(what+": bytes read, random start", r.points.N, r.columns, r.result.Iterations)
	if len(r.plainNumpy.times) > 0 {
		row.Peer = fmt.Sprintf("NumPy: %d x 4n^2, %d iterations", r.plainNumpy.iterations+1, r.plainNumpy.iterations)
	}
	b.report.add(row)
	b.report.add(b.bytesRow(what+": bytes read, k-means++ start", r.points.N, r.usualColumns, r.usualIterations))
	if r.plainNumpy.labels != nil {
		same := agreement(r.result.Labels, r.plainNumpy.labels)
		b.report.add(Row{
			What: what + ": points with the same final label", Ours: fmt.Sprintf("%.3f %%", 100*same),
			Goal: "all", Verdict: b.report.judge(same == 1),
		})
	}
	n := float64(r.points.N)
	note := fmt.Sprintf("%s: we stop by %s after %d iterations; the best run took %s", r.name, r.result.StopReason, r.result.Iterations, duration(r.ours.best()))
	if b.limit > 0 {
		floor := float64(r.columns) * 4 * n / b.limit
		note += fmt.Sprintf(", where reading its %.2f GB at the read limit takes %s", float64(r.columns)*4*n/1e9, duration(floor))
	}
	b.report.note("%s. NumPy's best product is %s.", note, orMissing(r.plainNumpy.variant))
}

// bytesRow is how often a whole run read the matrix, its start counted.
func (b *run) bytesRow(what string, n, columns, iterations int) Row {
	share := float64(columns) / float64(n)
	row := Row{What: what, Ours: fmt.Sprintf("%.2f x 4n^2, %d iterations", share, iterations)}
	if iterations >= longRun {
		row.Goal, row.Verdict = fmt.Sprintf("<= %g", bytesGoal), b.report.judge(share <= bytesGoal)
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
