package coordinator_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// namedPairs is a table of constraints between ids.
func namedPairs(t testing.TB, pairs ...[3]string) *cleavev1.TableInput {
	i := table.Column{Name: "i", Type: table.Text}
	j := table.Column{Name: "j", Type: table.Text}
	kind := table.Column{Name: "kind", Type: table.Text}
	for _, p := range pairs {
		i.Texts, j.Texts, kind.Texts = append(i.Texts, p[1]), append(j.Texts, p[2]), append(kind.Texts, p[0])
	}
	made, err := table.New([]table.Column{i, j, kind})
	if err != nil {
		t.Fatal(err)
	}
	return wire.InlineTable(made)
}

// A job on a table answers as one on the points that the recipe makes of it, in units in which words weigh as
// numbers, to the last bit, with constraints by ids, and says how points were made of rows. Labels have the rows and
// ids of the table, also when the table is gone.
func TestJobsOnTables(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	defer h.StartWorker("a")()
	defer h.StartWorker("b")()
	for _, missing := range []cleavev1.MissingPolicy{0, cleavev1.MissingPolicy_MISSING_POLICY_DROP} {
		all := coordinatortest.Plants(t, 120)
		spec := &cleavev1.TablePoints{TableId: h.StoreTable(all), Missing: missing}
		fitted, said, err := recipe.Fit(t.Context(), all, wire.RecipeOptions(spec))
		if err != nil {
			t.Fatal(err)
		}
		made, err := fitted.Apply(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		rows := made.Rows()
		pairs := namedPairs(t, [3]string{"must", made.IDs[0], made.IDs[3]}, [3]string{"cannot", made.IDs[9],
			made.IDs[1]}, [3]string{"cannot", made.IDs[6], made.IDs[2]})
		named, err := wire.TableRows(pairs.GetInline())
		if err != nil {
			t.Fatal(err)
		}
		numbered, err := rows.Number(named)
		if err != nil {
			t.Fatal(err)
		}
		scaled, err := dataset.UnitsBy(dataset.Standard, made.Points).Apply(made.Points)
		if err != nil {
			t.Fatal(err)
		}
		s := &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3}, Seed: 4, Scale: cleavev1.Scale_SCALE_NONE,
			Supervision: &cleavev1.Supervision{Constraints: wire.InlineTable(numbered)},
			Algorithm:   &cleavev1.JobSpec_MpcKmeans{MpcKmeans: &cleavev1.MpcKmeans{}},
			Data:        &cleavev1.JobSpec_DatasetId{DatasetId: h.Send("points", scaled)}}
		plain := h.Create(s)
		h.End(plain)
		s.Data = &cleavev1.JobSpec_Table{Table: spec}
		s.Scale = cleavev1.Scale_SCALE_ZSCORE
		s.Supervision = &cleavev1.Supervision{Constraints: pairs}
		job := h.Create(s)
		if ended := h.End(job); ended.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
			t.Fatal(ended)
		}
		if !slices.Equal(h.Labels(job), h.Labels(plain)) {
			t.Error("the labels differ")
		}
		got := result(h, job)
		want := result(h, plain)
		if got.GetObjective() != want.GetObjective() ||
			got.GetConstraints().String() != want.GetConstraints().String() {
			t.Errorf("got %v, want %v", got, want)
		}
		if got.GetRecipe().GetIdColumn() != "id" || len(got.GetRecipe().GetFeatures()) != 3 ||
			int(got.GetDroppedRows()) != 120-made.Points.N {
			t.Errorf("got the recipe %v without %d rows", got.GetRecipe(), got.GetDroppedRows())
		}
		if len(said) == 0 || len(got.GetWarnings()) < len(said) || got.GetWarnings()[0].GetMessage() != said[0] {
			t.Errorf("%q is not in %v", said, got.GetWarnings())
		}
		events, _ := h.Watch(job, 0)
		if events[0].GetNotice().GetMessage() != said[0] {
			t.Errorf("the first event is %v", events[0])
		}
		if _, err := h.Tables.DeleteTable(t.Context(),
			&cleavev1.DeleteTableRequest{TableId: spec.GetTableId()}); err != nil {
			t.Fatal(err)
		}
		checkRows(h, job, rows)
	}
}

// partBlobs counts how often a part of results is opened.
type partBlobs struct {
	store.Blobs
	part   string // the end of its names
	opened atomic.Int64
}

func (b *partBlobs) Open(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	if strings.HasSuffix(name, b.part) {
		b.opened.Add(1)
	}
	return b.Blobs.Open(ctx, name, offset, length)
}

