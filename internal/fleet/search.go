package fleet

import (
	"context"
	"fmt"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// What local search and the scores of rows ask of workers.

// Gains implements kernelkmeans.Executor.
func (e *Executor) Gains(ctx context.Context, stats []kernel.ClusterStats) ([][]float64, error) {
	packed := wire.StatsToProto(stats)
	values, op := e.rowLists(len(stats), &operation{name: "gains", possible: number, request: func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Gains{Gains: &workerv1.Gains{Step: e.step, Stats: packed}}
	}})
	return values, e.atStep(ctx, op)
}

// Fits implements kernelkmeans.Executor.
func (e *Executor) Fits(ctx context.Context, stats []kernel.ClusterStats) ([][]float64, error) {
	packed := wire.StatsToProto(stats)
	values, op := e.rowLists(2*len(stats), &operation{name: "fits", possible: number, request: func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Fits{Fits: &workerv1.Fits{Step: e.step, Stats: packed}}
	}})
	return values, e.atStep(ctx, op)
}

// Blocks implements kernelkmeans.Executor.
func (e *Executor) Blocks(ctx context.Context, blocks []kernel.Block) ([][]float64, error) {
	packed := wire.BlocksToProto(blocks)
	values := make([][]float64, len(blocks))
	for at, b := range blocks {
		if len(b.Points) > e.need.Block {
			return nil, fmt.Errorf("fleet: a block of %d points, planned were %d", len(b.Points), e.need.Block)
		}
		values[at] = make([]float64, len(b.Points)*b.Width(e.k))
	}
	// parts calls do with the values of each block that are of the given tiles, in the order of an answer.
	parts := func(tiles []int, do func(part []float64) error) error {
		for at, b := range blocks {
			for _, t := range tiles {
				from, to := b.Within(partition.Tile(e.rows, t))
				if err := do(values[at][from*b.Width(e.k) : to*b.Width(e.k)]); err != nil {
					return err
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
		maxBytes: bytes,
		request: func(c *workerv1.Command) {
			c.Operation = &workerv1.Command_Blocks{Blocks: &workerv1.Blocks{Step: e.step, Blocks: packed}}
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
	return values, err
}
