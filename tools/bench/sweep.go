package bench

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// The goals of sweeps.
const (
	fullGoal  = 0.9 // of the read limit
	deltaGoal = 0.7 // of the read limit, on the bytes of moved columns
	numpyGoal = 3   // times NumPy's product
)

// deltasPerRound is how many deltas are timed together, as one takes only milliseconds.
const deltasPerRound = 10

// sweeper is the whole matrix in one shard, and labels that change from sweep to sweep.
type sweeper struct {
	ctx    context.Context
	shard  *kernel.Shard
	tiles  []int
	n, k   int
	step   uint64
	seed   uint64
	labels []int32
	rng    *rand.Rand
}

// newSweeper builds all tiles.
func newSweeper(ctx context.Context, problem *kernelkmeans.Problem, points *dataset.Points, threads int,
	stored bool) (*sweeper, error) {
	source, err := kernel.NewSource(problem.Matrix, points, nil)
	if err != nil {
		return nil, err
	}
	n := problem.Rows()
	s := &sweeper{ctx: ctx, shard: kernel.NewShard(source, threads), tiles: partition.AllTiles(n), n: n,
		rng: rand.New(rand.NewPCG(1, 1))}
	err = s.shard.Build(ctx, s.tiles, stored)
	return s, err
}

// setOperands makes it a problem of k clusters of equal size.
func (s *sweeper) setOperands(k int) error {
	s.k = k
	s.seed++
	weights := make([]float64, s.n)
	for i := range weights {
		weights[i] = 1
	}
	s.labels = randomLabels(s.n, k, s.seed)
	return s.shard.SetOperands(kernel.Operands{K: k, Weights: weights,
		Sparse: &kernel.Sparse{RowStart: make([]int64, s.n+1)}})
}

// full makes a sweep over all columns: of an unknown step no sums can be reused.
func (s *sweeper) full() error {
	s.step++
	_, err := s.shard.Load(s.ctx, s.tiles, s.step, s.labels)
	return err
}

// moves changes the clusters of a random share of the points.
func (s *sweeper) moves(share float64) []labeling.Move {
	var moves []labeling.Move
	for i, from := range s.labels {
		if s.rng.Float64() < share {
			to := (from + 1 + s.rng.Int32N(int32(s.k-1))) % int32(s.k)
			moves = append(moves, labeling.Move{Point: int32(i), From: from, To: to})
			s.labels[i] = to
		}
	}
	return moves
}

// delta makes a sweep over the columns of the points that moved.
func (s *sweeper) delta(moves []labeling.Move) error {
	_, err := s.shard.Update(s.ctx, s.tiles, s.step, moves)
	s.step++
	return err
}

// sweepTimes are the measurements at one number of clusters.
type sweepTimes struct {
	k                  int
	full, delta        times
	deltaBytes         float64
	variant            string // NumPy's best
	numpy, sparse      times
	bytes, columnBytes float64
}

func measureSweeps(ctx context.Context, b *benchmark) error {
	rng := rand.New(rand.NewPCG(7, 7))
	points, _, err := synth.Gaussians(b.sweepRows, 4, 10, clusterSpread, rng)
	if err != nil {
		return err
	}
	problem, err := gaussian(set{points: points, k: 1}, 0, make([]int32, points.N), 0)
	if err != nil {
		return err
	}
	sweeper, err := newSweeper(ctx, problem, points, b.Threads, true)
	if err != nil {
		return err
	}
	n := float64(points.N)
	limit, err := newReadLimit(int(4*n*n), b.Threads)
	if err != nil {
		return err
	}
	defer limit.release()
	measurements := limit.measurements()
	var results []*sweepTimes
	variants, sparse, err := b.prepareProducts(points.N)
	if err != nil {
		return err
	}
	for _, k := range b.sweepClusters {
		r := &sweepTimes{k: k, bytes: 4 * n * n, columnBytes: 4 * n}
		results = append(results, r)
		measurements = append(measurements, b.sweepMeasurements(sweeper, r)...)
		if b.peer == nil {
			continue
		}
		if r.variant, err = b.bestProduct(k, variants); err != nil {
			return err
		}
		measurements = append(measurements, measurement{b.product(k, r.variant), &r.numpy})
		if sparse != "" {
			measurements = append(measurements, measurement{b.product(k, sparse), &r.sparse})
		}
	}
	if err := b.interleave(b.rounds, measurements...); err != nil {
		return err
	}
	b.limit = limit.limit()
	b.medianLimit = limit.medianLimit()
	for _, row := range limit.rows() {
		b.report.add(row)
	}
	for _, r := range results {
		b.reportSweeps(r, sparse != "")
	}
	b.report.note("n = %d, so that the matrix, and each buffer of the read limit, has %.2f GB. The limit is the best "+
		"of the three read patterns.", points.N, 4*n*n/1e9)
	b.report.note("why a delta falls short: a column of a tile is 4 KiB from memory, and it leaves one cluster's " +
		"sums and joins another's, 8 KiB each, which are read and written: 32 KiB of traffic with the second-level " +
		"cache for 4 KiB from memory, unless several moved points go from the same cluster to the same other one. " +
		"With k = 100 and random moves hardly any do (10,000 pairs of clusters for 1,000 moves); with k = 10 ten of " +
		"them share a pair on average. So columns are read twice there, once by the cluster they leave and once by " +
		"the one they join, and what is really read comes to about twice the rate that the row shows. Bands of rows " +
		"whose sums stay in the first-level cache were tried and gained nothing: the columns then come from memory " +
		"in pieces of 128 bytes, which the processor does not prefetch.")
	return b.peer.free()
}

