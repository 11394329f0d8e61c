package fleet

import (
	"context"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/wire"
)

// serve does one worker's part of an operation: whatever its tiles lack first, then the request.
// Everything here is safe to repeat, so that it does not matter where an earlier attempt ended.
// It alone touches the group's seat and tiles meanwhile.
func (e *Executor) serve(ctx context.Context, g *group, op *operation) error {
	if err := e.prepare(ctx, g); err != nil {
		return err
	}
	if err := e.build(ctx, g); err != nil {
		return err
	}
	if err := e.arm(ctx, g); err != nil {
		return err
	}
	ready := g.tiles
	if op.reload != nil {
		var behind []int
		ready, behind = e.splitByStep(g.tiles, op.from)
		if len(behind) > 0 {
			done, err := e.ask(ctx, g.session, behind, 0, func(c *workerv1.Command) {
				c.Operation = &workerv1.Command_Load{Load: &workerv1.Load{Step: op.reload.step, Labels: op.reload.labels.payload()}}
			})
			if err != nil {
				return err
			}
			e.setStep(behind, op.reload.step)
			if op.answers {
				g.parts = append(g.parts, part{tiles: behind, reply: done})
			} else {
				ready = g.tiles
			}
		}
	}
	if op.request == nil {
		g.parts = append(g.parts, part{tiles: ready})
		return nil
	}
	if len(ready) == 0 {
		return nil
	}
	done, err := e.ask(ctx, g.session, ready, op.rowBytes*e.rows(ready), op.request)
	if err != nil {
		return err
	}
	if op.to != 0 {
		e.setStep(ready, op.to)
	}
	g.parts = append(g.parts, part{tiles: ready, reply: done})
	return nil
}

// prepare opens the job on the worker.
func (e *Executor) prepare(ctx context.Context, g *group) error {
	if g.seat.prepared {
		return nil
	}
	_, err := e.ask(ctx, g.session, nil, 0, func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Prepare{Prepare: &workerv1.Prepare{
			DatasetId:     e.datasetID,
			DatasetBytes:  uint64(e.need.DatasetBytes),
			What:          &workerv1.Prepare_Matrix{Matrix: wire.MatrixSpecToProto(e.spec, e.mean.payload(), e.scale.payload())},
			K:             uint32(e.need.K),
			SparseEntries: uint64(e.need.SparseEntries),
			Lanes:         uint32(e.need.Lanes),
		}}
	})
	g.seat.prepared = err == nil
	return err
}

// arm gives the worker the weights and the sparse part, if it lacks them.
func (e *Executor) arm(ctx context.Context, g *group) error {
	if e.armed == nil || g.seat.armed == e.armed.id {
		return nil
	}
	a := e.armed
	_, err := e.ask(ctx, g.session, nil, 0, func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Arm{Arm: &workerv1.Arm{
			K: uint32(a.k), Lanes: uint32(a.lanes), Armament: a.id,
			Weights:      a.weights.payload(),
			SparseStarts: a.starts.payload(), SparseColumns: a.columns.payload(), SparseValues: a.value.payload(),
		}}
	})
	if err == nil {
		g.seat.armed = a.id
	}
	return err
}

// ask sends one command and waits for its answer.
func (e *Executor) ask(ctx context.Context, s *session, tiles []int, limit int, set func(*workerv1.Command)) (*reply, error) {
	c := &workerv1.Command{JobId: e.key, Tiles: make([]*workerv1.Tile, len(tiles))}
	for i, t := range tiles {
		c.Tiles[i] = &workerv1.Tile{Tile: uint32(t), Epoch: e.tiles[t].epoch}
	}
	set(c)
	answer, bulk, err := e.fleet.call(ctx, e, s, c, limit)
	if err != nil {
		return nil, err
	}
	if f := answer.GetFailure(); f != nil {
		return nil, &failure{worker: s.name, Failure: f}
	}
	done := answer.GetDone()
	r := &reply{values: done.GetValues().GetInline(), selfAffinity: done.GetSelfAffinity(), farthest: done.GetFarthest()}
	if done.GetValues().GetReference() != "" {
		r.values = bulk
	}
	return r, nil
}

func (e *Executor) splitByStep(tiles []int, step uint64) (there, elsewhere []int) {
	for _, t := range tiles {
		if e.tiles[t].step == step {
			there = append(there, t)
		} else {
			elsewhere = append(elsewhere, t)
		}
	}
	return there, elsewhere
}

func (e *Executor) setStep(tiles []int, step uint64) {
	for _, t := range tiles {
		e.tiles[t].step = step
	}
}
