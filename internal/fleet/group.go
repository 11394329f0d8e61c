package fleet

import (
	"context"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/wire"
)

// runGroup runs an operation on the tiles of one worker: first whatever the tiles lack, then the request.
// Every step can be repeated safely, so it does not matter where an earlier attempt stopped. Nothing
// else uses the group's membership and tiles at the same time.
func (j *job) runGroup(ctx context.Context, g *group, op *operation) error {
	if err := j.prepare(ctx, g); err != nil {
		return err
	}
	if err := j.build(ctx, g); err != nil {
		return err
	}
	if j.ensureOperands != nil {
		if err := j.ensureOperands(ctx, g); err != nil {
			return err
		}
	}
	ready := g.tiles
	if op.reload != nil {
		var behind []int
		ready, behind = j.splitByStep(g.tiles, op.needStep)
		if len(behind) > 0 {
			done, err := j.runCommand(ctx, g.session, behind, j.sumBytes, func(c *workerv1.Command) {
				c.Operation = &workerv1.Command_Load{Load: &workerv1.Load{Step: op.reload.step, Labels: op.reload.labels.message()}}
			})
			if err != nil {
				return err
			}
			j.setStep(behind, op.reload.step)
			if op.reloadAnswers {
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
	maxBytes := 0
	if op.maxBytes != nil {
		maxBytes = op.maxBytes(ready)
	}
	done, err := j.runCommand(ctx, g.session, ready, maxBytes, op.request)
	if err != nil {
		return err
	}
	if op.resultStep != 0 {
		j.setStep(ready, op.resultStep)
	}
	g.parts = append(g.parts, part{tiles: ready, reply: done})
	return nil
}

// prepare opens the job on the worker, unless it is open.
func (j *job) prepare(ctx context.Context, g *group) error {
	if g.member.prepared {
		return nil
	}
	_, err := j.runCommand(ctx, g.session, nil, 0, func(c *workerv1.Command) {
		p := j.prepareMessage()
		p.Identity = j.identity
		c.Operation = &workerv1.Command_Prepare{Prepare: p}
	})
	g.member.prepared = err == nil
	return err
}

// prepareMessage describes the job to a worker.
func (j *job) prepareMessage() *workerv1.Prepare {
	p := &workerv1.Prepare{DatasetId: j.datasetID, DatasetBytes: uint64(j.need.DatasetBytes), K: uint32(j.need.K)}
	if j.need.Scaled {
		p.Units = &workerv1.Units{Center: j.units.center.message(), Scale: j.units.scale.message()}
	}
	j.describe(p)
	return p
}

// runCommand sends a command to a worker and waits for the answer, whose values may take maxBytes.
func (j *job) runCommand(ctx context.Context, s *session, tiles []int, maxBytes int, set func(*workerv1.Command)) (*reply, error) {
	c := &workerv1.Command{JobId: j.key, Tiles: make([]*workerv1.Tile, len(tiles))}
	for i, t := range tiles {
		c.Tiles[i] = &workerv1.Tile{Tile: uint32(t), Epoch: j.tiles[t].epoch}
	}
	set(c)
	parent, end := j.fleet.cfg.Observer.Command(ctx, wire.CommandName(c), s.name, len(tiles))
	c.TraceParent = parent
	answer, result, err := j.fleet.call(ctx, j, s, c, maxBytes)
	end(whyNotDone(answer, err))
	if err != nil {
		return nil, err
	}
	if f := answer.GetFailure(); f != nil {
		return nil, &failure{worker: s.name, Failure: f}
	}
	done := answer.GetDone()
	r := &reply{values: done.GetValues().GetInline(), selfAffinity: done.GetSelfAffinity(), farthest: done.GetFarthest()}
	if done.GetValues().GetReference() != "" {
		r.values = result
	}
	return r, nil
}

// splitByStep separates the tiles that are at a step from the others.
func (j *job) splitByStep(tiles []int, step uint64) (at, other []int) {
	for _, t := range tiles {
		if j.tiles[t].step == step {
			at = append(at, t)
		} else {
			other = append(other, t)
		}
	}
	return at, other
}

func (j *job) setStep(tiles []int, step uint64) {
	for _, t := range tiles {
		j.tiles[t].step = step
	}
}
