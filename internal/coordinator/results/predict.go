package results

import (
	"context"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/knn"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/clustering/predict"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

// PredictJob labels new points by the model of a job.
func (s *Service) PredictJob(request *cleavev1.PredictJobRequest,
	stream grpc.ServerStreamingServer[cleavev1.PredictJobResponse]) error {
	return s.Predict(stream.Context(), request, stream.Send)
}

// maxPredictions is how many predictions run at a time. Each holds the points and the model of a job in memory, or
// computes on all processors. They bypass the job queue, where waiting may take hours.
const maxPredictions = 2

// Predict labels the new points of a request and sends the labels. Its turn ends before it sends, since that goes at
// the pace of the client, for which it holds the memory of the answer as a download.
func (s *Service) Predict(ctx context.Context, request *cleavev1.PredictJobRequest,
	send func(*cleavev1.PredictJobResponse) error) error {
	record, err := s.record(ctx, request.GetJobId())
	if err != nil {
		return err
	}
	if err := checkPoints(request); err != nil {
		return err
	}
	select {
	case s.predictions <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.d.TurnWait): // as long as a download waits for memory
		return fault.New(fault.ResourceExhausted, "TOO_MANY_PREDICTIONS",
			"%d predictions are already running, the maximum; try again later", maxPredictions).RetryIn(
			queue.RetryDelay)
	}
	endTurn := sync.OnceFunc(func() { <-s.predictions })
	defer endTurn()
	inputs := []Input{{request.GetDatasetId(), []string{request.GetTableId()}}}
	byPoints := record.GetModelBlob() == "" // by those of the job; both are copied to compare them
	if byPoints {
		inputs = append(inputs, Input{record.GetJob().GetDatasetId(), record.GetTableIds()})
	}
	release, err := s.d.Room.Borrow(ctx, inputs, byPoints)
	if err != nil {
		return err
	}
	defer release()
	fresh, err := s.freshPoints(ctx, record, request)
	if err != nil {
		return err
	}
	held, err := s.d.Downloads.BeginMore(ctx, fresh.answerBytes())
	if err != nil {
		return err
	}
	defer held.End()
	found, err := s.predictPoints(ctx, record, fresh.data)
	if err != nil {
		return err
	}
	fresh.data = nil // it may be much larger than the answer
	release()
	endTurn()

	send = queue.Paced(held, send)
	notices := wire.NoticesProto(fresh.notices)
	const atOnce = labelsPerMessage / 4 // each label comes with up to three scores
	return eachLabelPart(0, found.Labels, fresh.rows, atOnce, func(part labelPart) error {
		response := &cleavev1.PredictJobResponse{FirstIndex: uint32(part.first), Labels: part.labels, Rows: part.rows,
			Ids: part.ids}
		if scores, after := found.Rows, part.first+len(part.labels); scores != nil {
			response.Distances = scores.Distance[part.first:after]
			response.Margins = scores.Margin[part.first:after]
			if scores.Posterior {
				response.Confidences = scores.Confidence[part.first:after]
			}
		}
		response.Notices, notices = notices, nil
		return send(response)
	})
}

func (s *Service) predictPoints(ctx context.Context, record *statev1.JobRecord,
	fresh dataset.Dataset) (*clustering.Prediction, error) {
	if record.GetModelBlob() != "" {
		model, err := s.readModel(ctx, record)
		if err != nil {
			return nil, err
		}
		return predict.ByModel(ctx, model, fresh, runtime.GOMAXPROCS(0))
	}
	p, err := s.d.Parts.Spec(ctx, record.GetJob().GetJobId())
	if err != nil {
		return nil, err
	}
	if p.GetKRange() != nil {
		outcome, err := s.d.Parts.Outcome(ctx, record)
		if err != nil {
			return nil, err
		}
		p.Clusters = &cleavev1.JobSpec_K{K: outcome.GetResult().GetK()}
	}
	before, err := s.allLabels(ctx, record)
	if err != nil {
		return nil, err
	}
	in, err := s.d.Problems.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	var labels []int32
	if p.GetAuto() != nil || p.GetNeighborGraph() != nil {
		labels, err = s.predictByNeighbors(ctx, record, in, before, fresh)
	} else {
		labels, err = s.predictByKernel(ctx, record, in, before, fresh)
	}
	return &clustering.Prediction{Labels: labels}, err
}

// predictByNeighbors gives each new point the label of the points of the job that are nearest to it.
func (s *Service) predictByNeighbors(
	ctx context.Context, record *statev1.JobRecord, in *runner.Input, labels []int32, fresh dataset.Dataset,
) ([]int32, error) {
	outcome, err := s.d.Parts.Outcome(ctx, record)
	if err != nil {
		return nil, err
	}
	trained, err := in.Load(ctx)
	if err != nil {
		return nil, err
	}
	scale := wire.ScaleOf(outcome.GetResult())
	voters := outcome.GetResult().GetNeighborGraph().GetNeighbors() // 0, the default, for other spaces
	return knn.Predict(ctx, scale, int(voters), trained, labels, fresh, runtime.GOMAXPROCS(0))
}

// readModel reads the model of a job that has one.
func (s *Service) readModel(ctx context.Context, record *statev1.JobRecord) (*model.Model, error) {
	values, err := s.d.Parts.Open(ctx, record.GetJob().GetJobId(), record.GetModelBlob(), records.PartModel, 0)
	if err != nil {
		return nil, err
	}
	defer values.Close()
	return wire.ReadModel(record.GetModel(), values)
}

