package coordinator_test

import (
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/results"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

func predict(h *coordinatortest.Harness, job, data string) ([]uint32, error) {
	stream, err := h.Jobs.PredictJob(h.T.Context(), &cleavev1.PredictJobRequest{JobId: job, DatasetId: data})
	if err != nil {
		return nil, err
	}
	var labels []uint32
	for {
		portion, err := stream.Recv()
		if err == io.EOF {
			return labels, nil
		}
		if err != nil {
			return nil, err
		}
		if int(portion.GetFirstIndex()) != len(labels) {
			h.T.Fatalf("a portion begins at %d after %d labels", portion.GetFirstIndex(), len(labels))
		}
		labels = append(labels, portion.GetLabels()...)
	}
}

// unsent drops the answer of a prediction.
func unsent(*cleavev1.PredictJobResponse) error { return nil }

// The points that a job was made of, taken for new ones, get their labels again: by centroids and by
// kernel values that two workers compute. The data set of old and new points together leaves no trace.
func TestPredictionOfAJobsOwnPoints(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	defer h.StartWorker("a")()
	defer h.StartWorker("b")()
	points, _, err := synth.Gaussians(90, 3, 3, 0.3, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	id := h.Send("points", points)
	for name, s := range map[string]*cleavev1.JobSpec{
		"kernel": {Data: &cleavev1.JobSpec_DatasetId{DatasetId: id}, Clusters: &cleavev1.JobSpec_K{K: 3},
			Algorithm: &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{}}},
		"vector": {Data: &cleavev1.JobSpec_DatasetId{DatasetId: id}, Clusters: &cleavev1.JobSpec_K{K: 3},
			Algorithm: &cleavev1.JobSpec_MKmeans{MKmeans: &cleavev1.MKmeans{}}},
		"scaled kernel": {Data: &cleavev1.JobSpec_DatasetId{DatasetId: id}, Clusters: &cleavev1.JobSpec_K{K: 3},
			Scale:     cleavev1.Scale_SCALE_ZSCORE,
			Algorithm: &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{}}},
		"landmarks": {Data: &cleavev1.JobSpec_DatasetId{DatasetId: id}, Clusters: &cleavev1.JobSpec_K{K: 3},
			Algorithm: &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{Landmarks: 20}}},
		"scaled landmarks": {Data: &cleavev1.JobSpec_DatasetId{DatasetId: id}, Clusters: &cleavev1.JobSpec_K{K: 3},
			Scale:     cleavev1.Scale_SCALE_ZSCORE,
			Algorithm: &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{Landmarks: 20}}},
		"scaled vector": {Data: &cleavev1.JobSpec_DatasetId{DatasetId: id}, Clusters: &cleavev1.JobSpec_K{K: 3},
			Scale:     cleavev1.Scale_SCALE_ZSCORE,
			Algorithm: &cleavev1.JobSpec_MKmeans{MKmeans: &cleavev1.MKmeans{}}},
	} {
		job := h.Create(s)
		if ended := h.End(job); ended.GetStopReason() != cleavev1.StopReason_STOP_REASON_CONVERGED {
			t.Fatalf("%s: %v", name, ended)
		}
		got, err := predict(h, job, id)
		if err != nil || !slices.Equal(got, h.Labels(job)) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, h.Labels(job))
		}
		_, err = predict(h, job, "0000")
		coordinatortest.WantError(t, err, codes.NotFound, "DATASET_NOT_FOUND")
		narrow, _, err := synth.Gaussians(10, 2, 2, 0.3, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		_, err = predict(h, job, h.Send("narrow", narrow))
		coordinatortest.WantError(t, err, codes.InvalidArgument, "SIZE_MISMATCH")
	}
	list, err := h.Datasets.ListDatasets(t.Context(), &cleavev1.ListDatasetsRequest{})
	if err != nil || len(list.GetDatasets()) != 2 {
		t.Errorf("data sets %v, %v", list, err)
	}
	cut := h.Create(&cleavev1.JobSpec{Data: &cleavev1.JobSpec_DatasetId{DatasetId: id},
		Clusters: &cleavev1.JobSpec_K{K: 3}, Algorithm: &cleavev1.JobSpec_KernelKmeans{
			KernelKmeans: &cleavev1.KernelKmeans{Objective: cleavev1.Objective_OBJECTIVE_RATIO_CUT}}})
	h.End(cut)
	_, err = predict(h, cut, id)
	coordinatortest.WantError(t, err, codes.FailedPrecondition, "CANNOT_PREDICT")
}

// newNeighborsHarness returns a harness with a job of auto without centroids and data for it, whose points are 2, 8 and
// 100.
func newNeighborsHarness(t *testing.T, cfg coordinator.Config) (h *coordinatortest.Harness, job, fresh string) {
	t.Helper()
	way := clustering.Method{Space: clustering.SpaceNeighbors, ConstraintUse: clustering.UseHard}
	h = coordinatortest.StartScripted(t, cfg, func(context.Context, clustering.Observer) (*clustering.Result, error) {
		r := coordinatortest.Result(0, clustering.StopConverged)
		r.Auto.Choice = &clustering.Choice{Chosen: way}
		return r, nil
	})
	s := coordinatortest.Spec(h.Upload()) // 0, 10, 1, 11 have the labels 0, 1, 0, 1
	s.Algorithm = &cleavev1.JobSpec_Auto{Auto: &cleavev1.Auto{}}
	job = h.Create(s)
	h.End(job)
	points, err := dataset.NewPoints(3, 1, []float64{2, 8, 100})
	if err != nil {
		t.Fatal(err)
	}
	return h, job, h.Send("fresh", points)
}

