package coordinator_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// blobFile is the only file whose name has these parts.
func blobFile(t *testing.T, dataDir string, parts ...string) string {
	t.Helper()
	var found []string
	_ = filepath.WalkDir(filepath.Join(dataDir, "blobs"),
		func(path string, entry os.DirEntry, err error) error {
			has := err == nil && !entry.IsDir()
			for _, part := range parts {
				has = has && strings.Contains(path, part)
			}
			if has {
				found = append(found, path)
			}
			return err
		})
	if len(found) != 1 {
		t.Fatalf("files with %q are %q", parts, found)
	}
	return found[0]
}

// damage cuts a file or flips one of its bits, at random.
func damage(t *testing.T, random *rand.Rand, file string, sound []byte) {
	t.Helper()
	damaged := bytes.Clone(sound)
	if at := random.IntN(len(damaged)); random.IntN(4) == 0 {
		damaged = damaged[:at]
	} else {
		damaged[at] ^= 1 << random.IntN(8)
	}
	if err := os.WriteFile(file, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
}

// everything is a script whose result has all parts that are stored.
func everything(t *testing.T) coordinatortest.Script {
	graph, err := dataset.GraphOf(4, []dataset.Edges{{Source: []int32{0, 1}, Target: []int32{2, 3}}})
	if err != nil {
		t.Fatal(err)
	}
	return func(_ context.Context, o clustering.Observer) (*clustering.Result, error) {
		o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: coordinatortest.Entry(0)})
		r := coordinatortest.Result(0, clustering.StopConverged)
		r.Model = &model.Model{Distortion: metric.SquaredEuclidean, K: 2, D: 1, Centroids: []float64{0.5, 10.5},
			Metric: metric.NewIdentity(1)}
		r.Spectral.Embedding = &clustering.Embedding{Rows: 4, Columns: 1, Values: []float64{1, 2, 3, 4}}
		r.NeighborGraph = &clustering.NeighborGraph{Count: 1, Weights: neighbor.Unweighted, Graph: graph}
		return r, nil
	}
}

// drain reads a stream to its end.
func drain[M any](stream interface{ Recv() (M, error) }, err error) error {
	for err == nil {
		_, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// load has the coordinator load the data set and the tables of a job.
func load(h *coordinatortest.Harness, s *cleavev1.JobSpec) error {
	if _, err := plan(h, s); coordinatortest.Reason(err) != "NO_WORKERS" { // it is loaded before that is noticed
		return err
	}
	return nil
}

// Whatever bit is flipped in whatever is stored, the call that reads it fails with DATA_LOSS and names the object; and
// works again once the blob is restored.
func TestDamagedBlobsAreNotServed(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	cfg.CacheBytes = 0 // so that all is read again
	var out bytes.Buffer
	cfg.Logger = hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Error})
	h := coordinatortest.StartScripted(t, cfg, everything(t))
	data := h.Upload()
	id := h.Create(coordinatortest.Spec(data))
	if ended := h.End(id); ended.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Fatalf("the job ended as %v", ended)
	}
	ctx := t.Context()
	table := h.Store(coordinatortest.Constraints("must 0 2", "cannot 0 1"))
	withTable := coordinatortest.Spec(data)
	withTable.Supervision = &cleavev1.Supervision{Constraints: table}
	reads := map[string]struct {
		reason, named string
		read          func() error
	}{
		"spec": {"SPEC_DAMAGED", "spec of job " + id, func() error {
			_, err := h.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: id})
			return err
		}},
		"outcome": {"RESULT_DAMAGED", "outcome of job " + id, func() error {
			_, err := h.Jobs.GetResult(ctx, &cleavev1.GetResultRequest{JobId: id})
			if watched := drain(h.Jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: id})); status.Code(watched) !=
				status.Code(err) {
				t.Errorf("GetResult gives %v and WatchJob %v", err, watched)
			}
			return err
		}},
		"labels": {"RESULT_DAMAGED", "labels of job " + id, func() error {
			return drain(h.Jobs.GetLabels(ctx, &cleavev1.GetLabelsRequest{JobId: id}))
		}},
		"model": {"RESULT_DAMAGED", "model of job " + id, func() error {
			return drain(h.Jobs.GetModel(ctx, &cleavev1.GetModelRequest{JobId: id}))
		}},
		"embedding": {"RESULT_DAMAGED", "embedding of job " + id, func() error {
			return drain(h.Jobs.GetEmbedding(ctx, &cleavev1.GetEmbeddingRequest{JobId: id}))
		}},
		"neighbors": {"RESULT_DAMAGED", "graph of neighbors of job " + id, func() error {
			return drain(h.Jobs.GetNeighborGraph(ctx, &cleavev1.GetNeighborGraphRequest{JobId: id}))
		}},
		"datasets": {"DATASET_DAMAGED", "data set " + data,
			func() error { return load(h, coordinatortest.Spec(data)) }},
		"tables": {"TABLE_DAMAGED", "table " + table.GetTableId(), func() error { return load(h, withTable) }},
	}
	random := rand.New(rand.NewPCG(5, 6))
	for name, kind := range reads {
		file := blobFile(t, cfg.DataDir, name)
		sound, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string) {
			t.Helper()
			err := kind.read()
			coordinatortest.WantError(t, err, codes.DataLoss, kind.reason)
			if text := status.Convert(err).Message(); !strings.Contains(text, kind.named) ||
				strings.Contains(text, cfg.DataDir) {
				t.Errorf("%s, %s: %q", name, what, text)
			}
		}
		for range 20 {
			damage(t, random, file, sound)
			check("damaged")
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		check("gone")
		if !strings.Contains(out.String(), kind.named) {
			t.Errorf("nothing in the log names the %s", kind.named)
		}
		if err := os.WriteFile(file, sound, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := kind.read(); err != nil {
			t.Errorf("%s, restored: %v", name, err)
		}
	}
}

