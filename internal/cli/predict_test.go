package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// startModel starts a fake coordinator with a job of the k-means family on p.csv that has ended.
func startModel(t *testing.T, weights ...float64) *fake {
	t.Helper()
	f := startFake(t)
	form, err := metric.NewDiagonal(weights)
	if len(weights) == 4 {
		form, err = metric.NewFull(2, weights)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(weights) == 0 {
		form = metric.NewIdentity(2)
	}
	f.model = &model.Model{Distortion: metric.SquaredEuclidean, K: 2, D: 2, Centroids: []float64{0, 0.5, 5, 5.5},
		Metric: form}
	f.labels = []int32{0, 0, 1, 1}
	f.result = clitest.ExampleResult()
	f.result.ObjectiveName = "hmrf-kmeans"
	f.result.Kernel = nil
	f.result.Shifts = nil
	f.result.Model = wire.ModelHead(f.model)
	f.result.History = []*cleavev1.Iteration{
		{Iteration: 1, Objective: 3.5, Moved: 4, AssignmentObjective: proto.Float64(4.25),
			Parts: &cleavev1.ObjectiveParts{Distortion: 1, MustLink: 2, LogDet: -0.5, Violated: 1, MetricSpread: 8}},
		{Iteration: 2, Objective: 1.5, AssignmentObjective: proto.Float64(1.5),
			Parts: &cleavev1.ObjectiveParts{Distortion: 1.5}},
	}
	f.result.Inference = &cleavev1.InferenceReport{Engine: cleavev1.Inference_INFERENCE_LP, Exact: true,
		LpValue: proto.Float64(1.25), Rounds: 3}
	data, err := jobflags.DataIn("p.csv").LoadPoints(t.Context(), jobflags.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	f.spec = &cleavev1.JobSpec{}
	id, err := dataset.ID(data.Data)
	if err != nil {
		t.Fatal(err)
	}
	f.spec.Data = &cleavev1.JobSpec_DatasetId{DatasetId: id}
	return f
}

func TestFilesOfAModel(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	for _, c := range []struct {
		weights    []float64
		form, file string
	}{
		{nil, "identity", ""},
		{[]float64{0.5, 0.1}, "diagonal", "x,y\n0.5,0.1\n"},
		{[]float64{2, 0.25, 0.25, 1}, "full", "x,y\n2,0.25\n0.25,1\n"},
	} {
		f := startModel(t, c.weights...)
		succeed(t, "result job-1 --quiet --data p.csv --out "+c.form+" --server "+f.address)
		if got := clitest.Read(t, c.form+"/centroids.csv"); got != "x,y\n0,0.5\n5,5.5\n" {
			t.Errorf("centroids.csv is %q", got)
		}
		if text, err := os.ReadFile(c.form + "/metric.csv"); c.file != string(text) || (err == nil) != (c.file != "") {
			t.Errorf("metric.csv of the %s metric is %q (%v)", c.form, text, err)
		}
		if d := readResult(t, clitest.Read(t, c.form+"/result.json")); !proto.Equal(d.Model, wire.ModelHead(f.model)) {
			t.Errorf("the model is %+v", d.Model)
		}
		if picture := clitest.Read(t, c.form+"/clusters.svg"); !strings.Contains(picture, ">centroid<") {
			t.Error("no centroid is drawn")
		}
		d := readResult(t, clitest.Read(t, c.form+"/result.json"))
		model, header, err := report.LoadModel(c.form, d.Result)
		if err != nil || !reflect.DeepEqual(model, f.model) || !reflect.DeepEqual(header, []string{"x", "y"}) {
			t.Errorf("read back is %+v %v, %v", model, header, err)
		}
		// Without --out the model is not fetched, but result.json is the same.
		if got := succeed(t, "result job-1 --json --server "+f.address); !proto.Equal(answer(t, got),
			answer(t, clitest.Read(t, c.form+"/result.json"))) {
			t.Errorf("--json prints %s", got)
		}
	}
}

func TestResultJSONOfTheKMeansFamily(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	f := startModel(t, 0.5, 0.1)
	var fields struct {
		History   []map[string]any
		Inference map[string]any
		Model     map[string]any
	}
	if err := json.Unmarshal([]byte(succeed(t, "result job-1 --json --server "+f.address)), &fields); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"iteration": 1.0, "objective": 3.5, "moved": 4.0, "restart": 0.0,
		"assignmentObjective": 4.25,
		"parts": map[string]any{"distortion": 1.0, "mustLink": 2.0, "cannotLink": 0.0, "logDet": -0.5,
			"violated": 1.0, "metricSpread": 8.0}}
	if len(fields.History) != 2 || !reflect.DeepEqual(fields.History[0], want) {
		t.Errorf("the history begins with %v, want %v", fields.History[0], want)
	}
	if want := (map[string]any{"engine": "INFERENCE_LP", "exact": true, "lpValue": 1.25, "fallbacks": 0.0,
		"rounds": 3.0}); !reflect.DeepEqual(fields.Inference, want) {
		t.Errorf("inference %v, want %v", fields.Inference, want)
	}
	if want := (map[string]any{"distortion": "DISTORTION_EUCLIDEAN", "k": 2.0, "columns": 2.0,
		"metric": "METRIC_DIAGONAL", "scaled": false}); !reflect.DeepEqual(fields.Model, want) {
		t.Errorf("model %v, want %v", fields.Model, want)
	}
	if out := succeed(t, "result job-1 --server "+f.address); !strings.Contains(out,
		"inference    lp, exact, lower bound 1.25\n") ||
		!strings.Contains(out, "metric       diagonal\n") {
		t.Errorf("the summary is\n%s", out)
	}
}

// labelColumns are the first two columns of a table.
func labelColumns(table string) string {
	lines := strings.SplitAfter(table, "\n")
	for at, line := range lines[:len(lines)-1] {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), ",")
		lines[at] = cells[0] + "," + cells[1] + "\n"
	}
	return strings.Join(lines, "")
}