// A job of auto without centroids assigns new points by the labels of its own points that are nearest.
func TestPredictionByNeighbors(t *testing.T) {
	h, job, fresh := newNeighborsHarness(t, coordinatortest.Config())
	if got, err := predict(h, job, fresh); err != nil || !slices.Equal(got, []uint32{0, 1, 1}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// contendedRoom calls a function once a call holds its memory.
type contendedRoom struct {
	results.Room
	borrowed func()
}

func (r contendedRoom) Borrow(ctx context.Context, data []results.Input, copied bool) (func(), error) {
	release, err := r.Room.Borrow(ctx, data, copied)
	r.borrowed()
	return release, err
}

// A prediction does not wait behind a job that waits for the memory of the prediction.
func TestPredictionWhileAJobWaitsForItsMemory(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.MemoryBytes, cfg.CacheBytes = 1<<20, 0
	cfg.Limits.SlowReader = 100 * time.Millisecond
	h, job, fresh := newNeighborsHarness(t, cfg)
	waited := make(chan *queue.Reservation, 1)
	d := h.Coordinator.ForResults()
	d.Room = contendedRoom{d.Room, func() {
		go func() {
			all, _ := h.Coordinator.JobMemory().Reserve(t.Context(), cfg.MemoryBytes, time.Minute)
			waited <- all
		}()
		coordinatortest.Await(t, "a job that waits for the memory of the prediction",
			h.Coordinator.JobMemory().Contended)
	}}
	request := &cleavev1.PredictJobRequest{JobId: job, DatasetId: fresh}
	if err := results.New(d).Predict(t.Context(), request, unsent); err != nil {
		t.Error(err)
	}
	if all := <-waited; all == nil {
		t.Error("the job does not get the memory of the prediction")
	}
}

// A prediction that needs workers does not wait for them: it would keep other predictions from their turn, and say
// nothing.
func TestPredictionWithoutWorkers(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.LostAfter, cfg.ReconnectWithin = time.Hour, time.Hour
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	data := h.Upload()
	job := h.Create(coordinatortest.Spec(data))
	h.End(job)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := predict(h, job, data)
	coordinatortest.WantError(t, err, codes.Unavailable, "NO_WORKERS")
	attaching, leave := context.WithCancel(ctx)
	defer leave()
	worker, err := workerv1.NewWorkerServiceClient(h.Conn).Attach(attaching)
	if err == nil {
		hello := &workerv1.Hello{ProtocolVersion: wire.WorkerProtocol, NumericClass: kernel.NumericClass,
			Name: "ann", Threads: 1}
		err = worker.Send(&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Hello{Hello: hello}})
	}
	if err == nil {
		_, err = worker.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	leave()
	workers := h.Coordinator.Fleet()
	for changed := workers.Changed(); workers.Workers()[0].State == fleet.WorkerReady; changed = workers.Changed() {
		coordinatortest.Within(t, changed, "the silence of the worker")
	}
	if _, err := predict(h, job, data); coordinatortest.Reason(err) != "NO_WORKERS" {
		t.Errorf("with a worker that is silent: %v", err)
	}
}

// A prediction waits for a moment for memory that other jobs hold on the workers, and not until they have ended.
func TestPredictionWithoutRoom(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	data := h.Upload()
	job := h.Create(coordinatortest.Spec(data))
	h.End(job)
	points, _, err := synth.Gaussians(500, 1, 2, 0.3, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	id := h.Send("points", points)
	in, err := h.Coordinator.Problems().Open(t.Context(), coordinatortest.Spec(id))
	if err != nil {
		t.Fatal(err)
	}
	s, err := in.Spec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	matrix, err := kernelkmeans.Prepare(points, s)
	if err != nil {
		t.Fatal(err)
	}
	hog := func() (*fleet.Executor, error) {
		need := planning.Workload{Matrix: &planning.Matrix{Spec: matrix.Matrix}, K: 2,
			DatasetBytes: dataset.EncodedSize(points), Storage: planning.Float32}
		return h.Coordinator.Fleet().NewExecutor(t.Context(), fleet.Task{JobID: "hog", DatasetID: id, Need: need})
	}
	stop := h.StartWorker("large")
	x, err := hog()
	if err != nil {
		t.Fatal(err)
	}
	needs := h.Coordinator.Fleet().Workers()[0].ReservedBytes
	x.Release()
	stop()
	defer h.StartWorkerWith("small", uint64(needs))()
	if x, err = hog(); err != nil {
		t.Fatal(err)
	}
	request := &cleavev1.PredictJobRequest{JobId: job, DatasetId: data}
	hasty := h.Coordinator.ForResults()
	hasty.PredictionWait = time.Millisecond
	if err := results.New(hasty).Predict(t.Context(), request, unsent); !fault.Is(err, "NO_ROOM") ||
		!strings.Contains(err.Error(), "other jobs hold the rest") {
		t.Errorf("while another job holds the memory: %v", err)
	}
	x.Release()
	if _, err := predict(h, job, data); err != nil {
		t.Errorf("with room again: %v", err)
	}
}
