package worker

import (
	"context"
	"errors"
	"fmt"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

// neighbors holds the tiles of a neighbor search. Building a tile finds the neighbors of its rows. Rows are taken in
// the order of the search, so that the rows of a tile are near each other.
type neighbors struct {
	search         *neighbor.Search
	order          []int32
	count, threads int
	found          map[int][]int32 // by tile: each row followed by its neighbors
}

func newNeighbors(search *neighbor.Search, count, threads int) *neighbors {
	return &neighbors{search: search, order: search.Order(), count: count, threads: threads, found: map[int][]int32{}}
}

func (n *neighbors) rowsOf(tile int) []int32 {
	at := partition.Tile(len(n.order), tile)
	return n.order[at.From:at.To]
}

func (n *neighbors) build(ctx context.Context, tiles []int, stored bool) error {
	if !stored {
		return errors.New("worker: tiles of neighbors are always stored")
	}
	var rows []int32
	var fresh []int
	for _, t := range tiles {
		if _, there := n.found[t]; there {
			continue
		}
		fresh = append(fresh, t)
		rows = append(rows, n.rowsOf(t)...)
	}
	all, err := n.search.Rows(ctx, rows, n.count, n.threads)
	if err != nil {
		return err
	}
	for _, t := range fresh {
		found := make([]int32, 0, len(n.rowsOf(t))*(1+n.count))
		for _, i := range n.rowsOf(t) {
			found = append(append(found, i), all[:n.count]...)
			all = all[n.count:]
		}
		n.found[t] = found
	}
	return nil
}

func (n *neighbors) Drop(tiles []int) {
	for _, t := range tiles {
		delete(n.found, t)
	}
}

// Reset implements shard. Tiles have nothing to drop.
func (n *neighbors) Reset() {}

func (n *neighbors) perform(j *job, c *workerv1.Command, tiles []int) (*workerv1.Done, error) {
	if c.GetNeighbors() == nil {
		return nil, unknownCommand(c)
	}
	size := 0
	for _, t := range tiles {
		size += len(n.found[t])
	}
	all := make([]int32, 0, size)
	for _, t := range tiles {
		found, there := n.found[t]
		if !there {
			return nil, fmt.Errorf("%w: tile %d is not built", kernel.ErrNotReady, t)
		}
		all = append(all, found...)
	}
	return packedAs(wire.PackInt32s, j, c)(all, nil)
}

// prepareNeighbors opens a search. The rows of a kernel matrix are fetched when a tile needs them; other data sets
// are fetched whole.
func (j *job) prepareNeighbors(p *workerv1.Prepare, spec *workerv1.NeighborSpec, units *dataset.Units) error {
	if spec.GetRows() < 1 || spec.GetRows() > dataset.MaxRows || uint64(spec.GetCount()) >= spec.GetRows() {
		return fmt.Errorf("worker: %d neighbors of each of %d rows", spec.GetCount(), spec.GetRows())
	}
	rows := int(spec.GetRows())
	count := int(spec.GetCount())
	if spec.GetDiagonal() != nil {
		return j.prepareKernelNeighbors(p, rows, count, spec.GetDiagonal())
	}
	plan := func(data dataset.Dataset) { j.need.Neighbors = planning.NewNeighbors(data, count) }
	return j.prepareWhole(p.GetDatasetId(), rows, units, plan, func(data dataset.Dataset, threads int) (shard, error) {
		search, err := neighbor.NewSearch(data)
		if err != nil {
			return nil, err
		}
		return newNeighbors(search, count, threads), nil
	})
}

func (j *job) prepareKernelNeighbors(p *workerv1.Prepare, rows, count int, diagonal *workerv1.Payload) error {
	in := &payloads{job: j}
	values := in.floatsOf(diagonal, rows)
	if in.err != nil {
		return in.err
	}
	j.need.Neighbors = &planning.Neighbors{Rows: rows, Columns: rows, Count: count, Given: true}
	return j.allocate(rows, func(threads int) (shard, error) {
		search := neighbor.NewKernelSearch(values, func(ctx context.Context, from, to int) ([]float64, error) {
			return j.fetchRows(ctx, p.GetDatasetId(), rows, from, to)
		})
		return newNeighbors(search, count, threads), nil
	})
}
