package coordinator

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
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/store"
)

// blobFile is the only file whose name has these parts.
func (h *harness) blobFile(parts ...string) string {
	h.t.Helper()
	var found []string
	_ = filepath.WalkDir(filepath.Join(h.c.cfg.DataDir, "blobs"),
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
		h.t.Fatalf("files with %q are %q", parts, found)
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
func everything(t *testing.T) script {
	graph, err := dataset.GraphOf(4, []dataset.Edges{{Source: []int32{0, 1}, Target: []int32{2, 3}}})
	if err != nil {
		t.Fatal(err)
	}
	return func(_ context.Context, o clustering.Observer) (*clustering.Result, error) {
		o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: entry(0)})
		r := result(0, clustering.StopConverged)
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
func (h *harness) load(s *cleavev1.JobSpec) error {
	if _, err := h.plan(s); reason(err) != "NO_WORKERS" { // it is loaded before that is noticed
		return err
	}
	return nil
}

// Whatever bit is flipped in whatever is stored, the call that reads it fails with DATA_LOSS and names the object; and
// works again once the blob is restored.
func TestDamagedBlobsAreNotServed(t *testing.T) {
	cfg := durableConfig(t)
	cfg.CacheBytes = 0 // so that all is read again
	var out bytes.Buffer
	cfg.Logger = hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Error})
	h := newHarness(t, cfg, scripted(everything(t)))
	data := h.upload()
	id := h.create(spec(data))
	if ended := h.end(id); ended.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Fatalf("the job ended as %v", ended)
	}
	ctx := t.Context()
	table := h.store(constraintTable("must 0 2", "cannot 0 1"))
	withTable := spec(data)
	withTable.Supervision = &cleavev1.Supervision{Constraints: table}
	reads := map[string]struct {
		reason, named string
		read          func() error
	}{
		"spec": {"SPEC_DAMAGED", "spec of job " + id, func() error {
			_, err := h.jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: id})
			return err
		}},
		"outcome": {"RESULT_DAMAGED", "outcome of job " + id, func() error {
			_, err := h.jobs.GetResult(ctx, &cleavev1.GetResultRequest{JobId: id})
			if watched := drain(h.jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: id})); status.Code(watched) !=
				status.Code(err) {
				t.Errorf("GetResult gives %v and WatchJob %v", err, watched)
			}
			return err
		}},
		"labels": {"RESULT_DAMAGED", "labels of job " + id, func() error {
			return drain(h.jobs.GetLabels(ctx, &cleavev1.GetLabelsRequest{JobId: id}))
		}},
		"model": {"RESULT_DAMAGED", "model of job " + id, func() error {
			return drain(h.jobs.GetModel(ctx, &cleavev1.GetModelRequest{JobId: id}))
		}},
		"embedding": {"RESULT_DAMAGED", "embedding of job " + id, func() error {
			return drain(h.jobs.GetEmbedding(ctx, &cleavev1.GetEmbeddingRequest{JobId: id}))
		}},
		"neighbors": {"RESULT_DAMAGED", "graph of neighbors of job " + id, func() error {
			return drain(h.jobs.GetNeighborGraph(ctx, &cleavev1.GetNeighborGraphRequest{JobId: id}))
		}},
		"datasets": {"DATASET_DAMAGED", "data set " + data, func() error { return h.load(spec(data)) }},
		"tables":   {"TABLE_DAMAGED", "table " + table.GetTableId(), func() error { return h.load(withTable) }},
	}
	random := rand.New(rand.NewPCG(5, 6))
	for name, kind := range reads {
		file := h.blobFile(name)
		sound, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string) {
			t.Helper()
			err := kind.read()
			wantError(t, err, codes.DataLoss, kind.reason)
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
	h := newHarness(t, durableConfig(t), jobs.RealEngine())
	data := h.upload()
	file := h.blobFile("datasets")
	sound, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sound[30] ^= 1
	if err := os.WriteFile(file, sound, 0o600); err != nil {
		t.Fatal(err)
	}
	defer h.startWorker("ann")()
	job := h.end(h.create(spec(data)))
	if e := job.GetError(); job.GetState() != cleavev1.JobState_JOB_STATE_FAILED ||
		e.GetReason() != "DATASET_DAMAGED" ||
		codes.Code(e.GetCode()) != codes.DataLoss || !strings.Contains(e.GetMessage(), data) {
		t.Errorf("the job ended as %v", job)
	}
}

