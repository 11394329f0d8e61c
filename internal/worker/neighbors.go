package worker

import (
	"context"
	"errors"
	"fmt"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/neighbor"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

// neighbors is the tiles of a search. A tile is built by finding the neighbors of its rows.
type neighbors struct {
	search               *neighbor.Search
	rows, count, threads int
	found                map[int][]int32 // by tile
}

func (s *neighbors) build(ctx context.Context, tiles []int, stored bool) error {
	if !stored {
		return errors.New("worker: tiles of neighbors are always stored")
	}
	var rows []int32
	var fresh []int
	for _, t := range tiles {
		if _, there := s.found[t]; there {
			continue
		}
		fresh = append(fresh, t)
		for of := partition.Tile(s.rows, t); of.From < of.To; of.From++ {
			rows = append(rows, int32(of.From))
		}
	}
	all, err := s.search.Rows(ctx, rows, s.count, s.threads)
	if err != nil {
		return err
	}
	for _, t := range fresh {
		size := partition.Tile(s.rows, t).Len() * s.count
		s.found[t], all = append([]int32(nil), all[:size]...), all[size:]
	}
	return nil
}

func (s *neighbors) Drop(tiles []int) {
	for _, t := range tiles {
		delete(s.found, t)
	}
}

func (s *neighbors) Bytes() int64 {
	bytes := int64(0)
	for _, found := range s.found {
		bytes += 4 * int64(len(found))
	}
	return bytes
}

func (s *neighbors) perform(j *job, c *workerv1.Command, tiles []int) (*workerv1.Done, error) {
	if c.GetNeighbors() == nil {
		return nil, unknownCommand(c)
	}
	size := 0
	for _, t := range tiles {
		size += partition.Tile(s.rows, t).Len() * s.count
	}
	all := make([]int32, 0, size)
	for _, t := range tiles {
		found, there := s.found[t]
		if !there {
			return nil, fmt.Errorf("%w: tile %d is not built", kernel.ErrNotReady, t)
		}
		all = append(all, found...)
	}
	payload, err := j.resultPayload(c, wire.PackInt32s(all))
	return &workerv1.Done{Values: payload}, err
}

// prepareNeighbors opens a search. The rows of a kernel matrix are fetched when a tile needs them; other data sets are
// fetched whole.
func (j *job) prepareNeighbors(p *workerv1.Prepare, spec *workerv1.NeighborSpec) error {
	if spec.GetRows() < 1 || spec.GetRows() > dataset.MaxRows || uint64(spec.GetCount()) >= spec.GetRows() {
		return fmt.Errorf("worker: %d neighbors of each of %d rows", spec.GetCount(), spec.GetRows())
	}
	rows, count := int(spec.GetRows()), int(spec.GetCount())
	if spec.GetDiagonal() != nil {
		return j.prepareKernelNeighbors(p, rows, count, spec.GetDiagonal())
	}
	units, err := j.unitsOf(p)
	if err != nil {
		return err
	}
	lease, err := j.openDataset(p.GetDatasetId(), rows)
	if err != nil {
		return err
	}
	defer j.keepOrRelease(lease)
	j.need.Neighbors = planning.NewNeighbors(lease.data, count)
	return j.allocate(rows, func(threads int) (shard, error) {
		data, err := units.Apply(lease.data)
		if err != nil {
			return nil, err
		}
		search, err := neighbor.NewSearch(data)
		return &neighbors{search, rows, count, threads, map[int][]int32{}}, err
	})
}

func (j *job) prepareKernelNeighbors(p *workerv1.Prepare, rows, count int, diagonal *workerv1.Payload) error {
	values, err := j.floats(diagonal, rows)
	if err != nil {
		return err
	}
	j.need.Neighbors = &planning.Neighbors{Rows: rows, Columns: rows, Count: count, Given: true}
	j.need.Matrix = kernel.MatrixSpec{Function: kernel.Given, Rows: rows, Columns: rows}
	return j.allocate(rows, func(threads int) (shard, error) {
		search := neighbor.NewKernelSearch(values, func(ctx context.Context, from, to int) ([]float64, error) {
			return j.fetchRows(ctx, p.GetDatasetId(), rows, from, to)
		})
		return &neighbors{search, rows, count, threads, map[int][]int32{}}, nil
	})
}
