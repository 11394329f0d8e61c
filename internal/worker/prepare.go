package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

// prepare opens the job: its data set, and the matrix, the vectors or the neighbors that are computed from it.
func (j *job) prepare(p *workerv1.Prepare) error {
	if j.shard != nil {
		return nil
	}
	if p.GetDatasetBytes() > planning.Unlimited || p.GetK() < 1 {
		return fmt.Errorf("worker: a job of %d clusters of %d bytes of data", p.GetK(), p.GetDatasetBytes())
	}
	j.need = planning.Workload{
		DatasetBytes: int64(p.GetDatasetBytes()), K: int(p.GetK()), Scaled: p.GetUnits() != nil, Whole: !p.GetByRows(),
	}
	units, err := j.unitsOf(p)
	if err != nil {
		return err
	}
	switch what := p.GetWhat().(type) {
	case *workerv1.Prepare_Matrix:
		return j.prepareMatrix(p, what.Matrix, units)
	case *workerv1.Prepare_Vectors:
		return j.prepareVectors(p, what.Vectors, units)
	case *workerv1.Prepare_Neighbors:
		return j.prepareNeighbors(p, what.Neighbors, units)
	}
	return errors.New("worker: a job without matrix, vectors or neighbors")
}

// prepareMatrix opens a kernel-family job. The tiles of a graph refer to the data set, which stays in memory with the
// job. Points are copied; their data set may be evicted afterwards.
func (j *job) prepareMatrix(p *workerv1.Prepare, m *workerv1.MatrixSpec, units *dataset.Units) error {
	in := &payloads{job: j}
	mean := in.floats(m.GetMean())
	scale := in.floats(m.GetScale())
	if in.err != nil {
		return in.err
	}
	spec, err := wire.MatrixSpecFromProto(m, mean, scale)
	if err != nil {
		return err
	}
	if j.need.K > spec.Rows || p.GetLanes() > kernel.MaxLanes || p.GetProducts() > maxProducts ||
		p.GetBlock() > kernel.MaxBlock || p.GetSparseEntries() > math.MaxInt32 {
		return fmt.Errorf("worker: a job of %d clusters of %d rows in %d lanes and %d sparse entries",
			p.GetK(), spec.Rows, p.GetLanes(), p.GetSparseEntries())
	}
	j.need.Lanes = int(p.GetLanes())
	j.need.Matrix = &planning.Matrix{
		Spec: spec, Products: int(p.GetProducts()), Block: int(p.GetBlock()),
		SparseEntries: int64(p.GetSparseEntries()),
	}
	create := func(data dataset.Dataset, threads int) (shard, error) {
		source, err := kernel.NewSource(spec, data, func(ctx context.Context, from, to int) ([]float64, error) {
			return j.fetchRows(ctx, p.GetDatasetId(), spec.Columns, from, to)
		})
		if err != nil {
			return nil, err
		}
		return &matrix{Shard: kernel.NewShard(source, threads)}, nil
	}
	if spec.Function == kernel.Given {
		return j.allocate(spec.Rows, func(threads int) (shard, error) { return create(nil, threads) })
	}
	return j.prepareWhole(p.GetDatasetId(), spec.Rows, units, nil, create)
}

// prepareVectors opens a k-means-family job.
func (j *job) prepareVectors(p *workerv1.Prepare, v *workerv1.VectorSpec, units *dataset.Units) error {
	in := &payloads{job: j}
	mean := in.floats(v.GetMean())
	grids := in.int32s(v.GetGrids())
	if in.err != nil {
		return in.err
	}
	spec, err := wire.VectorSpecFromProto(v, mean, grids)
	if err != nil {
		return err
	}
	if spec.Features, err = j.featuresOf(v, spec); err != nil {
		return err
	}
	if j.need.K > spec.Rows || p.GetLanes() > vector.MaxLanes {
		return fmt.Errorf("worker: a job of %d clusters of %d rows in %d lanes", j.need.K, spec.Rows, p.GetLanes())
	}
	j.need.Lanes = int(p.GetLanes())
	j.need.Vectors = &planning.Vectors{Rows: spec.Rows, Columns: spec.Columns, Width: spec.Width(),
		FullMetric: v.GetFullMetric()}
	if f := spec.Features; f != nil {
		j.need.Vectors.Features = &planning.Features{Function: f.Matrix.Function, Columns: f.Matrix.Columns,
			Landmarks: len(f.Landmarks)}
	}
	if j.need.ByRows() {
		return j.prepareRows(p.GetDatasetId(), v, spec, units)
	}
	plan := func(data dataset.Dataset) { j.need.Vectors.Entries = planning.TileEntries(data) }
	return j.prepareWhole(p.GetDatasetId(), spec.Rows, units, plan,
		func(data dataset.Dataset, threads int) (shard, error) {
			source, err := vector.NewSource(spec, data)
			if err != nil {
				return nil, err
			}
			return &vectors{Shard: vector.NewShard(source, threads)}, nil
		})
}