// The rows of a result are read once for many downloads of labels.
func TestRowsOfLabelsAreReadOnce(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	defer h.StartWorker("a")()
	all := coordinatortest.Plants(t, 60)
	job := h.Create(&cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3},
		Data:      &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: h.StoreTable(all)}},
		Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}}})
	h.End(job)
	counted := &partBlobs{Blobs: h.Blobs.Behavior(), part: "/tablerows"}
	h.Blobs.Behave(counted)
	for range 3 {
		stream, err := h.Jobs.GetLabels(t.Context(), &cleavev1.GetLabelsRequest{JobId: job, WithRows: true})
		if err != nil {
			t.Fatal(err)
		}
		if part, err := stream.Recv(); err != nil || len(part.GetIds()) != 60 {
			t.Fatalf("got %v, %v", part, err)
		}
	}
	if opened := counted.opened.Load(); opened != 1 {
		t.Errorf("the rows were read %d times", opened)
	}
}

func result(h *coordinatortest.Harness, job string) *cleavev1.Result {
	h.T.Helper()
	response, err := h.Jobs.GetResult(h.T.Context(), &cleavev1.GetResultRequest{JobId: job})
	if err != nil {
		h.T.Fatal(err)
	}
	return response.GetResult()
}

// checkRows compares the rows and ids of a job's labels.
func checkRows(h *coordinatortest.Harness, job string, want *recipe.Rows) {
	h.T.Helper()
	stream, err := h.Jobs.GetLabels(h.T.Context(), &cleavev1.GetLabelsRequest{JobId: job, WithRows: true})
	if err != nil {
		h.T.Fatal(err)
	}
	var rows []int32
	var ids []string
	labels := 0
	err = wire.Receive(stream.Recv, func(part *cleavev1.GetLabelsResponse) error {
		labels += len(part.GetLabels())
		for _, row := range part.GetRows() {
			rows = append(rows, int32(row))
		}
		ids = append(ids, part.GetIds()...)
		return nil
	})
	if err != nil {
		h.T.Fatal(err)
	}
	wantIDs := want.IDs
	if want.Kept != nil {
		wantIDs = nil
		for _, row := range want.Kept {
			wantIDs = append(wantIDs, want.IDs[row])
		}
	}
	if labels != want.Points() || !slices.Equal(rows, want.Kept) || !slices.Equal(ids, wantIDs) {
		h.T.Errorf("%d labels of the rows %v with the ids %q", labels, rows, ids)
	}
}

// New rows go through the recipe of the job, whatever finds their clusters.
func TestNewRowsOfATable(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	defer h.StartWorker("a")()
	all := coordinatortest.Plants(t, 90)
	id := h.StoreTable(all)
	shuffled := table.Table{Columns: slices.Clone(all.Columns)}
	slices.Reverse(shuffled.Columns) // columns go by their names
	other, err := table.New(shuffled.Columns)
	if err != nil {
		t.Fatal(err)
	}
	again := h.StoreTable(other)
	for name, s := range map[string]*cleavev1.JobSpec{
		"centroids": {Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}}},
		"kernel": {Algorithm: &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{}},
			Scale: cleavev1.Scale_SCALE_ZSCORE},
	} {
		s.Clusters = &cleavev1.JobSpec_K{K: 3}
		s.Data = &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: id}}
		job := h.Create(s)
		h.End(job)
		stream, err := h.Jobs.PredictJob(t.Context(), &cleavev1.PredictJobRequest{JobId: job, TableId: again})
		if err != nil {
			t.Fatal(err)
		}
		var labels []uint32
		var ids []string
		err = wire.Receive(stream.Recv, func(part *cleavev1.PredictJobResponse) error {
			labels, ids = append(labels, part.GetLabels()...), append(ids, part.GetIds()...)
			return nil
		})
		if err != nil || !slices.Equal(labels, h.Labels(job)) || !slices.Equal(ids, all.Columns[0].Texts) {
			t.Errorf("%s: %v, %q, %v", name, labels, ids, err)
		}
	}
	job := h.Create(&cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3},
		Data:      &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: id}},
		Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}}})
	h.End(job)
	predict := func(columns ...table.Column) (*cleavev1.PredictJobResponse, error) {
		fresh, err := table.New(columns)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := h.Jobs.PredictJob(t.Context(), &cleavev1.PredictJobRequest{JobId: job,
			TableId: h.StoreTable(fresh)})
		if err != nil {
			t.Fatal(err)
		}
		return stream.Recv()
	}
	height := table.Column{Name: "height", Type: table.Integer, Integers: []int64{20}}
	petals := table.Column{Name: "petals", Type: table.Integer, Integers: []int64{7}}
	_, err = predict(height, petals)
	coordinatortest.WantError(t, err, codes.InvalidArgument, "UNKNOWN_COLUMN")
	if !strings.Contains(err.Error(), `"color"`) {
		t.Error(err)
	}
	answer, err := predict(height, petals, table.Column{Name: "color", Type: table.Text, Texts: []string{"green"}})
	if err != nil || len(answer.GetLabels()) != 1 || len(answer.GetNotices()) != 1 ||
		!strings.Contains(answer.GetNotices()[0].GetMessage(), `"green"`) {
		t.Errorf("a color that nobody knew: %v, %v", answer, err)
	}
	plain := h.Create(&cleavev1.JobSpec{Data: &cleavev1.JobSpec_DatasetId{DatasetId: h.Upload()},
		Clusters: &cleavev1.JobSpec_K{K: 2}})
	h.End(plain)
	stream, err := h.Jobs.PredictJob(t.Context(), &cleavev1.PredictJobRequest{JobId: plain, TableId: id})
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	coordinatortest.WantError(t, err, codes.FailedPrecondition, "JOB_HAS_NO_RECIPE")
}

