package vector

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// Shard holds tiles of the points: the part of one worker or, with all tiles, a whole problem in one process.
//
// Its methods take the numbers of the tiles to work on, and return values for their rows in that order. Only one method
// may run at a time; each distributes its tiles over the threads.
//
// The shard has several labelings of the points, its lanes: those of restarts that run side by side. The labels of a
// tile carry a step. Load sets it, Update advances to the next one, and repeating either changes nothing, so every
// operation is safe to retry. A point with the label -1 has no cluster and does not count.
type Shard struct {
	source     *Source
	pool       *parallel.Pool
	tiles      map[int]*tile
	clusters   int // clusters per lane
	lanes      int
	labels     []int32           // of all points, lane after lane; those of a tile are at the tile's step
	remembered []rememberedModel // per lane
	versions   uint64            // number of models remembered so far
	// Buffers reused by later calls.
	terms      []*terms // per query
	pieces     []piece
	workspaces parallel.Workspaces[workspace]
}

// NewShard returns a shard without tiles that uses the given number of threads, at least one.
func NewShard(source *Source, threads int) *Shard {
	return &Shard{source: source, pool: parallel.NewPool(threads), tiles: map[int]*tile{}}
}

// Build creates the given tiles, unless they exist.
func (s *Shard) Build(ctx context.Context, numbers []int) error {
	var missing []int
	for _, number := range numbers {
		if number < 0 || number >= partition.TileCount(s.source.Rows()) {
			return fmt.Errorf("vector: there is no tile %d", number)
		}
		if s.tiles[number] == nil {
			missing = append(missing, number)
		}
	}
	built := make([]*tile, len(missing))
	err := s.pool.Run(ctx, len(missing), func(at int) (err error) {
		built[at], err = s.source.buildTile(ctx, missing[at])
		return err
	})
	if err != nil {
		return err
	}
	for at, number := range missing {
		s.tiles[number] = built[at]
	}
	return nil
}

// Drop removes tiles and frees their memory. Unknown numbers are ignored.
func (s *Shard) Drop(numbers []int) {
	for _, number := range numbers {
		delete(s.tiles, number)
	}
}

// Reset drops the labels, so that only the rows remain, as after Build.
func (s *Shard) Reset() {
	for _, t := range s.tiles {
		t.loaded = false
	}
	s.forgetAll()
}

func (s *Shard) tilesOf(numbers []int) ([]*tile, error) {
	tiles := make([]*tile, len(numbers))
	for i, number := range numbers {
		tiles[i] = s.tiles[number]
		if tiles[i] == nil {
			return nil, errNotReady
		}
	}
	return tiles, nil
}

// shape returns the shape that labels and moves must have.
func (s *Shard) shape() labeling.Shape {
	return labeling.Shape{Points: s.source.Rows(), Clusters: s.clusters, Lanes: s.lanes}
}

// labelsOf returns the labels of a tile's rows in one lane. The clusters of the lane are numbered starting at
// firstCluster.
func (s *Shard) labelsOf(t *tile, lane int) []int32 {
	begin := lane * s.source.Rows()
	return s.labels[begin+t.rows.From : begin+t.rows.To]
}

func (s *Shard) firstCluster(lane int) int32 { return int32(lane * s.clusters) }
