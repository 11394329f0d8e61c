package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// Neighbors finds the task.Need.Neighbors.Count nearest neighbors of every row of a data set, like
// neighbor.Search.All but on the workers. Workers search a tile when they build it, so the status of the task shows
// the progress. For a kernel matrix, task.Diagonal must be set. Neighbors also returns what the search used.
func (f *Fleet) Neighbors(ctx context.Context, task Task) ([]int32, Usage, error) {
	need := task.Need.Neighbors
	if need == nil || need.Given != (task.Diagonal != nil) {
		return nil, Usage{}, errors.New("fleet: a search for neighbors that is not described")
	}
	j := f.newJob(task)
	var diagonal *payload
	if need.Given {
		diagonal = j.keepPayload(func() []byte { return wire.PackFloat64s(task.Diagonal) })
	}
	j.describe = func(p *workerv1.Prepare) {
		p.What = &workerv1.Prepare_Neighbors{Neighbors: &workerv1.NeighborSpec{
			Rows: uint64(need.Rows), Count: uint32(need.Count), Diagonal: diagonal.message(),
		}}
	}
	if err := j.start(ctx); err != nil {
		return nil, Usage{}, err
	}
	defer j.Release()
	found, err := j.neighbors(ctx, need.Count)
	return found, j.Usage(), err
}

// neighbors collects what the tiles have found.
func (j *job) neighbors(ctx context.Context, count int) ([]int32, error) {
	all, seen := make([]int32, j.rows*count), make([]bool, j.rows)
	err := j.perform(ctx, &operation{
		name:     "neighbors",
		maxBytes: j.perRowBytes(4 * (1 + count)),
		request: func(c *workerv1.Command, _ *group, _ []int) {
			c.Operation = &workerv1.Command_Neighbors{Neighbors: &workerv1.Neighbors{}}
		},
		merge: func(tiles []int, answer *reply) error {
			found, err := wire.UnpackInt32s(answer.values)
			if err != nil {
				return err
			}
			if len(found) != j.rowsOf(tiles)*(1+count) {
				return fmt.Errorf("%d values for %d rows, with %d neighbors each", len(found), j.rowsOf(tiles), count)
			}
			if err := checkNeighbors(found, 1+count, seen); err != nil {
				return err
			}
			for row := range slices.Chunk(found, 1+count) {
				seen[row[0]] = true
				copy(all[int(row[0])*count:], row[1:])
			}
			return nil
		},
	})
	if err == nil && slices.Contains(seen, false) {
		err = fault.New(fault.Internal, workerFailed, "no worker found the neighbors of row %d", slices.Index(seen, false))
	}
	return all, err
}

// Operations for local search and for the scores of rows.

// Gains implements kernelkmeans.Executor. Workers return only as many values as are needed.
func (e *Executor) Gains(ctx context.Context, stats []kernel.ClusterStats, needed int) ([][]float64, error) {
	needed = max(1, needed)
	packed := wire.StatsToProto(stats)
	values := make([][]float64, len(stats))
	for at := range values {
		values[at] = slices.Repeat([]float64{math.Inf(-1)}, e.rows)
	}
	op := &operation{name: "gains", maxBytes: e.perRowBytes(wire.LargestBytes * len(stats))}
	op.request = func(c *workerv1.Command, g *group, _ []int) {
		gains := &workerv1.Gains{Step: e.step, Stats: packed}
		if g.session.compact() {
			gains.Most = uint32(needed)
		}
		c.Operation = &workerv1.Command_Gains{Gains: gains}
	}
	op.decode = func(answer *reply, from *session, tiles []int) error {
		if from.compact() {
			return nil
		}
		all, err := wire.UnpackFloat64s(answer.values)
		if rows := e.rowsOf(tiles); err == nil && len(all) != len(stats)*rows {
			err = fmt.Errorf("%d gains of %d rows", len(all), rows)
		} else if err == nil {
			answer.values = wire.PackLargest(slices.Collect(slices.Chunk(all, rows)), needed)
		}
		return err
	}
	op.merge = func(tiles []int, answer *reply) error {
		lists, err := wire.UnpackLargest(answer.values, len(stats), e.rowsOf(tiles), needed)
		if err != nil {
			return err
		}
		for at, list := range lists {
			for _, t := range tiles {
				rows := partition.Tile(e.rows, t)
				list = list[copy(values[at][rows.From:rows.To], list):]
			}
		}
		return nil
	}
	return values, e.atStep(ctx, op)
}

