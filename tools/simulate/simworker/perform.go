package simworker

import (
	"context"
	"fmt"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// job is what a simulated worker knows about a job.
type job struct {
	rows, k, width int
	vectors        bool                        // of the k-means family
	first          uint64                      // the step of the first labels
	lists          map[uint64][]*workerv1.Tile // lists of tiles that commands name by their numbers
}

// perform does what a real worker would do with a command, except to compute.
func (w *worker) perform(ctx context.Context, c *workerv1.Command) (*workerv1.Done, error) {
	switch op := c.GetOperation().(type) {
	case *workerv1.Command_Prepare:
		w.open(c.GetJobId(), op.Prepare)
		return &workerv1.Done{}, nil
	case *workerv1.Command_Release:
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.jobs, c.GetJobId())
		return &workerv1.Done{}, nil
	case *workerv1.Command_Build, *workerv1.Command_Drop:
		return &workerv1.Done{}, nil
	}
	w.mu.Lock()
	j := w.jobs[c.GetJobId()]
	w.mu.Unlock()
	if j == nil {
		return nil, fmt.Errorf("there is no job %s", c.GetJobId())
	}
	w.recallTiles(j, c)
	if err := w.fetch(ctx, payloadsOf(c)...); err != nil {
		return nil, err
	}
	if err := w.take(ctx, j.rowsOf(c.GetTiles())); err != nil {
		return nil, err
	}
	w.mu.Lock()
	done, data, err := j.result(c, w.MovedEvery)
	w.mu.Unlock()
	if err != nil || data == nil {
		return done, err
	}
	done.Values, err = w.values(ctx, c, data)
	return done, err
}

// open notes the shape of a job.
func (w *worker) open(id string, p *workerv1.Prepare) {
	j := &job{k: int(p.GetK()), lists: map[uint64][]*workerv1.Tile{}}
	switch what := p.GetWhat().(type) {
	case *workerv1.Prepare_Matrix:
		j.rows = int(what.Matrix.GetRows())
	case *workerv1.Prepare_Vectors:
		j.rows = int(what.Vectors.GetRows())
		j.width = int(what.Vectors.GetColumns())
		j.vectors = true
	case *workerv1.Prepare_Neighbors:
		j.rows = int(what.Neighbors.GetRows())
		j.width = int(what.Neighbors.GetCount())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs[id] = j
}

// recallTiles remembers the tiles of a command that numbers them, or fills them in if the command has only their
// number.
func (w *worker) recallTiles(j *job, c *workerv1.Command) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if id := c.GetTilesId(); len(c.Tiles) > 0 {
		j.lists[id] = c.Tiles
	} else {
		c.Tiles = j.lists[id]
	}
}

// payloadsOf returns the payloads that a worker fetches before it computes.
func payloadsOf(c *workerv1.Command) []*workerv1.Payload {
	of := func(q *workerv1.VectorQueries) []*workerv1.Payload {
		return []*workerv1.Payload{q.GetValues(), q.GetIntegers()}
	}
	switch op := c.GetOperation().(type) {
	case *workerv1.Command_SetOperands:
		a := op.SetOperands
		return []*workerv1.Payload{a.GetWeights(), a.GetSparseStarts(), a.GetSparseColumns(), a.GetSparseValues()}
	case *workerv1.Command_Load:
		return []*workerv1.Payload{op.Load.GetLabels()}
	case *workerv1.Command_Update:
		return []*workerv1.Payload{op.Update.GetPackedMoves()}
	case *workerv1.Command_VectorAssign:
		return of(op.VectorAssign.GetQueries())
	case *workerv1.Command_Scatter:
		return of(op.Scatter.GetQueries())
	case *workerv1.Command_VectorStep:
		return of(op.VectorStep.GetQueries())
	}
	return nil
}

