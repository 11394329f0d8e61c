// Package clitest has small files, messages and helpers for the tests of the command line.
package clitest

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Folder writes files into a new folder and makes it the working directory of the test.
func Folder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// SmallFiles are small inputs of every kind, some of them invalid.
var SmallFiles = map[string]string{
	"p.csv":      "x,y\n0,0\n0,1\n5,5\n5,6\n",
	"e.csv":      "src,dst,weight\n0,1,1\n1,2,2\n2,3,1\n",
	"k.csv":      "1,0.5,0\n0.5,1,0\n0,0,1\n",
	"c.csv":      "i,j,kind,weight\n0,1,must,\n0,2,cannot,2.5\n",
	"one.csv":    "x,kind\n0,a\n1,\n2,a\n",
	"none.csv":   "i,j,kind,weight\n",
	"s.csv":      "index,label\n0,0\n2,1\n",
	"w.csv":      "index,weight\n1,2\n",
	"l.csv":      "index,label\n0,0\n1,0\n2,1\n3,1\n",
	"job.yaml":   "k: 3\nseed: 7\nkernelKmeans:\n  kernel: {function: KERNEL_FUNCTION_LAPLACIAN, rho: 2}\n",
	"byid.yaml":  "dataset_id: abc\nk: 2\n",
	"wrong.yaml": "k: 3\nclusters: 4\n",
	"broken.yml": "k: [3\n",
	"x.svm":      "1 1:0.5 3:2\n-1 2:1\n1 3:1\n",
	"m.csv":      "x,y\n0,0.5\n5,5.5\n",
	"m3.csv":     "0,0,0\n1,1,1\n",
	"other.csv":  "y,x\n0,0.5\n5,5.5\n",
	"likely.csv": "index,label,probability\n0,0,0.75\n0,1,0.25\n2,1,\n",
	"hmrf.yaml":  "k: 2\nhmrfKmeans: {distortion: DISTORTION_COSINE, inference: INFERENCE_BP}\n",
}

// Read returns the content of a file.
func Read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Write writes a file.
func Write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// IterationItem returns the item of a watch for an iteration.
func IterationItem(iteration, moved uint32, objective float64, restart uint32) *cleavev1.WatchJobResponse {
	return EventItem(&cleavev1.Event{What: &cleavev1.Event_Iteration{Iteration: &cleavev1.Iteration{
		Iteration: iteration, Moved: moved, Objective: objective, Restart: restart}}})
}

// EventItem returns the item of a watch for an event.
func EventItem(event *cleavev1.Event) *cleavev1.WatchJobResponse {
	return &cleavev1.WatchJobResponse{Item: &cleavev1.WatchJobResponse_Event{Event: event}}
}

// ProgressItem returns the item of a watch for live progress.
func ProgressItem(p *cleavev1.Progress) *cleavev1.WatchJobResponse {
	return &cleavev1.WatchJobResponse{Item: &cleavev1.WatchJobResponse_Progress{Progress: p}}
}

// EndedItem returns the item of a watch for the end of a job that succeeded.
func EndedItem() *cleavev1.WatchJobResponse {
	return EventItem(
		&cleavev1.Event{
			What: &cleavev1.Event_Ended{Ended: &cleavev1.JobEnded{State: cleavev1.JobState_JOB_STATE_SUCCEEDED}}})
}

// ExampleResult returns a result in which most fields are set.
func ExampleResult() *cleavev1.Result {
	return &cleavev1.Result{
		State:         cleavev1.JobState_JOB_STATE_SUCCEEDED,
		StopReason:    cleavev1.StopReason_STOP_REASON_CONVERGED,
		Iterations:    2,
		ObjectiveName: "kernel-kmeans",
		Objective:     0.30000000000000004,
		History: []*cleavev1.Iteration{
			{Iteration: 0, Objective: 10}, {Iteration: 1, Objective: 1.0 / 3, Moved: 3},
			{Iteration: 2, Objective: 0.30000000000000004, Moved: 1},
		},
		Constraints: &cleavev1.ConstraintReport{Total: 3, Satisfied: 1, MustLinkViolated: 1, CannotLinkViolated: 1},
		Sigma:       1.5,
		Warnings:    []*cleavev1.Notice{{Reason: "CONFLICT", Message: "0-1 is <both> must & cannot"}},
		Plan: &cleavev1.Plan{Tiles: 2, TileRows: 16, Storage: cleavev1.PlanStorage_PLAN_STORAGE_PARTLY_FLOAT32,
			StoredTiles: 1, ComputedTiles: 1, TileBytes: 4096, Bytes: 9999, Workers: 2, GridExponent: -40},
		Timings: &cleavev1.Timings{Load: durationpb.New(time.Millisecond),
			Total: durationpb.New(1500 * time.Millisecond)},
		Restart: 1,
		Shifts:  []*cleavev1.ShiftChange{{Iteration: 1, Sigma: 1.5, Why: "the objective rose"}},
		Kernel: &cleavev1.KernelReport{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_GAUSSIAN,
			Rho: proto.Float64(0.7)},
		K:            2,
		Rows:         4,
		ClusterSizes: []uint32{3, 1},
	}
}