func TestPredict(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("new.csv", "x,y\n4,4\n-1,0\n9,9\n")
	write("bare.csv", "4,4\n-1,0\n9,9\n")
	write("new.svm", "1:4 2:4\n1:-1\n1:9 2:9\n")
	write("swapped.csv", "y,x\n4,4\n")
	write("wide.csv", "1,2,3\n")
	const want = "index,label\n0,1\n1,0\n2,1\n"
	f := startModel(t)
	succeed(t, "result job-1 --quiet --data p.csv --out model --server "+f.address)
	for _, from := range []string{"--model model", "--job job-1 --server " + f.address} {
		for _, data := range []string{"new.csv", "bare.csv", "new.svm"} {
			got := succeed(t, "predict "+from+" --data "+data)
			if labelColumns(got) != want || !strings.HasPrefix(got, "index,label,distance,margin\n0,1,3.25") {
				t.Errorf("%s of %s gives %q", from, data, got)
			}
		}
		succeed(t, "predict "+from+" --data p.csv --out again.csv")
		if got := labelColumns(clitest.Read(t, "again.csv")); got != labelColumns(clitest.Read(t, "model/labels.csv")) {
			t.Errorf("the run's own points get %q", got)
		}
	}
	f.model = nil
	for _, c := range []struct {
		args, want string
		prepare    func()
	}{
		{"--data new.csv", "give one model", nil},
		{"--model model --job job-1 --data new.csv", "give one model", nil},
		{"--model model --server localhost:1 --data new.csv", "--server requires --job", nil},
		{"--model model --trained-on p.csv --data new.csv",
			"--trained-on does not apply to model: its model assigns new points without those of the run", nil},
		{"--job job-1 --trained-on p.csv --data new.csv", "--trained-on requires --model", nil},
		{"--model model --weights w.csv --data new.csv", "--weights requires --trained-on", nil},
		{"--model model", "no points to assign", nil},
		{"--job job-1 --data new.csv", "no coordinator; give --server", nil},
		{"--job job-1 --data new.csv --server " + f.address, "has no model", nil},
		{"--model nowhere --data new.csv", "nowhere/result.json: the file cannot be read", nil},
		{"--model model --data gone.csv", "gone.csv: the file cannot be read", nil},
		{"--model model --data swapped.csv", "swapped.csv: column 1 is \"y\", but the model has \"x\" there", nil},
		{"--model model --data wide.csv",
			"wide.csv: the points have 3 columns, but the model was fitted to points with 2", nil},
		{"--model model --data new.csv --out " + os.DevNull, os.DevNull + " is not a regular file", nil},
		{"--model model --data x.svm", "x.svm, line 1: feature 3 is outside 0..2", nil},
		{"--model model --data new.csv",
			"model/centroids.csv: the file has 1 row of 2 columns; according to result.json there must be 2 of 2",
			func() { write("model/centroids.csv", "x,y\n1,2\n") }},
		{"--model model --data new.csv", "model/centroids.csv: the file cannot be read", func() {
			os.Remove("model/centroids.csv")
		}},
		{"--model model --data new.csv", "model/result.json: the distortion of the model is missing or unknown",
			func() {
				write("model/centroids.csv", "1,2\n1,2\n")
				write("model/result.json", `{"k": 2, "model": {"metric": "METRIC_IDENTITY", "k": 2, "columns": 2}}`)
			}},
		{"--model model --data new.csv",
			"model/metric.csv: the file has 2 rows of 2 columns; according to result.json there must be 1 of 2",
			func() {
				write("model/metric.csv", "1,2\n1,2\n")
				write("model/result.json",
					`{"k": 2, "model": {"distortion": "DISTORTION_COSINE", "metric": "METRIC_DIAGONAL", "k": 2, `+
						`"columns": 2}}`)
			}},
		{"--model model --data new.csv", "model/metric.csv: the metric's weight of feature 1 is -2", func() {
			write("model/metric.csv", "1,-2\n")
		}},
		{"--model model --data new.csv", "model: this result of ratio-cut has neither centroids nor a kernel function",
			func() {
				write("model/result.json", `{"k": 2, "objectiveName": "ratio-cut"}`)
			}},
		{"--model model --data new.csv", "model/result.json: this is not a result of this version of Cleave", func() {
			write("model/result.json", "{")
		}},
	} {
		if c.prepare != nil {
			c.prepare()
		}
		if r := invoke(t, "predict "+c.args); r.code != 2 || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
			t.Errorf("%s: exit code %d, %q; want %q", c.args, r.code, r.stderr, c.want)
		}
	}
}

