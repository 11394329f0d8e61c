package worker

import (
	"context"
	"errors"
	"fmt"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/wire"
)

// vectors holds the tiles of a k-means-family job.
type vectors struct{ *vector.Shard }

func (v *vectors) build(ctx context.Context, tiles []int, stored bool) error {
	if !stored {
		return errors.New("worker: tiles of vectors are always stored")
	}
	return v.Build(ctx, tiles)
}

func (v *vectors) perform(j *job, c *workerv1.Command, tiles []int) (*workerv1.Done, error) {
	var queries []vector.Query
	if given, is := wire.Operation(c).(interface {
		GetQueries() *workerv1.VectorQueries
	}); is {
		var err error
		if queries, err = j.queries(given.GetQueries()); err != nil {
			return nil, err
		}
	}
	switch op := c.GetOperation().(type) {
	case *workerv1.Command_Load:
		labels, err := unpackPayload(j, op.Load.GetLabels(), wire.UnpackInt32s)
		if err != nil {
			return nil, err
		}
		if len(labels) > j.rows*max(1, j.need.Lanes) {
			return nil, fmt.Errorf("worker: %d labels of %d rows, prepared for %d lanes", len(labels),
				j.rows, j.need.Lanes)
		}
		return &workerv1.Done{}, v.LoadTiles(tiles, op.Load.GetStep(), j.need.K, labels)
	case *workerv1.Command_Update:
		moves, err := j.movesToApply(op.Update)
		if err != nil {
			return nil, err
		}
		j.observeSweep(c, tiles, len(moves))
		return j.valuesOf(c)(v.Update(j.ctx, tiles, op.Update.GetStep(), moves))
	case *workerv1.Command_VectorAssign:
		return j.movesOf(c, j.need.K)(v.Assign(j.ctx, tiles, op.VectorAssign.GetStep(), queries))
	case *workerv1.Command_VectorStep:
		pack := func(step *vector.Stepped) []byte { return wire.PackStep(step, j.need.K) }
		return packedAs(pack, j, c)(v.Step(j.ctx, tiles, op.VectorStep.GetStep(), queries))
	case *workerv1.Command_VectorFarthest:
		far, err := v.Farthest(j.ctx, tiles, op.VectorFarthest.GetStep(), queries)
		return &workerv1.Done{Farthest: wire.CandidatesToProto(far)}, err
	case *workerv1.Command_Distances:
		return v.distances(j, c, tiles, queries)
	case *workerv1.Command_Scatter:
		return v.scatter(j, c, tiles, op.Scatter.GetStep(), queries)
	case *workerv1.Command_Nearest:
		return j.listsOf(c)(v.Nearest(j.ctx, tiles, queries))
	case *workerv1.Command_NearestTwo:
		return j.listsOf(c)(v.NearestTwo(j.ctx, tiles, queries))
	}
	return nil, unknownCommand(c)
}

func (v *vectors) distances(j *job, c *workerv1.Command, tiles []int, queries []vector.Query) (*workerv1.Done, error) {
	points := 0
	for _, q := range queries {
		points += len(q.Points)
	}
	if limit := j.need.MaxPointsPerRequest(); points > limit {
		return nil, fmt.Errorf("worker: the distances of %d points at once, %d are planned for", points, limit)
	}
	return j.listsOf(c)(v.Distances(j.ctx, tiles, queries))
}

func (v *vectors) scatter(j *job, c *workerv1.Command, tiles []int, step uint64,
	queries []vector.Query) (*workerv1.Done, error) {
	for _, q := range queries {
		switch limit := j.need.MaxTilesPerRequest(); {
		case q.Kind == vector.Full && !j.need.Vectors.FullMetric:
			return nil, errors.New("worker: a full scatter in a job without a full metric")
		case q.Kind != vector.Total && len(tiles) > limit:
			return nil, fmt.Errorf("worker: the scatter of %d tiles at once, %d are planned for", len(tiles), limit)
		}
	}
	return j.listsOf(c)(v.Scatter(j.ctx, tiles, step, queries))
}

// queries fetches queries and checks that they are not larger than planned.
func (j *job) queries(p *workerv1.VectorQueries) ([]vector.Query, error) {
	columns, count := j.need.Vectors.Columns, 0
	metric := columns
	if j.need.Vectors.FullMetric {
		metric *= columns
	}
	if lanes := max(1, j.need.Lanes); len(p.GetQueries()) < 1 || len(p.GetQueries()) > lanes {
		return nil, fmt.Errorf("worker: %d queries at once, prepared for 1 to %d", len(p.GetQueries()), lanes)
	}
	for _, q := range p.GetQueries() {
		if int64(q.GetClusters()) > int64(j.need.K) {
			return nil, fmt.Errorf("worker: a model of %d clusters, prepared for %d", q.GetClusters(), j.need.K)
		}
		if int64(q.GetMetric()) > int64(metric) {
			return nil, fmt.Errorf("worker: a metric of %d values for %d columns, prepared for %d", q.GetMetric(),
				columns, metric)
		}
		count += int(q.GetClusters())*columns + int(q.GetMetric())
	}
	values, err := j.queryValues(p, count)
	if err != nil {
		return nil, err
	}
	integers, err := unpackPayload(j, p.GetIntegers(), wire.UnpackInt32s)
	if err != nil {
		return nil, err
	}
	return wire.QueriesFromProto(p, columns, values, integers)
}

// numberedValues are values of queries that later commands name by their number.
type numberedValues struct {
	id     uint64
	values []float64
}

// queryValues fetches the values of queries and remembers them, or returns those that it remembers.
func (j *job) queryValues(p *workerv1.VectorQueries, count int) ([]float64, error) {
	if p.GetValues() == nil && p.GetValuesId() != 0 {
		if p.GetValuesId() != j.models.id {
			return nil, fmt.Errorf("%w: the worker does not remember the values %d of queries", kernel.ErrNotReady,
				p.GetValuesId())
		}
		return j.models.values, nil
	}
	j.models = numberedValues{} // before there is memory for others
	values, err := j.payloadFloats(p.GetValues(), count)
	if err == nil && p.GetValuesId() != 0 {
		j.models = numberedValues{id: p.GetValuesId(), values: values}
	}
	return values, err
}
