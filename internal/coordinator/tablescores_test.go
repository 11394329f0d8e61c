package coordinator_test

import (
	"slices"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// A job on a table with a range of k keeps the scores of its points beside the rows that they are, has ids with the
// labels for every k, and gives new rows their distances with their ids.
func TestRangeAndScoresOfTables(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	defer h.StartWorker("a")()
	all := coordinatortest.Plants(t, 120)
	fitted, _, err := recipe.Fit(t.Context(), all, recipe.Options{Missing: recipe.Drop, Ignore: []string{"color"}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := fitted.Apply(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	s := &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_KRange{KRange: &cleavev1.KRange{Min: 2, Max: 4}}, Seed: 4,
		Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}},
		Data:      &cleavev1.JobSpec_DatasetId{DatasetId: h.Send("points", made.Points)}}
	plain := h.Create(s)
	h.End(plain)
	s.Data = &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: h.StoreTable(all),
		Missing: cleavev1.MissingPolicy_MISSING_POLICY_DROP, Ignore: []string{"color"}}}
	job := h.Create(s)
	if ended := h.End(job); ended.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Fatal(ended)
	}
	checkRows(h, job, made.Rows())
	got := rowScores(h, job)
	want := rowScores(h, plain)
	if !slices.Equal(got.Distance, want.Distance) || !slices.Equal(got.Margin, want.Margin) ||
		!slices.Equal(got.Confidence, want.Confidence) {
		t.Error("the scores differ")
	}
	var ids []string
	stream, err := h.Jobs.GetLabels(t.Context(), &cleavev1.GetLabelsRequest{JobId: job, K: 4, WithRows: true})
	if err != nil {
		t.Fatal(err)
	}
	clusters := map[uint32]bool{}
	if err := wire.Receive(stream.Recv, func(part *cleavev1.GetLabelsResponse) error {
		ids = append(ids, part.GetIds()...)
		for _, label := range part.GetLabels() {
			clusters[label] = true
		}
		return nil
	}); err != nil || len(clusters) != 4 || len(ids) != made.Points.N || ids[9] != made.IDs[made.Kept[9]] {
		t.Errorf("%d clusters, %d ids, %v", len(clusters), len(ids), err)
	}
	fresh, err := h.Jobs.PredictJob(t.Context(), &cleavev1.PredictJobRequest{JobId: job,
		TableId: s.GetTable().GetTableId()})
	if err != nil {
		t.Fatal(err)
	}
	part, err := fresh.Recv()
	if err != nil || !slices.Equal(part.GetDistances(), got.Distance) || len(part.GetMargins()) != made.Points.N ||
		len(part.GetIds()) != made.Points.N {
		t.Errorf("%v: %d distances, %d margins, %d ids", err, len(part.GetDistances()), len(part.GetMargins()),
			len(part.GetIds()))
	}
}

func rowScores(h *coordinatortest.Harness, job string) *clustering.RowScores {
	h.T.Helper()
	stream, err := h.Jobs.GetRowScores(h.T.Context(), &cleavev1.GetRowScoresRequest{JobId: job})
	if err != nil {
		h.T.Fatal(err)
	}
	scores, err := wire.ReceiveRowScores(stream.Recv)
	if err != nil {
		h.T.Fatal(err)
	}
	return scores
}
