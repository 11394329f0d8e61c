package cli

import (
	"bytes"
	"testing"

	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// writeAutoRun makes the folder o of a run of auto without centroids.
func writeAutoRun(t *testing.T, space cleavev1.Space, dropped uint32) {
	t.Helper()
	var text bytes.Buffer
	err := report.WriteResult(&text, &cleavev1.Result{
		K: 2, Rows: 4, DroppedRows: dropped,
		Choice: &cleavev1.Choice{
			Chosen: &cleavev1.Method{Space: space, ConstraintUse: cleavev1.ConstraintUse_CONSTRAINT_USE_HARD}},
	}, &cleavev1.RunRecord{})
	if err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, "o/result.json", text.String())
}

// In raw units the first column decides who is near, in standardized ones both do alike.
func TestPredictByNeighbors(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"old.csv":      "x,y\n0,0\n0,1\n1000,9.5\n1000,10\n",
		"gaps.csv":     "x,y\n0,0\n0,1\n,5\n1000,9.5\n1000,10\n",
		"new.csv":      "x,y\n400,9\n600,1\n",
		"o/labels.csv": "index,label\n0,1\n1,1\n2,0\n3,0\n",
	})
	predict := "predict --model o --data new.csv --trained-on "
	writeAutoRun(t, cleavev1.Space_SPACE_STANDARDIZED_NEIGHBORS, 0)
	if got := succeed(t, predict+"old.csv"); got != "index,label\n0,0\n1,1\n" {
		t.Errorf("standardized: %s", got)
	}
	writeAutoRun(t, cleavev1.Space_SPACE_NEIGHBORS, 0)
	if got := succeed(t, predict+"old.csv"); got != "index,label\n0,1\n1,0\n" {
		t.Errorf("raw: %s", got)
	}
	for _, c := range []struct{ args, want string }{
		{"predict --model o --data new.csv", "o is a run of auto by nearest neighbors, which compares new points"},
		{predict + "new.csv", "new.csv: the file has 2 rows; the run in o had 4"},
		{predict + "old.csv --weights o/labels.csv", "--weights does not apply to o: auto has no weights"},
		{"predict --model o --trained-on old.csv --data o/labels.csv",
			"o/labels.csv: column 1 is \"index\", but the model has \"x\" there"},
	} {
		refused(t, c.args, c.want)
	}
	writeAutoRun(t, cleavev1.Space_SPACE_GRAPH, 0)
	refused(t, predict+"old.csv", "o: a graph cannot assign new vertices")
	writeAutoRun(t, cleavev1.Space_SPACE_STANDARDIZED_NEIGHBORS, 1)
	clitest.Write(t, "o/labels.csv", "index,label\n0,1\n1,1\n2,-1\n3,0\n4,0\n")
	if got := succeed(t, predict+"gaps.csv"); got != "index,label\n0,0\n1,1\n" {
		t.Errorf("with a dropped row: %s", got)
	}
	clitest.Write(t, "o/labels.csv", "index,label\n0,1\n1,2\n2,-1\n3,0\n4,0\n")
	refused(t, predict+"gaps.csv",
		"o/labels.csv: label 2 is out of range; according to result.json there are 2 clusters")
}

// The first release wrote no model of a mixture, only the scale of its columns: the nearest points of the run vote.
func TestPredictByAMixtureWithoutAModel(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"old.csv":      "x,y\n0,0\n0,1\n1000,9.5\n1000,10\n",
		"new.csv":      "x,y\n400,9\n600,1\n",
		"o/labels.csv": "index,label\n0,1\n1,1\n2,0\n3,0\n",
	})
	const predict = "predict --model o --data new.csv --trained-on old.csv"
	for scale, want := range map[cleavev1.Scale]string{
		cleavev1.Scale_SCALE_ZSCORE: "index,label\n0,0\n1,1\n",
		cleavev1.Scale_SCALE_NONE:   "index,label\n0,1\n1,0\n",
	} {
		var text bytes.Buffer
		err := report.WriteResult(&text, &cleavev1.Result{
			K: 2, Rows: 4, Scale: &scale,
			Choice: &cleavev1.Choice{Chosen: &cleavev1.Method{Space: cleavev1.Space_SPACE_MIXTURE}},
		}, &cleavev1.RunRecord{})
		if err != nil {
			t.Fatal(err)
		}
		clitest.Write(t, "o/result.json", text.String())
		if got := succeed(t, predict); got != want {
			t.Errorf("%s: %s", scale, got)
		}
		refused(t, "predict --model o --data new.csv",
			"which compares new points with all points of the run; give them with --trained-on FILE")
	}
}
