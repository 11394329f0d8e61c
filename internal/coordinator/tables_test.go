package coordinator

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/tabletest"
)

// constraintTable is a table of constraints such as "must 0 7".
func constraintTable(list ...string) *cleavev1.TableInput {
	columns := []table.Column{{Name: "i", Type: table.Integer}, {Name: "j", Type: table.Integer},
		{Name: "kind", Type: table.Text}}
	for _, text := range list {
		var kind string
		var i, j int64
		if _, err := fmt.Sscan(text, &kind, &i, &j); err != nil {
			panic(err)
		}
		columns[0].Integers, columns[1].Integers = append(columns[0].Integers, i), append(columns[1].Integers, j)
		columns[2].Texts = append(columns[2].Texts, kind)
	}
	t, err := table.New(columns)
	if err != nil {
		panic(err)
	}
	return wire.InlineTable(t)
}

// seedTable is a table of points and their labels.
func seedTable(list ...[2]int32) *cleavev1.TableInput {
	var seeds []constraint.Seed
	for _, pair := range list {
		seeds = append(seeds, constraint.Seed{Index: pair[0], Label: pair[1]})
	}
	return wire.InlineTable(tabletest.Seeds(seeds))
}

// store uploads an inline table and names it by its id.
func (h *harness) store(input *cleavev1.TableInput) *cleavev1.TableInput {
	h.t.Helper()
	t, err := wire.TableRows(input.GetInline())
	if err != nil {
		h.t.Fatal(err)
	}
	stored, err := wire.SendTable(h.t.Context(), h.tables(), "some", t, wire.UploadStart{})
	if err != nil {
		h.t.Fatal(err)
	}
	return &cleavev1.TableInput{Source: &cleavev1.TableInput_TableId{TableId: stored.GetTableId()}}
}

func (h *harness) tables() cleavev1.TableServiceClient { return cleavev1.NewTableServiceClient(h.conn) }

func TestTables(t *testing.T) {
	h := newHarness(t, testConfig(), scripted(steps(1)))
	tables := h.tables()
	ctx := t.Context()
	var ids []string
	for _, kind := range []string{"must 0 1", "cannot 0 1", "must 1 2"} {
		input := h.store(constraintTable(kind))
		if again := h.store(constraintTable(kind)); again.GetTableId() != input.GetTableId() {
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
		reason(err) != "TABLE_NOT_FOUND" {
		t.Errorf("a table that was deleted: %v", err)
	}
	blobs, err := h.c.blobs.List(ctx, "tables/")
	if err != nil || len(blobs) != 2 {
		t.Errorf("%d blobs for 2 tables, %v", len(blobs), err)
	}
}

// A table that a job still needs cannot be deleted, also not after a restart.
func TestTablesInUse(t *testing.T) {
	cfg := testConfig()
	cfg.Store, cfg.DataDir = storeEmbedded, t.TempDir()
	g := newBarrier()
	h := newHarness(t, cfg, scripted(g.run))
	s := spec(h.upload())
	s.Supervision = &cleavev1.Supervision{Constraints: h.store(constraintTable("must 0 1"))}
	used := &cleavev1.DeleteTableRequest{TableId: s.GetSupervision().GetConstraints().GetTableId()}
	id := h.create(s)
	within(t, g.entered, "the run")
	refused := func(h *harness) {
		t.Helper()
		if _, err := h.tables().DeleteTable(t.Context(), used); status.Code(err) != codes.FailedPrecondition ||
			reason(err) != "TABLE_IN_USE" {
			t.Errorf("a table in use: %v", err)
		}
	}
	refused(h)
	h.close()

	g = newBarrier()
	h = newHarness(t, cfg, scripted(g.run))
	within(t, g.entered, "the run after the restart")
	refused(h)
	close(g.open)
	if job := h.end(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Fatalf("the job ended as %v", job)
	}
	if _, err := h.tables().DeleteTable(t.Context(), used); err != nil {
		t.Error(err)
	}
	if _, err := h.jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: s}); reason(err) != "TABLE_NOT_FOUND" {
		t.Errorf("a job of a table that is gone: %v", err)
	}
}

func TestTableUploadsStopAtTheLimit(t *testing.T) {
	cfg := testConfig()
	cfg.MaxDatasetBytes = 2 << 10
	h := newHarness(t, cfg, scripted(steps(1)))
	_, err := wire.SendTable(t.Context(), h.tables(), "", tabletest.Labels(make([]int32, 1000)), wire.UploadStart{})
	if !fault.Is(wire.Fault(err), "TABLE_TOO_LARGE") {
		t.Errorf("got %v", err)
	}
}

// The same constraints give the same answer inline and by id, whether the table is cached or not.
func TestTablesInlineAndByID(t *testing.T) {
	for _, cache := range []int64{0, 1 << 20} {
		cfg := testConfig()
		cfg.CacheBytes = cache
		h := newHarness(t, cfg, jobs.RealEngine())
		defer h.startWorker("worker")()
		data := h.upload()
		var all [][]uint32
		for _, byID := range []bool{false, true, true} {
			s := vectorSpecs(data)["cop-kmeans"]
			s.Clusters = &cleavev1.JobSpec_K{K: 2}
			s.Supervision.Constraints = constraintTable("must 0 3", "cannot 0 1")
			if byID {
				s.Supervision.Constraints = h.store(s.Supervision.Constraints)
			}
			id := h.create(s)
			h.end(id)
			all = append(all, h.labels(id))
		}
		if !slices.Equal(all[0], all[1]) || !slices.Equal(all[0], all[2]) || all[0][0] != all[0][3] ||
			all[0][0] == all[0][1] {
			t.Errorf("the labels are %v", all)
		}
	}
}