// Fits implements kernelkmeans.Executor.
func (e *Executor) Fits(ctx context.Context, stats []kernel.ClusterStats) ([][]float64, error) {
	packed := wire.StatsToProto(stats)
	values, op := e.rowLists(2*len(stats), &operation{name: "fits", possible: number, request: func(c *workerv1.Command, _ *group, _ []int) {
		c.Operation = &workerv1.Command_Fits{Fits: &workerv1.Fits{Step: e.step, Stats: packed}}
	}})
	return values, e.atStep(ctx, op)
}

// Blocks implements kernelkmeans.Executor. Workers return each pair of points once.
func (e *Executor) Blocks(ctx context.Context, blocks []kernel.Block) ([][]float64, error) {
	packed := wire.BlocksToProto(blocks)
	values := make([][]float64, len(blocks))
	for at, b := range blocks {
		if len(b.Points) > e.need.Block {
			return nil, fmt.Errorf("fleet: a block of %d points, planned were %d", len(b.Points), e.need.Block)
		}
		values[at] = make([]float64, len(b.Points)*b.Width(e.k))
	}
	// parts calls do with the sums of each point in the given tiles, and with its entries from its own on, in the order of
	// an answer.
	parts := func(tiles []int, do func(part []float64) error) error {
		for at, b := range blocks {
			for _, rows := range partition.TileRanges(e.rows, tiles) {
				from, to := b.Within(rows)
				for place := from; place < to; place++ {
					row := values[at][place*b.Width(e.k):][:b.Width(e.k)]
					for _, part := range [][]float64{row[:e.k], row[e.k+place:]} {
						if err := do(part); err != nil {
							return err
						}
					}
				}
			}
		}
		return nil
	}
	bytes := func(tiles []int) (total int) {
		_ = parts(tiles, func(part []float64) error {
			total += 8 * len(part)
			return nil
		})
		return total
	}
	err := e.atStep(ctx, &operation{
		name:     "blocks",
		maxBytes: func([]int) int { return 8 * len(blocks) * e.need.Block * (e.k + e.need.Block) }, // with each pair twice
		request: func(c *workerv1.Command, g *group, _ []int) {
			c.Operation = &workerv1.Command_Blocks{Blocks: &workerv1.Blocks{Step: e.step, Blocks: packed, PairsOnce: g.session.pairsOnce()}}
		},
		decode: func(answer *reply, from *session, tiles []int) error {
			if from.pairsOnce() {
				return nil
			}
			return e.dropRepeated(answer, blocks, tiles)
		},
		merge: func(tiles []int, answer *reply) error {
			rest := answer.values
			if want := bytes(tiles); len(rest) != want {
				return fmt.Errorf("%d bytes instead of %d", len(rest), want)
			}
			return parts(tiles, func(part []float64) error {
				packed := rest[:8*len(part)]
				rest = rest[len(packed):]
				return unpackPossible(part, packed, finite)
			})
		},
	})
	for at, b := range blocks {
		b.Mirror(values[at], e.k)
	}
	return values, err
}

// dropRepeated reduces the blocks that a worker of an earlier minor version answers to each pair once.
func (e *Executor) dropRepeated(answer *reply, blocks []kernel.Block, tiles []int) error {
	all, err := wire.UnpackFloat64s(answer.values)
	if err != nil {
		return err
	}
	var kept []float64
	ranges := partition.TileRanges(e.rows, tiles)
	for _, b := range blocks {
		size := 0
		for _, rows := range ranges {
			from, to := b.Within(rows)
			size += (to - from) * b.Width(e.k)
		}
		if size > len(all) {
			return fmt.Errorf("%d values of blocks are missing", size-len(all))
		}
		kept = append(kept, b.DropRepeated(all[:size], e.k, ranges)...)
		all = all[size:]
	}
	if len(all) > 0 {
		return fmt.Errorf("%d values more than the blocks have", len(all))
	}
	answer.values = wire.PackFloat64s(kept)
	return nil
}