// Callers of a coordinator whose state is damaged learn what to do, not that somebody stops it, whether they read or
// write. The coordinator ends with the same error.
func TestCallersLearnThatTheStateIsDamaged(t *testing.T) {
	for name, call := range map[string]func(*harness, string) error{
		"read": func(h *harness, id string) error {
			_, err := h.jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: id})
			return err
		},
		"write": func(h *harness, id string) error {
			_, err := h.jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: id})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := durableConfig(t)
			h := newHarness(t, cfg, scripted(steps(1)))
			id := h.create(spec(h.upload()))
			h.end(id)
			h.awaitSweep()
			if err := os.Truncate(filepath.Join(cfg.DataDir, "state.db"), 8192); err != nil {
				t.Fatal(err)
			}
			err := call(h, id)
			wantError(t, err, codes.DataLoss, "STORE_DAMAGED")
			if text := status.Convert(err).Message(); !strings.Contains(text, "restore the data directory") {
				t.Errorf("the error does not say what to do: %v", text)
			}
			h.once.Do(func() {
				if err := within(t, h.served, "the end"); !fault.Is(err, "STORE_DAMAGED") {
					t.Errorf("serving ended with %v", err)
				}
				h.stop()
				h.conn.Close()
			})
		})
	}
}

// A job that is resumed on a damaged data set, or whose spec is damaged, fails with the reason.
func TestResumedJobsOnDamagedBlobs(t *testing.T) {
	for part, reason := range map[string]string{"datasets": "DATASET_DAMAGED", "spec": "SPEC_DAMAGED"} {
		cfg := durableConfig(t)
		shown := make(chan struct{}, 1)
		h := newHarness(t, cfg, scripted(halfway(1, shown)))
		id := h.create(spec(h.upload()))
		within(t, shown, "the first iteration")
		file := h.blobFile(part)
		h.crash()
		if err := os.Truncate(file, 1); err != nil {
			t.Fatal(err)
		}
		h = newHarness(t, cfg, scripted(steps(1)))
		events, _ := h.watch(id, 0)
		if e := events[len(events)-1].GetEnded().GetError(); e.GetReason() != reason ||
			codes.Code(e.GetCode()) != codes.DataLoss {
			t.Errorf("a damaged %s gives %v", part, e)
		}
		h.close()
	}
}

// A damaged record of a request is named, with what to do about it.
func TestADamagedRequestIsNamed(t *testing.T) {
	h := newHarness(t, testConfig(), scripted(steps(1)))
	request := &cleavev1.CreateJobRequest{Spec: spec(h.upload()), RequestId: "nightly"}
	h.end(h.submit(request))
	key := records.RequestKey("", "nightly")
	if err := h.c.writer.Commit(store.Txn{Put: []store.Entry{{Key: key, Value: []byte{0xff}}}}); err != nil {
		t.Fatal(err)
	}
	_, err := h.jobs.CreateJob(t.Context(), request)
	wantError(t, err, codes.DataLoss, records.RecordDamaged)
	if !strings.Contains(status.Convert(err).Message(), key) {
		t.Errorf("the error does not name the record: %v", err)
	}
}

// A job whose record is damaged is listed under its own ID, by which it can be asked for.
func TestADamagedJobIsListedUnderItsID(t *testing.T) {
	h := newHarness(t, testConfig(), scripted(steps(1)))
	id := h.create(spec(h.upload()))
	h.end(id)
	if err := h.c.writer.Commit(store.Txn{Put: []store.Entry{{Key: records.JobKey(id), Value: []byte{0xff}}}}); err !=
		nil {
		t.Fatal(err)
	}
	list, err := h.jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
	if err != nil || len(list.GetJobs()) != 1 || list.GetJobs()[0].GetJobId() != id ||
		list.GetJobs()[0].GetError().GetReason() != records.RecordDamaged {
		t.Errorf("jobs are %v, %v; want %s", list, err, id)
	}
	_, err = h.jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: id})
	wantError(t, err, codes.DataLoss, records.RecordDamaged)
}