// predictByKernel assigns new points by their kernel values with the old points, which the workers compute.
func (s *Service) predictByKernel(
	ctx context.Context, record *statev1.JobRecord, in *runner.Input, labels []int32, fresh dataset.Dataset,
) ([]int32, error) {
	job := record.GetJob().GetJobId()
	spec, err := in.Spec(ctx)
	if err != nil {
		return nil, err
	}
	if _, has := spec.Algorithm.(*kernelkmeans.Options); !has {
		return nil, fault.New(fault.FailedPrecondition, "JOB_HAS_NO_MODEL",
			"job %s used %s, which cannot assign new points; cluster old and new points together", job,
			spec.Algorithm.Name()).With("job_id", job)
	}
	// Without a ready worker, the call would block silently and hold up other predictions.
	if why := fleet.WhyNoneReady(s.d.Fleet.Workers()); why != "" {
		return nil, fault.New(fault.Unavailable, "NO_WORKERS",
			"new points of job %s need a worker, and %s; start a worker, and try again", job, why).
			With("job_id", job).RetryIn(queue.RetryDelay)
	}
	trained, err := in.Load(ctx)
	if err != nil {
		return nil, err
	}
	matrix, err := kernelkmeans.Prepare(trained, spec)
	if err != nil {
		return nil, err
	}
	prediction, err := kernelkmeans.NewPrediction(matrix, trained, labels, fresh)
	if err != nil {
		return nil, err
	}
	id, bytes, err := s.d.Datasets.AddTemporary(prediction.Points)
	if err != nil {
		return nil, err
	}
	defer s.d.Datasets.Release(id)
	ctx, report, stop := limitWaiting(ctx, s.d.PredictionWait)
	defer stop()
	x, err := s.d.Fleet.NewExecutor(ctx, fleet.Task{
		JobID: "predict-" + job, DatasetID: id, Report: report,
		Need: planning.Workload{Matrix: &planning.Matrix{Spec: prediction.Matrix}, DatasetBytes: bytes,
			K:       prediction.K(),
			Storage: planning.None},
	})
	if err != nil {
		return nil, err
	}
	defer x.Release()
	return prediction.Run(ctx, x)
}

// limitWaiting returns a context that ends once a task, whose status is passed to report, has waited for workers or
// for their memory for maxWait. A prediction must not wait for other jobs to end, because it would hold up other
// predictions.
func limitWaiting(ctx context.Context,
	maxWait time.Duration) (_ context.Context, report func(fleet.Status), stop func()) {
	ctx, giveUp := context.WithCancelCause(ctx)
	var waits *time.Timer // nil unless the task waits
	report = func(s fleet.Status) {
		switch {
		case s.Waiting == "" && waits != nil:
			waits.Stop()
			waits = nil
		case s.Waiting != "" && waits == nil:
			waits = time.AfterFunc(maxWait, func() {
				giveUp(fault.New(fault.Unavailable, "NO_ROOM",
					"the workers have no room for the new points (%s); try again later", s.Waiting).RetryIn(
					queue.RetryDelay))
			})
		}
	}
	return ctx, report, func() { giveUp(nil) }
}

// freshPoints are the points of a PredictJob request.
type freshPoints struct {
	data    dataset.Dataset
	rows    *recipe.Rows // rows of the table they were made from; nil if they are a data set
	notices []clustering.Notice
}

// answerBytes returns how much memory the labels and scores of the points take, and the ids of their rows.
func (f *freshPoints) answerBytes() uint64 {
	const scores, header = 3, 16 // a label has up to three scores, and a text in memory a header
	bytes := f.data.Rows() * (labelBytes + scores*wire.ValueBytes)
	if f.rows != nil {
		bytes += labelBytes * len(f.rows.Kept)
		for _, id := range f.rows.IDs {
			bytes += header + len(id)
		}
	}
	return uint64(bytes)
}

// checkPoints returns an error unless a request has a data set or a table.
func checkPoints(request *cleavev1.PredictJobRequest) error {
	if request.GetTableId() == "" {
		return fault.Required("dataset_id", request.GetDatasetId())
	}
	if request.GetDatasetId() != "" {
		return fault.Invalid("TWO_INPUTS", "the request has both a dataset_id and a table_id; give one of them").
			OnField("table_id")
	}
	return nil
}

// freshPoints loads the new points of a request. It applies the job's recipe to the rows of a table.
func (s *Service) freshPoints(ctx context.Context, record *statev1.JobRecord,
	request *cleavev1.PredictJobRequest) (*freshPoints, error) {
	id := request.GetTableId()
	if id == "" {
		data, err := s.d.Problems.LoadDataset(ctx, request.GetDatasetId())
		return &freshPoints{data: data}, err
	}
	outcome, err := s.d.Parts.Outcome(ctx, record)
	if err != nil {
		return nil, err
	}
	steps := wire.Recipe(outcome.GetResult().GetRecipe())
	if steps == nil {
		return nil, fault.New(fault.FailedPrecondition, "JOB_HAS_NO_RECIPE",
			"job %s did not cluster a table, so it has no recipe to convert rows to points; give the new points as a "+
				"data set", record.GetJob().GetJobId()).
			OnField("table_id").With("job_id", record.GetJob().GetJobId())
	}
	err = s.d.Room.CheckTableRows(ctx, id)
	var made *recipe.Prepared
	if err == nil {
		made, err = s.d.Problems.Apply(ctx, steps, id)
	}
	if err != nil {
		return nil, wire.OnField(err, "table_id")
	}
	return &freshPoints{data: made.Points, rows: made.Rows(), notices: wire.TableNotices(made.Notices)}, nil
}
