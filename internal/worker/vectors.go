package worker

import (
	"context"
	"errors"
	"fmt"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/labeling"
	"github.com/cleave-project/cleave/internal/vector"
	"github.com/cleave-project/cleave/internal/wire"
)

// vectors is the tiles of a job of the vector family.
type vectors struct{ *vector.Shard }

func (v *vectors) build(ctx context.Context, tiles []int, stored bool) error {
	if !stored {
		return errors.New("worker: tiles of vectors are always stored")
	}
	_, err := v.Build(ctx, tiles)
	return err
}

func (v *vectors) perform(j *job, c *workerv1.Command, tiles []int) (*workerv1.Done, error) {
	switch op := c.GetOperation().(type) {
	case *workerv1.Command_Load:
		labels, err := unpackPayload(j, op.Load.GetLabels(), wire.UnpackInt32s)
		if err != nil {
			return nil, err
		}
		return j.valuesOf(c)(v.Load(j.ctx, tiles, op.Load.GetStep(), j.need.K, labels))
	case *workerv1.Command_Update:
		moves, err := unpackPayload(j, op.Update.GetMoves(), wire.UnpackMoves)
		if err != nil {
			return nil, err
		}
		return j.valuesOf(c)(v.Update(j.ctx, tiles, op.Update.GetStep(), moves))
	case *workerv1.Command_VectorAssign:
		model, skip, err := j.modelAndPoints(op.VectorAssign.GetModel(), op.VectorAssign.GetSkip())
		if err != nil {
			return nil, err
		}
		return j.movesOf(c)(v.Assign(j.ctx, tiles, op.VectorAssign.GetStep(), model, skip))
	case *workerv1.Command_VectorFarthest:
		return v.farthest(j, tiles, op.VectorFarthest)
	case *workerv1.Command_Distances:
		model, points, err := j.modelAndPoints(op.Distances.GetModel(), op.Distances.GetPoints())
		if err != nil {
			return nil, err
		}
		if limit := j.need.MaxPointsPerRequest(); len(points) > limit {
			return nil, fmt.Errorf("worker: the distances of %d points at once, %d are planned for", len(points), limit)
		}
		return j.valuesOf(c)(v.Distances(j.ctx, tiles, model, points))
	case *workerv1.Command_Scatter:
		return v.scatter(j, c, tiles, op.Scatter)
	case *workerv1.Command_Nearest:
		model, err := j.model(op.Nearest.GetModel())
		if err != nil {
			return nil, err
		}
		return j.valuesOf(c)(v.Nearest(j.ctx, tiles, model))
	}
	return nil, unknownCommand(c)
}

func (v *vectors) farthest(j *job, tiles []int, op *workerv1.VectorFarthest) (*workerv1.Done, error) {
	model, skip, err := j.modelAndPoints(op.GetModel(), op.GetSkip())
	if err != nil {
		return nil, err
	}
	counts, err := unpackPayload(j, op.GetCounts(), wire.UnpackInt32s)
	if err != nil {
		return nil, err
	}
	far, err := v.Farthest(j.ctx, tiles, op.GetStep(), model, skip, counts)
	return &workerv1.Done{Farthest: wire.CandidatesToProto([]labeling.Candidate{far})}, err
}

func (v *vectors) scatter(j *job, c *workerv1.Command, tiles []int, op *workerv1.Scatter) (*workerv1.Done, error) {
	kind, err := wire.ScatterFromProto(op.GetKind())
	if err != nil {
		return nil, err
	}
	switch limit := j.need.MaxTilesPerRequest(); {
	case kind == vector.Full && !j.need.Vectors.FullMetric:
		return nil, errors.New("worker: a full scatter in a job without a full metric")
	case kind != vector.Total && len(tiles) > limit:
		return nil, fmt.Errorf("worker: the scatter of %d tiles at once, %d are planned for", len(tiles), limit)
	}
	model, err := j.model(op.GetModel())
	if err != nil {
		return nil, err
	}
	return j.valuesOf(c)(v.Scatter(j.ctx, tiles, op.GetStep(), model, kind))
}

// model fetches a model and checks that it is not larger than planned.
func (j *job) model(p *workerv1.VectorModel) (*vector.Model, error) {
	columns := j.need.Vectors.Columns
	if int64(p.GetClusters()) > int64(j.need.K) {
		return nil, fmt.Errorf("worker: a model of %d clusters, prepared for %d", p.GetClusters(), j.need.K)
	}
	centroids, err := j.floats(p.GetCentroids(), int(p.GetClusters())*columns)
	if err != nil {
		return nil, err
	}
	absent, err := unpackPayload(j, p.GetAbsent(), wire.UnpackBools)
	if err != nil {
		return nil, err
	}
	matrix, err := j.optionalFloats(p.GetMetric())
	if err != nil {
		return nil, err
	}
	if len(matrix) > columns && !j.need.Vectors.FullMetric {
		return nil, fmt.Errorf("worker: a metric of %d values for %d columns", len(matrix), columns)
	}
	return wire.VectorModelFromProto(p, centroids, absent, matrix)
}

// modelAndPoints fetches a model and a list of points.
func (j *job) modelAndPoints(m *workerv1.VectorModel, points *workerv1.Payload) (*vector.Model, []int32, error) {
	model, err := j.model(m)
	if err != nil {
		return nil, nil, err
	}
	list, err := unpackPayload(j, points, wire.UnpackInt32s)
	return model, list, err
}