// Where clusters have classes, new rows get them too.
func TestPredictNamesClasses(t *testing.T) {
	t.Chdir(t.TempDir())
	var table strings.Builder
	table.WriteString("x,y,kind\n")
	for row := range 60 {
		cluster, kind := row%2, ""
		if row < 20 {
			kind = []string{"low", "high"}[cluster]
		}
		fmt.Fprintf(&table, "%d,%d,%s\n", 100*cluster+row%7, 100*cluster+row%5, kind)
	}
	for name, content := range map[string]string{"data.csv": table.String(), "new.csv": "x,y\n101,99\n3,2\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	succeed(t, "run --data data.csv --k 2 --label-column kind --out o --quiet")
	lines := strings.Split(succeed(t, "predict --model o --data new.csv"), "\n")
	if !strings.HasPrefix(lines[0], "index,label,class,") || !strings.Contains(lines[1], ",high,") ||
		!strings.Contains(lines[2], ",low,") {
		t.Errorf("%q", lines)
	}
	if joined := strings.Split(succeed(t, "predict --model o --data new.csv --join"),
		"\n"); !strings.HasPrefix(joined[0], "x,y,label,class,") || !strings.HasPrefix(joined[1], "101,99,") ||
		!strings.Contains(joined[1], ",high,") {
		t.Errorf("%q", joined)
	}
	if err := os.Remove("o/labels.csv"); err != nil {
		t.Fatal(err)
	}
	if r := invoke(t, "predict --model o --data new.csv"); r.code != 0 || strings.Contains(r.stdout, "class") ||
		!strings.Contains(r.stderr, "o/labels.csv") || !strings.Contains(r.stderr, "without classes") {
		t.Errorf("without labels.csv: exit code %d, %q, %q", r.code, r.stdout, r.stderr)
	}
}
