package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

var errUnprepared = errors.New("the job is not prepared on this worker")

// shard holds the tiles of a job and runs the commands of its family of methods. Only the job's goroutine uses it.
type shard interface {
	// build builds tiles, stored or computed; tiles that are already built are converted.
	build(ctx context.Context, tiles []int, stored bool) error
	// Drop frees tiles.
	Drop(tiles []int)
	// Reset drops everything that tiles have in addition to what they were built from: operands, labels, sums.
	Reset()
	// perform runs one of the family's commands on tiles.
	perform(j *job, c *workerv1.Command, tiles []int) (*workerv1.Done, error)
}

// dispatch runs one command.
func (j *job) dispatch(c *workerv1.Command) (*workerv1.Done, error) {
	if prepare := c.GetPrepare(); prepare != nil {
		j.holding.setIdentity(prepare.GetIdentity())
		return &workerv1.Done{}, j.prepare(prepare)
	}
	if read := c.GetReadObject(); read != nil {
		return j.readObject(c, read)
	}
	if j.shard == nil {
		return nil, errUnprepared
	}
	switch c.GetOperation().(type) {
	case *workerv1.Command_Adopt:
		defer j.noteHeld()
		return &workerv1.Done{}, j.adopt(c.GetTiles())
	case *workerv1.Command_Drop:
		defer j.noteHeld()
		j.drop(c.GetTiles())
		return &workerv1.Done{}, nil
	}
	tiles, err := j.checkTiles(c.GetTiles())
	if err != nil {
		return nil, err
	}
	if build := c.GetBuild(); build != nil {
		defer j.noteHeld()
		return j.build(tiles, !build.GetMatrixFree())
	}
	done, err := j.shard.perform(j, c, tiles)
	if err == nil && j.readsAll(c) {
		j.observeSweep(c, tiles, j.rows)
	}
	return done, err
}

func unknownCommand(c *workerv1.Command) error {
	return fmt.Errorf("worker: unknown command %T", c.GetOperation())
}

// checkTiles returns the numbers of the tiles of a command. It rejects outdated placements, and tiles that are listed
// twice, on which two threads would work at the same time.
func (j *job) checkTiles(placed []*workerv1.Tile) ([]int, error) {
	tiles := make([]int, len(placed))
	for i, t := range placed {
		if int64(t.GetTile()) >= int64(partition.TileCount(j.rows)) {
			return nil, fmt.Errorf("worker: there is no tile %d of %d rows", t.GetTile(), j.rows)
		}
		if t.GetEpoch() < j.epochs[t.GetTile()] {
			return nil, fmt.Errorf("%w: tile %d has been placed again since", kernel.ErrNotReady, t.GetTile())
		}
		j.epochs[t.GetTile()] = t.GetEpoch()
		tiles[i] = int(t.GetTile())
	}
	ascending := tiles
	if !slices.IsSorted(tiles) {
		ascending = slices.Sorted(slices.Values(tiles))
	}
	for i, t := range ascending[min(1, len(tiles)):] {
		if t == ascending[i] {
			return nil, fmt.Errorf("worker: tile %d is listed twice", t)
		}
	}
	return tiles, nil
}

// packedAs returns a function that makes the result of an operation the answer to a command.
func packedAs[T any](pack func(T) []byte, j *job, c *workerv1.Command) func(T, error) (*workerv1.Done, error) {
	return func(result T, err error) (*workerv1.Done, error) {
		if err != nil {
			return nil, err
		}
		payload, err := j.resultPayload(c, pack(result))
		return &workerv1.Done{Values: payload}, err
	}
}

func (j *job) valuesOf(c *workerv1.Command) func([]float64, error) (*workerv1.Done, error) {
	return packedAs(wire.PackFloat64s, j, c)
}

func (j *job) listsOf(c *workerv1.Command) func([][]float64, error) (*workerv1.Done, error) {
	return packedAs(wire.PackFloat64Lists, j, c)
}

// movesOf returns a function that packs moves into an answer.
func (j *job) movesOf(c *workerv1.Command, clusters int) func([]labeling.Move, error) (*workerv1.Done, error) {
	return packedAs(func(moves []labeling.Move) []byte { return wire.PackMoves(moves, clusters) }, j, c)
}

// movesToApply fetches the moves of an update.
func (j *job) movesToApply(op *workerv1.Update) ([]labeling.Move, error) {
	return unpackPayload(j, op.GetPackedMoves(), wire.UnpackMoves)
}

// unpackPayload fetches and unpacks a payload. It returns nil if p is nil.
func unpackPayload[T any](j *job, p *workerv1.Payload, as func([]byte) ([]T, error)) ([]T, error) {
	if p == nil {
		return nil, nil
	}
	data, err := j.payloadBytes(p)
	if err != nil {
		return nil, err
	}
	return as(data)
}

// payloads fetches the payloads of a command and keeps the first error. A nil payload is nil.
type payloads struct {
	job *job
	err error
}

func (p *payloads) floats(of *workerv1.Payload) []float64 { return fetch(p, of, wire.UnpackFloat64s) }
func (p *payloads) int32s(of *workerv1.Payload) []int32   { return fetch(p, of, wire.UnpackInt32s) }
func (p *payloads) int64s(of *workerv1.Payload) []int64   { return fetch(p, of, wire.UnpackInt64s) }

func fetch[T any](p *payloads, of *workerv1.Payload, as func([]byte) ([]T, error)) (values []T) {
	if p.err == nil {
		values, p.err = unpackPayload(p.job, of, as)
	}
	return values
}

// floatsOf fetches a payload of count values.
func (p *payloads) floatsOf(of *workerv1.Payload, count int) []float64 {
	if p.err != nil {
		return nil
	}
	values, err := p.job.payloadFloats(of, count)
	p.err = err
	return values
}
