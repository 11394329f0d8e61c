package coordinator_test

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
	"github.com/cleave-project/cleave/test/tabletest"
)

func TestTables(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	tables := h.Tables
	ctx := t.Context()
	var ids []string
	for _, kind := range []string{"must 0 1", "cannot 0 1", "must 1 2"} {
		input := h.Store(coordinatortest.Constraints(kind))
		if again := h.Store(coordinatortest.Constraints(kind)); again.GetTableId() != input.GetTableId() {
			t.Errorf("%s is two tables", kind)
		}
		ids = append(ids, input.GetTableId())
	}
	got, err := tables.GetTable(ctx, &cleavev1.GetTableRequest{TableId: ids[0]})
	if err != nil {
		t.Fatal(err)
	}
	if d := got.GetTable(); d.GetTableId() != ids[0] || d.GetRows() != 1 || d.GetDisplayName() != "some" ||
		d.GetCreateTime() == nil || d.GetBytes() == 0 ||
		len(d.GetColumns()) != 3 || d.GetColumns()[2].GetName() != "kind" ||
		d.GetColumns()[2].GetType() != cleavev1.ColumnType_COLUMN_TYPE_TEXT {
		t.Errorf("described as %v", d)
	}
	var listed []string
	for token := ""; ; {
		page, err := tables.ListTables(ctx, &cleavev1.ListTablesRequest{PageSize: 2, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page.GetTables() {
			listed = append(listed, d.GetTableId())
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	slices.Sort(ids)
	if !slices.Equal(listed, ids) {
		t.Errorf("listed %v, want %v", listed, ids)
	}
	for range 2 { // the second time there is nothing left to delete, and no harm in asking
		if _, err := tables.DeleteTable(ctx, &cleavev1.DeleteTableRequest{TableId: ids[0]}); err != nil {
			t.Error(err)
		}
	}
	if _, err := tables.GetTable(ctx, &cleavev1.GetTableRequest{TableId: ids[0]}); status.Code(err) != codes.NotFound ||
		coordinatortest.Reason(err) != "TABLE_NOT_FOUND" {
		t.Errorf("a table that was deleted: %v", err)
	}
	blobs, err := h.Blobs.List(ctx, "tables/")
	if err != nil || len(blobs) != 2 {
		t.Errorf("%d blobs for 2 tables, %v", len(blobs), err)
	}
}

// A table that a job still needs cannot be deleted, also not after a restart.
func TestTablesInUse(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.Store, cfg.DataDir = "embedded", t.TempDir()
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, cfg, g.Run)
	s := coordinatortest.Spec(h.Upload())
	s.Supervision = &cleavev1.Supervision{Constraints: h.Store(coordinatortest.Constraints("must 0 1"))}
	used := &cleavev1.DeleteTableRequest{TableId: s.GetSupervision().GetConstraints().GetTableId()}
	id := h.Create(s)
	coordinatortest.Within(t, g.Entered, "the run")
	refused := func(h *coordinatortest.Harness) {
		t.Helper()
		if _, err := h.Tables.DeleteTable(t.Context(), used); status.Code(err) != codes.FailedPrecondition ||
			coordinatortest.Reason(err) != "TABLE_IN_USE" {
			t.Errorf("a table in use: %v", err)
		}
	}
	refused(h)
	h.Close()

	g = coordinatortest.NewBarrier()
	h = coordinatortest.StartScripted(t, cfg, g.Run)
	coordinatortest.Within(t, g.Entered, "the run after the restart")
	refused(h)
	close(g.Open)
	if job := h.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Fatalf("the job ended as %v", job)
	}
	if _, err := h.Tables.DeleteTable(t.Context(), used); err != nil {
		t.Error(err)
	}
	if _, err := h.Jobs.CreateJob(t.Context(),
		&cleavev1.CreateJobRequest{Spec: s}); coordinatortest.Reason(err) != "TABLE_NOT_FOUND" {
		t.Errorf("a job of a table that is gone: %v", err)
	}
}

func TestTableUploadsStopAtTheLimit(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.MaxDatasetBytes = 2 << 10
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	_, err := wire.SendTable(t.Context(), h.Tables, "", tabletest.Labels(make([]int32, 1000)), wire.UploadStart{})
	if !fault.Is(wire.Fault(err), "TABLE_TOO_LARGE") {
		t.Errorf("got %v", err)
	}
}

// The same constraints give the same answer inline and by id, whether the table is cached or not.
func TestTablesInlineAndByID(t *testing.T) {
	for _, cache := range []int64{0, 1 << 20} {
		cfg := coordinatortest.Config()
		cfg.CacheBytes = cache
		h := coordinatortest.Start(t, cfg)
		defer h.StartWorker("worker")()
		data := h.Upload()
		var all [][]uint32
		for _, byID := range []bool{false, true, true} {
			s := vectorSpecs(data)["cop-kmeans"]
			s.Clusters = &cleavev1.JobSpec_K{K: 2}
			s.Supervision.Constraints = coordinatortest.Constraints("must 0 3", "cannot 0 1")
			if byID {
				s.Supervision.Constraints = h.Store(s.Supervision.Constraints)
			}
			id := h.Create(s)
			h.End(id)
			all = append(all, h.Labels(id))
		}
		if !slices.Equal(all[0], all[1]) || !slices.Equal(all[0], all[2]) || all[0][0] != all[0][3] ||
			all[0][0] == all[0][1] {
			t.Errorf("the labels are %v", all)
		}
	}
}
