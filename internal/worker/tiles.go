package worker

import (
	"context"
	"fmt"
	"math"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

// prepare opens the job: its data and its matrix.
func (j *job) prepare(p *workerv1.Prepare) error {
	if j.shard != nil {
		return nil
	}
	mean, err := j.optionalFloats(p.GetMatrix().GetMean())
	if err != nil {
		return err
	}
	scale, err := j.optionalFloats(p.GetMatrix().GetScale())
	if err != nil {
		return err
	}
	spec, err := wire.MatrixSpecFromProto(p.GetMatrix(), mean, scale)
	if err != nil {
		return err
	}
	if int64(p.GetK()) < 1 || int64(p.GetK()) > int64(spec.Rows) || p.GetLanes() > kernel.MostLanes || p.GetDatasetBytes() > planning.Unlimited || p.GetSparseEntries() > math.MaxInt32 {
		return fmt.Errorf("worker: a job of %d clusters of %d rows in %d lanes, %d bytes of data and %d sparse entries",
			p.GetK(), spec.Rows, p.GetLanes(), p.GetDatasetBytes(), p.GetSparseEntries())
	}
	j.need = planning.Problem{
		Matrix: spec, DatasetBytes: int64(p.GetDatasetBytes()), K: int(p.GetK()), Lanes: int(p.GetLanes()), SparseEntries: int64(p.GetSparseEntries()),
	}
	source, err := j.open(p.GetDatasetId(), spec)
	if err != nil {
		return err
	}
	j.rows, j.shard = spec.Rows, kernel.NewShard(source, j.session.worker.cfg.Threads)
	return nil
}

// open makes the source of the matrix from the data set. A graph is used as it is; points are let go
// of afterwards, and stay only as long as nobody needs their memory.
func (j *job) open(id string, spec kernel.Spec) (_ *kernel.Source, err error) {
	threads := j.session.worker.cfg.Threads
	var data dataset.Dataset
	if spec.Function != kernel.Given {
		fetch := func(ctx context.Context) (dataset.Dataset, error) {
			return j.fetchDataset(ctx, id, j.need.DatasetBytes)
		}
		lease, err := j.session.worker.datasets.open(j.ctx, id, j.need.FetchBytes(), j.need.DatasetBytes, fetch)
		if err != nil {
			return nil, err
		}
		if data = lease.data; data.Rows() != spec.Rows {
			lease.release()
			return nil, fmt.Errorf("worker: the data set has %d rows, the matrix %d", data.Rows(), spec.Rows)
		}
		if j.need.HeldBytes() > 0 {
			j.data = lease
		} else {
			defer lease.release()
		}
	}
	seat := j.need.SeatBytes(threads) - j.need.HeldBytes()
	err = j.reserve(seat, "the job's data")
	if err == nil {
		rows := func(ctx context.Context, from, to int) ([]float64, error) {
			return j.fetchRows(ctx, id, spec.Columns, from, to)
		}
		var source *kernel.Source
		if source, err = kernel.NewSource(spec, data, rows); err == nil {
			return source, nil
		}
		j.free(seat)
	}
	if j.data != nil {
		j.data.release()
		j.data = nil
	}
	return nil, err
}

// build makes tiles, stored or not, or changes those that are there over. All of the memory is
// reserved first; if anything fails, nothing has changed.
func (j *job) build(tiles []int, stored bool) (*workerv1.Done, error) {
	more, less, total := int64(0), int64(0), int64(0)
	var fresh []int
	for _, t := range tiles {
		size := j.need.TileSize(t)
		total += size.Of(stored)
		switch was, there := j.tiles[t]; {
		case !there:
			more += size.Of(stored)
			fresh = append(fresh, t)
		case was && !stored:
			less += size.Of(was) - size.Of(stored)
		default:
			more += size.Of(stored) - size.Of(was)
		}
	}
	if err := j.reserve(more, "the tiles"); err != nil {
		return nil, err
	}
	if err := j.construct(tiles, stored); err != nil {
		j.shard.Drop(fresh)
		j.free(more)
		return nil, err
	}
	for _, t := range tiles {
		j.tiles[t] = stored
	}
	j.free(less)
	return &workerv1.Done{TileBytes: uint64(total)}, nil
}

// construct lets the shard build. Rows of a given matrix pass through in float64: the seat has room for
// those of one tile, and more are fetched at a time as far as there is memory just now.
func (j *job) construct(tiles []int, stored bool) error {
	passing, memory := j.need.PassingBytes(), j.session.worker.memory
	for len(tiles) > 0 {
		batch := len(tiles)
		if passing > 0 {
			batch = 1
			for batch < min(len(tiles), j.session.worker.cfg.Threads) && memory.take(passing) {
				batch++
			}
		}
		_, err := j.shard.Build(j.ctx, tiles[:batch], stored)
		memory.free(int64(batch-1) * passing)
		if err != nil {
			return err
		}
		tiles = tiles[batch:]
	}
	return nil
}

// drop forgets tiles, but not those that have been placed here again since.
func (j *job) drop(placed []*workerv1.Tile) {
	var tiles []int
	for _, p := range placed {
		t := int(p.GetTile())
		stored, there := j.tiles[t]
		if !there || p.GetEpoch() < j.epochs[p.GetTile()] {
			continue
		}
		tiles = append(tiles, t)
		delete(j.tiles, t)
		j.free(j.need.TileSize(t).Of(stored))
	}
	j.shard.Drop(tiles)
}