// prepareWhole opens a job that needs the whole data set. It creates the shard from the data set in the job's units.
// plan, if not nil, completes j.need once the data set is here.
func (j *job) prepareWhole(
	datasetID string, rows int, units *dataset.Units, plan func(dataset.Dataset), create func(data dataset.Dataset,
		threads int) (shard, error),
) error {
	lease, err := j.openDataset(datasetID, rows)
	if err != nil {
		return err
	}
	defer j.keepOrRelease(lease)
	if plan != nil {
		plan(lease.data)
	}
	return j.allocate(rows, func(threads int) (shard, error) {
		data, err := units.Apply(lease.data)
		if err != nil {
			return nil, err
		}
		return create(data, threads)
	})
}

// prepareRows opens a k-means-family job whose tiles are built from rows that are fetched when they are needed.
func (j *job) prepareRows(datasetID string, v *workerv1.VectorSpec, spec *vector.RowSpec, units *dataset.Units) error {
	columns := spec.Columns
	if spec.Features != nil {
		columns = spec.Features.Matrix.Columns
	}
	if v.GetTileEntries() != nil {
		entries, err := unpackPayload(j, v.GetTileEntries(), wire.UnpackInt64s)
		if err != nil {
			return err
		}
		j.need.Vectors.Entries = entries
	}
	pieces, err := newRowPieces(j.need.DatasetBytes, spec.Rows, columns, j.need.Vectors.Entries, units)
	if err != nil {
		return err
	}
	j.datasetID, j.rowPieces = datasetID, pieces
	return j.allocate(spec.Rows, func(threads int) (shard, error) {
		source, err := vector.NewFetchingSource(spec, pieces.entries != nil, pieces.rowsOf)
		if err != nil {
			return nil, err
		}
		return &vectors{Shard: vector.NewShard(source, threads)}, nil
	})
}

// featuresOf returns how to compute kernel features, or nil if the rows are those of the data set.
func (j *job) featuresOf(v *workerv1.VectorSpec, spec *vector.RowSpec) (*kernel.FeatureSpec, error) {
	f := v.GetKernelFeatures()
	if f == nil {
		return nil, nil
	}
	in := &payloads{job: j}
	mean := in.floats(f.GetMatrix().GetMean())
	landmarks := in.int32s(f.GetLandmarks())
	projection := in.floats(f.GetProjection())
	points := in.floats(f.GetPoints())
	if in.err != nil {
		return nil, in.err
	}
	return wire.FeaturesFromProto(f, spec.Columns, mean, landmarks, projection, points)
}

// unitsOf returns the units to convert the data set to, or nil for none.
func (j *job) unitsOf(p *workerv1.Prepare) (*dataset.Units, error) {
	if p.GetUnits() == nil {
		return nil, nil
	}
	in := &payloads{job: j}
	center := in.floats(p.GetUnits().GetCenter())
	scale := in.floats(p.GetUnits().GetScale())
	if in.err != nil {
		return nil, in.err
	}
	return dataset.NewUnits(center, scale)
}

// openDataset fetches the data set and checks its number of rows.
func (j *job) openDataset(id string, rows int) (*lease, error) {
	fetch := func(ctx context.Context) (dataset.Dataset, error) {
		began := time.Now()
		data, err := j.fetchDataset(ctx, id, j.need.DatasetBytes)
		if err == nil {
			j.worker.log.Info("data set is here", "job", j.publicID(), "dataset", id,
				"after", time.Since(began).Round(time.Millisecond))
		}
		return data, err
	}
	lease, err := j.worker.datasets.open(j.ctx, id, j.need.FetchBytes(), j.need.DatasetBytes, fetch)
	if err != nil {
		return nil, err
	}
	if got := lease.data.Rows(); got != rows {
		lease.release()
		return nil, fmt.Errorf("worker: the data set has %d rows instead of %d", got, rows)
	}
	if j.datasetID = id; j.share == nil {
		j.passOn() // it was in memory
	}
	return lease, nil
}

// keepOrRelease keeps the data set for as long as the job, if the job was opened and needs it. Otherwise it releases
// the data set.
func (j *job) keepOrRelease(l *lease) {
	if j.shard != nil && j.need.HeldDatasetBytes() > 0 {
		j.data = l
	} else {
		l.release()
	}
}

// allocate reserves the memory that the job takes in addition to its tiles, and creates its shard. If the data set is
// converted to other units, it also reserves a copy while the shard is created.
func (j *job) allocate(rows int, create func(threads int) (shard, error)) error {
	threads := j.worker.cfg.Threads
	fixed := j.need.FixedBytes(threads) - j.need.HeldDatasetBytes()
	copied := j.need.ScaledCopyBytes()
	if err := j.reserve(fixed+copied, "the job's data"); err != nil {
		return err
	}
	made, err := create(threads)
	j.free(copied)
	if err != nil {
		j.free(fixed)
		return err
	}
	j.rows, j.shard = rows, made
	return nil
}
