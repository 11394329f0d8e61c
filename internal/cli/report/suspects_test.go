package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/clustering/forest"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func suspectPair(i, j uint32, must bool, strength float64) *cleavev1.Suspect {
	return &cleavev1.Suspect{Row: i, Other: proto.Uint32(j), MustLink: must, Strength: strength}
}

func suspectSeed(i, label uint32, strength float64) *cleavev1.Suspect {
	return &cleavev1.Suspect{Row: i, Label: proto.Uint32(label), Strength: strength}
}

// withSuspects returns a report of six points with suspects.
func withSuspects(suspects ...*cleavev1.Suspect) *Report {
	result := &cleavev1.Result{K: 2, Rows: 6, ClusterSizes: []uint32{3, 3}, Suspects: suspects,
		Warnings: []*cleavev1.Notice{
			{Reason: "CONSTRAINTS_AGAINST_DATA", Message: "constraints that no good method has right"},
			{Reason: "SEEDS_AGAINST_DATA", Message: "seeds that no good method has right"},
			{Reason: "NEAR_CHANCE", Message: "near chance"},
		}}
	return New(&client.Outcome{Result: result, Labels: []int32{0, 0, 0, 1, 1, 1}}, jobflags.Rows{})
}

func fileOf(t *testing.T, r *Report, name string) string {
	t.Helper()
	for _, f := range r.Files(Scene{}, nil, func(string, ...any) {}) {
		if f.Name == name {
			var out strings.Builder
			if err := f.Write(&out); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
	}
	return ""
}

// The rows of suspects.csv are those of the data file: by their ids, and by their numbers also where some were
// dropped.
func TestSuspectsFile(t *testing.T) {
	pairs := []*cleavev1.Suspect{suspectPair(0, 3, true, 0.75), suspectPair(4, 5, false, 0)}
	seeds := []*cleavev1.Suspect{suspectSeed(2, 1, 0.5)}
	ids := []string{"ann", "bob", "cy, jr", "di", "ed", "flo"}
	classes := []string{"good", "bad"}
	for _, c := range []struct {
		name string
		call func(*Report)
		want string
	}{
		{"numbers", func(*Report) {}, "0,3,must,,0.75\n4,5,cannot,,0\n2,,seed,1,0.5\n"},
		{"names", func(r *Report) { r.RowIDs, r.Classes = ids, classes },
			"ann,di,must,,0.75\ned,flo,cannot,,0\n\"cy, jr\",,seed,bad,0.5\n"},
		{"dropped", func(r *Report) { r.Filter = jobflags.FilterOf([]int32{1, 2, 3, 5, 6, 7}, 8) },
			"1,5,must,,0.75\n6,7,cannot,,0\n3,,seed,1,0.5\n"},
	} {
		r := withSuspects(slices.Concat(pairs, seeds)...)
		c.call(r)
		if got := fileOf(t, r, "suspects.csv"); got != "row,other,kind,label,strength\n"+c.want {
			t.Errorf("%s: got\n%s", c.name, got)
		}
	}
	if got := fileOf(t, withSuspects(), "suspects.csv"); got != "" {
		t.Errorf("without suspects there is\n%s", got)
	}
}

// The summary has one line about suspects, and no warning says the same.
func TestSuspectsInSummary(t *testing.T) {
	pairs := []*cleavev1.Suspect{suspectPair(0, 3, true, 0.984), suspectPair(4, 5, false, 0.5)}
	for _, c := range []struct {
		suspects []*cleavev1.Suspect
		total    uint32
		ids      []string
		files    []string
		want     string
	}{
		{pairs, 40, nil, []string{"o/suspects.csv"},
			"2 of 40 constraints, the clearest 0-3 (must, 0.98); all in suspects.csv"},
		{pairs, 40, nil, nil, "2 of 40 constraints, the clearest 0-3 (must, 0.98); --out DIR lists all in " +
			"suspects.csv"},
		{pairs[:1], 1, nil, nil, "1 of 1 constraint: 0-3 (must, 0.98)"},
		{pairs, 40, []string{"a", "b", "c", "d", "e", "f"}, []string{"o/suspects.csv"},
			"2 of 40 constraints, the clearest a and d (must, 0.98); all in suspects.csv"},
		{[]*cleavev1.Suspect{suspectSeed(2, 1, 0.5)}, 0, nil, nil, "1 seed: 2 (1, 0.50)"},
		{[]*cleavev1.Suspect{suspectSeed(2, 1, 0.5), suspectSeed(1, 1, 0)}, 40, []string{"a", "b", "c", "d", "e", "f"},
			[]string{"o/suspects.csv"}, "2 seeds, the clearest c (bad, 0.50); all in suspects.csv"},
	} {
		r := withSuspects(c.suspects...)
		r.Result.Constraints = &cleavev1.ConstraintReport{Total: c.total, Satisfied: c.total}
		if c.ids != nil {
			r.RowIDs = c.ids
			r.Classes = []string{"good", "bad"}
		}
		var out strings.Builder
		if err := r.Summarize(&out, r.Result.GetWarnings(), c.files); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(strings.Split(out.String(), "\n"), func(line string) bool {
			name, rest, _ := strings.Cut(line, " ")
			return name == "suspects" && strings.TrimSpace(rest) == c.want
		}) {
			t.Errorf("%q is missing:\n%s", c.want, out.String())
		}
		if strings.Contains(out.String(), "no good method") || !strings.Contains(out.String(), "near chance") {
			t.Errorf("the warnings are not what is left:\n%s", out.String())
		}
	}
	var out strings.Builder
	r := withSuspects()
	if err := r.Summarize(&out, r.Result.GetWarnings(), nil); err != nil ||
		!strings.Contains(out.String(), "constraints that no good method") {
		t.Errorf("results without suspects keep their warnings: %v\n%s", err, out.String())
	}
}

// A classifier is read back as it was, whatever the order of its groups, and its centroids are means of the columns.
func TestClassifierFiles(t *testing.T) {
	points := &dataset.Points{N: 4, D: 2, Values: []float64{1, 2, 3, 4, 10, 20, 30, 40}}
	head := &cleavev1.ModelHead{
		Distortion: cleavev1.Distortion_DISTORTION_EUCLIDEAN, K: 2, Columns: 2, Metric: cleavev1.Metric_METRIC_IDENTITY,
		Landmarks: &cleavev1.LandmarkHead{Count: 3, Columns: 2,
			Kernel:       &cleavev1.KernelReport{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR},
			GridExponent: -40},
	}
	result := &cleavev1.Result{K: 2, Rows: 4, ClusterSizes: []uint32{2, 2}, Model: head,
		Choice: &cleavev1.Choice{Chosen: &cleavev1.Method{Space: cleavev1.Space_SPACE_ROWS,
			ConstraintUse: cleavev1.ConstraintUse_CONSTRAINT_USE_DISCRIMINANT}}}
	head.Forest = &cleavev1.ForestHead{Trees: 2, Nodes: 4, Weight: 0.5}
	trees, err := forest.New(2, 2, []float64{1, 0.25, -1, 0, -1, 1, -1, 1})
	if err != nil {
		t.Fatal(err)
	}
	model := &model.Model{
		Distortion: metric.SquaredEuclidean, K: 2, D: 2, Metric: metric.NewIdentity(2),
		Centroids: []float64{-0.5, 0.5, 0.5, -0.5}, // groups 1 and 0
		Landmarks: &model.Landmarks{Points: &dataset.Points{N: 3, D: 2, Values: points.Values[:6]},
			Projection: []float64{1, 2, 3, 4, 5, 6}},
		Forest: &model.Forest{Trees: trees, Weight: 0.5},
	}
	r := New(&client.Outcome{Result: result, Labels: []int32{0, 0, 1, 1}, Model: model}, jobflags.Rows{})
	dir := t.TempDir()
	for _, scene := range []Scene{{}, {Data: points, Header: []string{"a", "b"}}} {
		if err := WriteFolder(t.Context(), dir, r.Files(scene, nil, func(string, ...any) {})); err != nil {
			t.Fatal(err)
		}
		back, _, err := LoadModel(dir, result)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(back.Centroids) != "[0.5 -0.5 -0.5 0.5]" ||
			fmt.Sprint(back.Landmarks.Projection) != "[2 1 4 3 6 5]" ||
			!slices.Equal(back.Landmarks.Points.Values, points.Values[:6]) {
			t.Errorf("read back: %v, %v", back.Centroids, back.Landmarks)
		}
		if fmt.Sprint(back.Forest.Trees.Values()) != "[1 0.25 -1 1 -1 0 -1 0]" || back.Forest.Weight != 0.5 {
			t.Errorf("the trees are read back as %v", back.Forest)
		}
		if _, err := os.Stat(filepath.Join(dir, centroidsFile)); scene.Data == nil && err == nil {
			t.Error("there are centroids without data")
		}
	}
	if got := clitest.Read(t, filepath.Join(dir, centroidsFile)); got != "a,b\n2,3\n20,30\n" {
		t.Errorf("centroids.csv is\n%s", got)
	}
	if back, err := ReadFolder(dir, result, &cleavev1.RunRecord{}); err != nil || back.Model == nil {
		t.Errorf("the folder is read back with %v", err)
	}
	for _, spoil := range []func(*cleavev1.ModelHead){
		func(h *cleavev1.ModelHead) { h.K, h.Columns = 1<<31, 1<<31 },
		func(h *cleavev1.ModelHead) { h.K, h.Columns, h.Landmarks.Count = 1<<31, 1<<31, 1<<31 },
		func(h *cleavev1.ModelHead) { h.Columns = 3 },
		func(h *cleavev1.ModelHead) { h.K, h.Columns = 0, 0 },
		func(h *cleavev1.ModelHead) { h.Landmarks.Count = 2 },
		func(h *cleavev1.ModelHead) { h.Forest.Nodes = 3 },
		func(h *cleavev1.ModelHead) { h.Forest.Trees = 1 },
		func(h *cleavev1.ModelHead) { h.Forest.Weight = -1 },
	} {
		spoiled := proto.CloneOf(result)
		spoil(spoiled.Model)
		if _, _, err := LoadModel(dir, spoiled); err == nil {
			t.Errorf("a spoiled model was read: %v", spoiled.Model)
		}
	}
	for _, name := range []string{forestFile, projectionFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if back, err := ReadFolder(dir, result, &cleavev1.RunRecord{}); err != nil || back.Model != nil {
			t.Errorf("a folder without %s is read with %v, %v", name, back, err)
		}
	}
}
