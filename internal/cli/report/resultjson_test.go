package report

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// CLEAVE_RECORD_ANSWERS, set to anything in the environment, writes testdata/result.json anew: its diff shows what
// programs will read that did not know of it.
func TestResultJSON(t *testing.T) {
	result := clitest.ExampleResult()
	run := &cleavev1.RunRecord{}
	run.Evaluation = &cleavev1.Evaluation{Nmi: 1, MutualInformation: math.Ln2, Ari: 1, PairwisePrecision: 1,
		PairwiseRecall: 0.5, PairwiseF: 2.0 / 3, Purity: 1}
	result.RowScores = &cleavev1.RowScoresHead{Rows: 4, Measure: cleavev1.RowMeasure_ROW_MEASURE_FEATURE_SPACE,
		Runs: 10}
	result.Version = "v1.2.3"
	run.Origin = &cleavev1.Origin{
		Version: "v1.2.3", Command: []string{"run", "--data", "p.csv", "--k", "2"}, Directory: "/home/me", Seed: 5,
		Inputs: []*cleavev1.InputFile{{Flag: "data", Path: "p.csv", Sha256: "ba78", Bytes: 9}},
		Spec: &cleavev1.JobSpec{Data: &cleavev1.JobSpec_DatasetId{DatasetId: "16bf"},
			Clusters: &cleavev1.JobSpec_K{K: 2}, Seed: 5},
	}
	result.Choice = clitest.ExampleChoice()
	result.Choice.Tried = result.Choice.Tried[:1]
	var got bytes.Buffer
	if err := WriteResult(&got, result, run); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("CLEAVE_RECORD_ANSWERS") != "" {
		if err := os.WriteFile("testdata/result.json", got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/result.json")
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("result.json has changed; programs read it. Got\n%s\nwant\n%s", got.String(), want)
	}
	back, record, err := ReadResult("testdata")
	if err != nil || !proto.Equal(back, result) || !proto.Equal(record, run) {
		t.Errorf("read back it is %v, %v, %v", back, record, err)
	}
}

// The fields of a result and of the record of its run are in one object, so no name may have two meanings.
func TestResultAndRecordAreOneObject(t *testing.T) {
	result, record := (&cleavev1.Result{}).ProtoReflect().Descriptor().Fields(),
		(&cleavev1.RunRecord{}).ProtoReflect().Descriptor().Fields()
	for at := range record.Len() {
		if name := record.Get(at).JSONName(); result.ByJSONName(name) != nil {
			t.Errorf("%s is a field of both", name)
		}
	}
	var out bytes.Buffer
	if err := WriteResult(&out, &cleavev1.Result{}, &cleavev1.RunRecord{}); err != nil || !json.Valid(out.Bytes()) {
		t.Errorf("without values it is %s, %v", out.Bytes(), err)
	}
}

// Zeros and empty lists are written; what a run does not have is left out.
func TestResultJSONOfAnEmptyResult(t *testing.T) {
	var text bytes.Buffer
	if err := WriteResult(&text, &cleavev1.Result{Kernel: &cleavev1.KernelReport{}},
		&cleavev1.RunRecord{}); err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text.Bytes(), &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"constraints", "evaluation", "inference", "spectral", "model", "embedding", "plan",
		"timings", "choice", "rowScores", "origin"} {
		if value, there := fields[name]; there {
			t.Errorf("%s is there: %s", name, value)
		}
	}
	for name, want := range map[string]string{"history": "[]", "warnings": "[]", "shifts": "[]", "clusterSizes": "[]",
		"objective": "0", "rows": "0", "sigma": "0", "droppedRows": "0"} {
		if got := string(fields[name]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	var kernel map[string]any // its parameters are optional
	if err := json.Unmarshal(fields["kernel"], &kernel); err != nil || len(kernel) != 1 {
		t.Errorf("the kernel is %s", fields["kernel"])
	}
}

func TestReadResultRefusesNumbersThatAreNotFinite(t *testing.T) {
	folder := t.TempDir()
	for text, says := range map[string]string{
		`{"objective": "NaN"}`:                              "objective is NaN",
		`{"history": [{}, {"objective": "-Infinity"}]}`:     "history[1].objective is -Inf",
		`{"evaluation": {"nmi": "Infinity"}}`:               "evaluation.nmi is +Inf",
		`{"kernel": {"bandwidth": 1}, "sigma": "Infinity"}`: "sigma is +Inf",
	} {
		clitest.Write(t, filepath.Join(folder, ResultFile), text)
		if _, _, err := ReadResult(folder); !fault.Is(err, "BAD_MODEL") || !strings.Contains(err.Error(), ": "+says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

func TestObjectiveKeepsItsBits(t *testing.T) {
	for _, value := range []float64{0, math.Copysign(0, -1), 0.30000000000000004, math.Pi * 1e300,
		math.SmallestNonzeroFloat64, math.MaxFloat64, -1.0 / 3, 1e21, 123456789.123456789} {
		t.Chdir(t.TempDir())
		var text bytes.Buffer
		if err := WriteResult(&text, &cleavev1.Result{Objective: value}, &cleavev1.RunRecord{}); err != nil {
			t.Fatal(err)
		}
		clitest.Write(t, ResultFile, text.String())
		back, _, err := ReadResult(".")
		if err != nil || math.Float64bits(back.GetObjective()) != math.Float64bits(value) {
			t.Errorf("%g came back as %g (%v)", value, back.GetObjective(), err)
		}
		var plain struct{ Objective float64 } // as other programs read it
		if err := json.Unmarshal(text.Bytes(), &plain); err != nil ||
			math.Float64bits(plain.Objective) != math.Float64bits(value) {
			t.Errorf("%g is read as %g (%v)", value, plain.Objective, err)
		}
	}
}