// sweepMeasurements measures a full sweep and a delta. Before each there is one that is not measured, because
// the first sweep with new operands allocates the sums.
func (b *benchmark) sweepMeasurements(s *sweeper, r *sweepTimes) []measurement {
	return []measurement{
		{func() (float64, error) {
			if err := s.setOperands(r.k); err != nil {
				return 0, err
			}
			if err := s.full(); err != nil {
				return 0, err
			}
			return stopwatch(s.full)
		}, &r.full},
		{func() (float64, error) {
			if err := s.delta(s.moves(b.moved)); err != nil {
				return 0, err
			}
			steps := make([][]labeling.Move, deltasPerRound)
			columns := 0
			for i := range steps {
				steps[i] = s.moves(b.moved)
				columns += len(steps[i])
			}
			seconds, err := stopwatch(func() error {
				for _, moves := range steps {
					if err := s.delta(moves); err != nil {
						return err
					}
				}
				return nil
			})
			// Rounds move slightly different numbers of points: scale the time to the same number.
			usual := b.moved * float64(s.n)
			r.deltaBytes = r.columnBytes * usual
			return seconds * usual / float64(max(1, columns)), err
		}, &r.delta},
	}
}

func (b *benchmark) reportSweeps(r *sweepTimes, sparse bool) {
	add := func(what string, bytes float64, t times, goal float64) {
		share := bytes / t.best() / b.limit
		b.report.add(Row{
			What: what, Ours: rate(bytes/1e9, t, "GB/s"), Ratio: percent(share, bytes/t.median()/b.medianLimit),
			Goal: fmt.Sprintf(">= %.0f %%", 100*goal), Verdict: b.report.verdict(share >= goal),
		})
	}
	add(fmt.Sprintf("full sweep, k = %d", r.k), r.bytes, r.full, fullGoal)
	b.report.compare(fmt.Sprintf("full sweep, k = %d, against NumPy", r.k), r.full, r.numpy,
		rate(r.bytes/1e9, r.full, "GB/s"), fmt.Sprintf("%s: %s", r.variant, rate(r.bytes/1e9, r.numpy, "GB/s")),
		numpyGoal)
	if sparse {
		b.report.compare(fmt.Sprintf("full sweep, k = %d, against SciPy", r.k), r.full, r.sparse,
			rate(r.bytes/1e9, r.full, "GB/s"), "sparse H' @ K in threads: "+rate(r.bytes/1e9, r.sparse, "GB/s"), 0)
	}
	add(fmt.Sprintf("delta, k = %d, %.0f %% of the points moved", r.k, 100*b.moved), r.deltaBytes, r.delta, deltaGoal)
}

// prepareProducts makes the matrix of the peers and lists their variants of the product.
func (b *benchmark) prepareProducts(n int) (variants []string, sparse string, err error) {
	if b.peer == nil {
		return nil, "", nil
	}
	var answer struct {
		Variants []string
		Sparse   string
	}
	err = b.peer.ask(map[string]any{"do": "product_prepare", "n": n}, &answer)
	return answer.Variants, answer.Sparse, err
}

func (b *benchmark) product(k int, variant string) func() (float64, error) {
	return func() (float64, error) {
		return b.peer.seconds(map[string]any{"do": "product", "k": k, "variant": variant})
	}
}

// bestProduct measures every variant once, those that are not far too slow several times more, and returns
// the fastest.
func (b *benchmark) bestProduct(k int, variants []string) (string, error) {
	const moreRounds, tooSlow = 3, 10
	taken := make([]times, len(variants))
	try := func(rounds int, include func(times) bool) error {
		var measurements []measurement
		for i, variant := range variants {
			if include(taken[i]) {
				measurements = append(measurements, measurement{b.product(k, variant), &taken[i]})
			}
		}
		return b.interleave(rounds, measurements...)
	}
	fastest := func() int {
		least := 0
		for i, t := range taken {
			if t.best() < taken[least].best() {
				least = i
			}
		}
		return least
	}
	if err := try(1, func(times) bool { return true }); err != nil {
		return "", err
	}
	least := taken[fastest()].best()
	if err := try(moreRounds, func(t times) bool { return t.best() < tooSlow*least }); err != nil {
		return "", err
	}
	for i, t := range taken {
		b.Say("NumPy, k = %d, %s: %s", k, variants[i], duration(t.best()))
	}
	return variants[fastest()], nil
}