func TestJobsOnTablesAreRefused(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.Limits.Rows = 100
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	all := coordinatortest.Plants(t, 60)
	id := h.StoreTable(all)
	large := h.StoreTable(coordinatortest.Plants(t, 101))
	seeds := func(ids ...string) *cleavev1.Supervision {
		made, err := table.New([]table.Column{{Name: "index", Type: table.Text, Texts: ids},
			{Name: "label", Type: table.Integer, Integers: make([]int64, len(ids))}})
		if err != nil {
			t.Fatal(err)
		}
		return &cleavev1.Supervision{Seeds: wire.InlineTable(made)}
	}
	known := all.Columns[0].Texts[7]
	for name, c := range map[string]struct {
		spec   *cleavev1.JobSpec
		code   codes.Code
		reason string
		says   string
	}{
		"nothing": {&cleavev1.JobSpec{}, codes.InvalidArgument, "FIELD_REQUIRED", "spec.table"},
		"no id": {&cleavev1.JobSpec{Data: &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{}}},
			codes.InvalidArgument, "FIELD_REQUIRED", "table_id"},
		"no table": {
			&cleavev1.JobSpec{Data: &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: "00"}}},
			codes.NotFound, "TABLE_NOT_FOUND", "00"},
		"too many rows": {
			&cleavev1.JobSpec{Data: &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: large}}},
			codes.ResourceExhausted, "TOO_MANY_ROWS", "101"},
		"no such column": {
			&cleavev1.JobSpec{
				Data: &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: id, Ignore: []string{"colors"}}}},
			codes.InvalidArgument, "UNKNOWN_COLUMN", `did you mean "color"`},
		"gaps": {
			&cleavev1.JobSpec{
				Data: &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: id,
					Missing: cleavev1.MissingPolicy_MISSING_POLICY_ERROR}}}, codes.InvalidArgument, "MISSING_VALUE",
			`row 9, column "height"`},
		"an unknown policy": {
			&cleavev1.JobSpec{Data: &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: id, Missing: 77}}},
			codes.InvalidArgument, "UNKNOWN_ENUM_VALUE", "spec.table.missing"},
		"an unknown id": {&cleavev1.JobSpec{Data: &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: id}},
			Supervision: seeds(known, known+"x")}, codes.InvalidArgument, "UNKNOWN_ID",
			fmt.Sprintf(`row 1, column "index": the data has no row with the id %q; did you mean %q?`,
				known+"x", known)},
		"ids without a column of them": {
			&cleavev1.JobSpec{
				Data:        &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: id, Ignore: []string{"id"}}},
				Supervision: seeds(known)}, codes.InvalidArgument, "UNKNOWN_ID", "numbered from 0"},
	} {
		c.spec.Clusters = &cleavev1.JobSpec_K{K: 2}
		_, err := h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: c.spec})
		coordinatortest.WantError(t, err, c.code, c.reason)
		if err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	plan, err := h.Jobs.PlanJob(t.Context(),
		&cleavev1.PlanJobRequest{Spec: &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 2},
			Data: &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: id, Ignore: []string{"colors"}}}}})
	coordinatortest.WantError(t, err, codes.InvalidArgument, "UNKNOWN_COLUMN")
	if plan != nil {
		t.Error(plan)
	}
}

// The table of a job that has not ended cannot be deleted.
func TestTablesOfPointsInUse(t *testing.T) {
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), g.Run)
	id := h.StoreTable(coordinatortest.Plants(t, 12))
	job := h.Create(&cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 2},
		Data: &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: id}}})
	<-g.Entered
	_, err := h.Tables.DeleteTable(t.Context(), &cleavev1.DeleteTableRequest{TableId: id})
	coordinatortest.WantError(t, err, codes.FailedPrecondition, "TABLE_IN_USE")
	close(g.Open)
	h.End(job)
	if _, err := h.Tables.DeleteTable(t.Context(), &cleavev1.DeleteTableRequest{TableId: id}); err != nil {
		t.Error(err)
	}
	if h.Coordinator.Datasets().Temporaries() != 0 {
		t.Error("points of a job that has ended are kept")
	}
}