// SpectralFiles are SmallFiles and inputs of the spectral family.
var SpectralFiles = func() map[string]string {
	files := maps.Clone(SmallFiles)
	files["q.csv"] = "i,j,belief\n0,1,1\n3,0,-0.5\n2,2,1\n"
	files["twice.csv"] = "i,j,belief\n0,1,1\n1,0,1\n"
	files["silent.csv"] = "i,j,belief\n"
	files["far.csv"] = "src,dst\n0,1\n1,9\n"
	files["gaps.csv"] = "x,y\n0,0\n0,1\n,\n5,6\n"
	files["few.csv"] = "x\n1\n2\n"
	files["csp.yaml"] = "k: 2\nconstrainedSpectral: {beta: {rule: BETA_RULE_STRICT}, beliefs: {inline: {columns: " +
		"[{name: i, integers: {values: [1]}}, " +
		"{name: j, integers: {values: [2]}}, {name: belief, numbers: {values: [-1]}}]}}}\n"
	return files
}()

// SolverItem returns the item of a watch for a step of an eigensolver.
func SolverItem(step uint32, residual float64, converged uint32) *cleavev1.WatchJobResponse {
	return EventItem(&cleavev1.Event{Sequence: uint32(step), What: &cleavev1.Event_Solver{Solver: &cleavev1.SolverStep{
		Step: step, Products: 10 * step, Residual: residual, Tolerance: 1e-8, Converged: converged, Wanted: 2}}})
}

// ExampleChoice has eight ways; the fifth is the one without constraints, and the best is not taken.
func ExampleChoice() *cleavev1.Choice {
	c := &cleavev1.Choice{Reason: "it has more right"}
	for _, t := range []struct {
		space                cleavev1.Space
		use                  cleavev1.ConstraintUse
		agreement, advantage float64
	}{
		{cleavev1.Space_SPACE_ROWS, cleavev1.ConstraintUse_CONSTRAINT_USE_NONE, 0.3, -2},
		{cleavev1.Space_SPACE_ROWS, cleavev1.ConstraintUse_CONSTRAINT_USE_SOFT, 0.7, 1},
		{cleavev1.Space_SPACE_ROWS, cleavev1.ConstraintUse_CONSTRAINT_USE_HARD, 0.8, 2},
		{cleavev1.Space_SPACE_ROWS, cleavev1.ConstraintUse_CONSTRAINT_USE_METRIC, 0.95, 3},
		{cleavev1.Space_SPACE_STANDARDIZED, cleavev1.ConstraintUse_CONSTRAINT_USE_NONE, 0.25, 0},
		{cleavev1.Space_SPACE_NEIGHBORS, cleavev1.ConstraintUse_CONSTRAINT_USE_NONE, 0.6, 0.5},
		{cleavev1.Space_SPACE_NEIGHBORS, cleavev1.ConstraintUse_CONSTRAINT_USE_SOFT, 0.65, 0.6},
		{cleavev1.Space_SPACE_NEIGHBORS, cleavev1.ConstraintUse_CONSTRAINT_USE_HARD, 0.9, 3},
	} {
		c.Tried = append(c.Tried, &cleavev1.MethodScore{Method: &cleavev1.Method{Space: t.space, ConstraintUse: t.use},
			Agreement: t.agreement, Advantage: t.advantage})
	}
	c.Chosen = c.Tried[7].Method
	return c
}

// ExampleKSelection returns the scores of three numbers of clusters, each of which is plausible.
func ExampleKSelection() *cleavev1.KSelection {
	return &cleavev1.KSelection{
		Proposed: 3, Confidence: cleavev1.Confidence_CONFIDENCE_UNSURE, Plausible: []uint32{2, 3, 4},
		Reason: "3 come out again",
		Scores: []*cleavev1.KScore{
			{K: 2, Space: cleavev1.Space_SPACE_STANDARDIZED_NEIGHBORS, Stability: new(0.891), Silhouette: new(1.0)},
			{K: 3, Space: cleavev1.Space_SPACE_STANDARDIZED_NEIGHBORS, Stability: new(0.885), Silhouette: new(0.844)},
			{K: 4, Space: cleavev1.Space_SPACE_ROWS, Silhouette: new(-0.05)},
		},
	}
}