// take lets the time of a command pass.
func (w *worker) take(ctx context.Context, rows int) error {
	timer := time.NewTimer(min(w.MaxTime, time.Duration(rows)*w.RowTime/time.Duration(max(1, w.Threads))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// result returns the answer to a command, and the values that go with it; nil if there are none.
func (j *job) result(c *workerv1.Command, movedEvery int) (*workerv1.Done, []byte, error) {
	done := &workerv1.Done{}
	tiles := c.GetTiles()
	switch op := c.GetOperation().(type) {
	case *workerv1.Command_SetOperands:
		j.k = int(op.SetOperands.GetK())
	case *workerv1.Command_Load:
		if j.first == 0 {
			j.first = op.Load.GetStep()
		}
		if !j.vectors {
			done.SelfAffinity = j.selfAffinity(tiles, op.Load.GetStep())
		}
	case *workerv1.Command_Update:
		if j.vectors {
			return done, wire.PackFloat64s(j.changes(j.moves(tiles, op.Update.GetStep(), movedEvery))), nil
		}
		done.SelfAffinity = j.selfAffinity(tiles, op.Update.GetStep()+1)
	case *workerv1.Command_MatrixAssign:
		return done, wire.PackMoves(j.moves(tiles, op.MatrixAssign.GetStep(), movedEvery), j.k), nil
	case *workerv1.Command_VectorAssign:
		return done, wire.PackMoves(j.moves(tiles, op.VectorAssign.GetStep(), movedEvery), j.k), nil
	case *workerv1.Command_VectorStep:
		moves := j.moves(tiles, op.VectorStep.GetStep(), movedEvery)
		totals := [][]float64{ones(len(tiles))}
		return done, wire.PackStep(&vector.Stepped{Moves: moves, Changes: j.changes(moves), Before: totals,
			After: totals}, j.k), nil
	case *workerv1.Command_Scatter:
		return done, wire.PackFloat64s(ones(len(tiles))), nil
	case *workerv1.Command_Diagonal, *workerv1.Command_Degrees, *workerv1.Command_Maxima, *workerv1.Command_Nearest:
		return done, wire.PackFloat64s(ones(j.rowsOf(tiles))), nil
	default:
		return nil, nil, fmt.Errorf("simulated workers do not know %s", wire.CommandName(c))
	}
	return done, nil, nil
}

// rowsOf returns the number of rows of some tiles.
func (j *job) rowsOf(tiles []*workerv1.Tile) int {
	rows := 0
	for _, t := range tiles {
		rows += partition.Tile(j.rows, int(t.GetTile())).Len()
	}
	return rows
}

// ones returns count packed values of 1.
func ones(count int) []float64 {
	values := make([]float64, count)
	for at := range values {
		values[at] = 1
	}
	return values
}

// selfAffinity returns sums that grow with every step, so that the objective falls and the run goes on.
func (j *job) selfAffinity(tiles []*workerv1.Tile, step uint64) []byte {
	sums := make([]kernel.Int128, j.k)
	for c := range sums {
		sums[c] = sums[c].AddInt64(int64(j.rowsOf(tiles)) * int64(step))
	}
	return wire.PackInt128s(sums)
}

// changes returns the changes of the sums of clusters: one of the points that move has ones in all columns, and the
// others have zeros. Centroids change in every iteration, and the coordinator's checks are passed.
func (j *job) changes(moves []labeling.Move) []float64 {
	if len(moves) == 0 {
		return nil
	}
	changes := make([]float64, j.k*j.width)
	if moves[0].From >= 0 {
		for f := range j.width {
			changes[int(moves[0].From)*j.width+f]--
			changes[int(moves[0].To)*j.width+f]++
		}
	}
	return changes
}

// Label returns the label of a point after some iterations: points take turns, one of every movedEvery moves to the
// next cluster in each iteration. At first point i is in cluster i mod k.
func Label(point, iterations, k, movedEvery int) int32 {
	moved := (iterations + movedEvery - 1 - point%movedEvery) / movedEvery
	return int32((point + moved) % k)
}

// moves returns the moves of the points of some tiles at a step. Points of the k-means family have no label at the
// first step, and all of them get one.
func (j *job) moves(tiles []*workerv1.Tile, step uint64, movedEvery int) []labeling.Move {
	iteration := int(step - j.first)
	var moves []labeling.Move
	for _, t := range tiles {
		rows := partition.Tile(j.rows, int(t.GetTile()))
		if j.vectors && iteration == 0 {
			for i := rows.From; i < rows.To; i++ {
				moves = append(moves, labeling.Move{Point: int32(i), From: -1, To: Label(i, 0, j.k, movedEvery)})
			}
			continue
		}
		before := iteration
		if j.vectors {
			before--
		}
		turn := before % movedEvery
		for i := rows.From + (turn-rows.From%movedEvery+movedEvery)%movedEvery; i < rows.To; i += movedEvery {
			moves = append(moves, labeling.Move{Point: int32(i), From: Label(i, before, j.k, movedEvery),
				To: Label(i, before+1, j.k, movedEvery)})
		}
	}
	return moves
}