// A data set that is damaged on the disk but still in the memory of the coordinator: workers do not get it, and the
// job fails for the right reason, at once.
func TestWorkersGetNoDamagedDataset(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	h := coordinatortest.Start(t, cfg)
	data := h.Upload()
	file := blobFile(t, cfg.DataDir, "datasets")
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sound[30] ^= 1
	if err := os.WriteFile(file, sound, 0o600); err != nil {
		t.Fatal(err)
	}
	defer h.StartWorker("ann")()
	job := h.End(h.Create(coordinatortest.Spec(data)))
	if e := job.GetError(); job.GetState() != cleavev1.JobState_JOB_STATE_FAILED ||
		e.GetReason() != "DATASET_DAMAGED" ||
		codes.Code(e.GetCode()) != codes.DataLoss || !strings.Contains(e.GetMessage(), data) {
		t.Errorf("the job ended as %v", job)
	}
}

// Callers of a coordinator whose state is damaged learn what to do, not that somebody stops it, whether they read or
// write. The coordinator ends with the same error.
func TestCallersLearnThatTheStateIsDamaged(t *testing.T) {
	for name, call := range map[string]func(*coordinatortest.Harness, string) error{
		"read": func(h *coordinatortest.Harness, id string) error {
			_, err := h.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: id})
			return err
		},
		"write": func(h *coordinatortest.Harness, id string) error {
			_, err := h.Jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: id})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := coordinatortest.DurableConfig(t)
			h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
			id := h.Create(coordinatortest.Spec(h.Upload()))
			h.End(id)
			h.Coordinator.AwaitCleanup()
			if err := os.Truncate(filepath.Join(cfg.DataDir, "state.db"), 8192); err != nil {
				t.Fatal(err)
			}
			err := call(h, id)
			coordinatortest.WantError(t, err, codes.DataLoss, "STORE_DAMAGED")
			if text := status.Convert(err).Message(); !strings.Contains(text, "restore the data directory") {
				t.Errorf("the error does not say what to do: %v", text)
			}
			if err := h.EndsByItself(); !fault.Is(err, "STORE_DAMAGED") {
				t.Errorf("serving ended with %v", err)
			}
		})
	}
}

// A job that is resumed on a damaged data set, or whose spec is damaged, fails with the reason.
func TestResumedJobsOnDamagedBlobs(t *testing.T) {
	for part, reason := range map[string]string{"datasets": "DATASET_DAMAGED", "spec": "SPEC_DAMAGED"} {
		cfg := coordinatortest.DurableConfig(t)
		shown := make(chan struct{}, 1)
		h := coordinatortest.StartScripted(t, cfg, coordinatortest.Halfway(1, shown))
		id := h.Create(coordinatortest.Spec(h.Upload()))
		coordinatortest.Within(t, shown, "the first iteration")
		file := blobFile(t, cfg.DataDir, part)
		h.Crash()
		if err := os.Truncate(file, 1); err != nil {
			t.Fatal(err)
		}
		h = coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
		events, _ := h.Watch(id, 0)
		if e := events[len(events)-1].GetEnded().GetError(); e.GetReason() != reason ||
			codes.Code(e.GetCode()) != codes.DataLoss {
			t.Errorf("a damaged %s gives %v", part, e)
		}
		h.Close()
	}
}

// A damaged record of a request is named, with what to do about it.
func TestADamagedRequestIsNamed(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	request := &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(h.Upload()), RequestId: "nightly"}
	h.End(h.Submit(request))
	key := records.RequestKey("", "nightly")
	if err := h.Coordinator.Writer().Commit(store.Txn{Put: []store.Entry{{Key: key,
		Value: []byte{0xff}}}}); err != nil {
		t.Fatal(err)
	}
	_, err := h.Jobs.CreateJob(t.Context(), request)
	coordinatortest.WantError(t, err, codes.DataLoss, records.RecordDamaged)
	if !strings.Contains(status.Convert(err).Message(), key) {
		t.Errorf("the error does not name the record: %v", err)
	}
}

// A job whose record is damaged is listed under its own ID, by which it can be asked for.
func TestADamagedJobIsListedUnderItsID(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	id := h.Create(coordinatortest.Spec(h.Upload()))
	h.End(id)
	if err := h.Coordinator.Writer().Commit(store.Txn{Put: []store.Entry{{Key: records.JobKey(id),
		Value: []byte{0xff}}}}); err !=
		nil {
		t.Fatal(err)
	}
	list, err := h.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
	if err != nil || len(list.GetJobs()) != 1 || list.GetJobs()[0].GetJobId() != id ||
		list.GetJobs()[0].GetError().GetReason() != records.RecordDamaged {
		t.Errorf("jobs are %v, %v; want %s", list, err, id)
	}
	_, err = h.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: id})
	coordinatortest.WantError(t, err, codes.DataLoss, records.RecordDamaged)
}
