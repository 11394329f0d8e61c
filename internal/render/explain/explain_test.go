package explain

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cleave-project/cleave/internal/data/constraint"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// said is everything that is said about facts, a sentence a line.
func said(f Facts) string {
	var out strings.Builder
	for _, p := range Answer(f) {
		out.WriteString(p.Topic + "\n" + strings.Join(p.Sentences, "\n") + "\n")
	}
	return out.String()
}

func method(space cleavev1.Space, use cleavev1.ConstraintUse) *cleavev1.Method {
	return &cleavev1.Method{Space: space, ConstraintUse: use}
}

// ordinary is a run without anything wrong.
func ordinary() *cleavev1.Result {
	return &cleavev1.Result{
		State: cleavev1.JobState_JOB_STATE_SUCCEEDED, StopReason: cleavev1.StopReason_STOP_REASON_CONVERGED,
		ObjectiveName: "kmeans", Objective: 50, Iterations: 7, K: 3, Rows: 90, ClusterSizes: []uint32{30, 28, 32},
		History: []*cleavev1.Iteration{{Iteration: 1, Objective: 100, Moved: 90}, {Iteration: 7, Objective: 50}},
		Timings: &cleavev1.Timings{Total: durationpb.New(2 * time.Second),
			Iterate: durationpb.New(1500 * time.Millisecond)},
	}
}

func TestWhatIsSaid(t *testing.T) {
	must := func(i, j int32) constraint.Constraint {
		return constraint.Constraint{I: i, J: j, Kind: constraint.MustLink}
	}
	for _, c := range []struct {
		name   string
		change func(*Facts)
		says   []string
		not    []string
	}{
		{"ordinary", func(f *Facts) {
			f.Spec = &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}}}
		},
			[]string{"90 points were put into 3 clusters by kmeans.", "after 7 iterations, no point moved",
				"(kmeans) fell by 50%, from 100 to 50.", "2 s, 75% of it for iterations.",
				"No cluster has a suspicious", "Nothing looks wrong."},
			[]string{"Constraints\n", "Warnings", "Why this method", "Against the truth"}},
		{"seeds", func(f *Facts) {
			f.Spec = &cleavev1.JobSpec{Supervision: &cleavev1.Supervision{Seeds: &cleavev1.TableInput{}}}
			f.Result.Choice = &cleavev1.Choice{Chosen: method(cleavev1.Space_SPACE_ROWS,
				cleavev1.ConstraintUse_CONSTRAINT_USE_HARD), Tried: []*cleavev1.MethodScore{
				{Method: method(cleavev1.Space_SPACE_ROWS, cleavev1.ConstraintUse_CONSTRAINT_USE_NONE), Agreement: 0.1},
				{Method: method(cleavev1.Space_SPACE_ROWS, cleavev1.ConstraintUse_CONSTRAINT_USE_HARD), Agreement: 0.3},
			}}
		}, []string{"seeds were enforced", `"k-means of the rows", with a held-out accuracy of 0.10`,
			"many of the seeds are wrong", "check some seeds by hand"},
			[]string{"these constraints", "some constraints"}},
		{"a large change", func(f *Facts) { f.Result.History[1].Objective = 0.1 },
			[]string{"(kmeans) fell by 100%, from 100 to 0.1."}, nil},
		{"seeds and a column of constraints", func(f *Facts) {
			f.Spec = &cleavev1.JobSpec{Supervision: &cleavev1.Supervision{Seeds: &cleavev1.TableInput{}}}
			f.Result.Choice = &cleavev1.Choice{Chosen: method(cleavev1.Space_SPACE_ROWS,
				cleavev1.ConstraintUse_CONSTRAINT_USE_HARD), Reason: `column "constraints" has few values`}
		}, []string{`Column "constraints" has few values.`}, nil},
		{"auto", func(f *Facts) {
			f.Result.Constraints = &cleavev1.ConstraintReport{Total: 60, Satisfied: 60}
			f.Result.Timings = &cleavev1.Timings{Total: durationpb.New(2 * time.Second),
				Initialize: durationpb.New(1995 * time.Millisecond)}
			f.Result.Choice = &cleavev1.Choice{Chosen: method(cleavev1.Space_SPACE_ROWS,
				cleavev1.ConstraintUse_CONSTRAINT_USE_HARD), Reason: "it agrees best", Tried: []*cleavev1.MethodScore{
				{Method: method(cleavev1.Space_SPACE_ROWS, cleavev1.ConstraintUse_CONSTRAINT_USE_NONE), Agreement: 0.1},
				{Method: method(cleavev1.Space_SPACE_ROWS, cleavev1.ConstraintUse_CONSTRAINT_USE_HARD), Agreement: 0.3},
			}}
		}, []string{`by the method "k-means of the rows with hard constraints", which auto chose`, "It agrees best.",
			`Of 2 methods that were tried, the next best is "k-means of the rows", with a held-out accuracy of 0.10`,
			"2 s, nearly all of it for trying 2 methods.", "has a held-out accuracy of only 0.30",
			"All 60 constraints are satisfied.", "Look for other measurements"}, []string{"Nothing looks wrong"}},
		{"auto, hardly worse than another method", func(f *Facts) {
			f.Result.Choice = &cleavev1.Choice{Chosen: method(cleavev1.Space_SPACE_ROWS,
				cleavev1.ConstraintUse_CONSTRAINT_USE_NONE), Tried: []*cleavev1.MethodScore{
				{Method: method(cleavev1.Space_SPACE_ROWS, cleavev1.ConstraintUse_CONSTRAINT_USE_NONE),
					Agreement: 0.92},
				{Method: method(cleavev1.Space_SPACE_ROWS, cleavev1.ConstraintUse_CONSTRAINT_USE_HARD),
					Agreement: 0.94},
			}}
		}, []string{`Of 2 methods that were tried, "k-means of the rows with hard constraints" has the best held-out ` +
			`accuracy, 0.94`, "too small to be trusted"}, []string{"next best"}},
		{"few constraints", func(f *Facts) {
			f.Result.Constraints = &cleavev1.ConstraintReport{Total: 10, Satisfied: 10}
			f.Result.Choice = &cleavev1.Choice{Chosen: method(cleavev1.Space_SPACE_ROWS,
				cleavev1.ConstraintUse_CONSTRAINT_USE_HARD)}
			f.Result.Warnings = []*cleavev1.Notice{{Reason: "FEW_CONSTRAINTS",
				Message: "there are too few constraints (10)"}}
		}, []string{"There are too few constraints (10).", "Add constraints"}, nil},
		{"enough with the pairs of seeds", func(f *Facts) {
			f.Result.Constraints = &cleavev1.ConstraintReport{Total: 40, Satisfied: 40}
			f.Result.Choice = &cleavev1.Choice{Chosen: method(cleavev1.Space_SPACE_ROWS,
				cleavev1.ConstraintUse_CONSTRAINT_USE_HARD), Reason: "it agrees best with held-out constraints"}
		}, []string{"It agrees best with held-out constraints."}, []string{"There are 40 constraints",
			"Add constraints"}},
		{"no constraints", func(f *Facts) {
			f.Result.Choice = &cleavev1.Choice{Chosen: method(cleavev1.Space_SPACE_ROWS,
				cleavev1.ConstraintUse_CONSTRAINT_USE_NONE)}
		}, []string{"give them with --constraints"}, nil},
		{"seeds", func(f *Facts) {
			f.Spec = &cleavev1.JobSpec{Supervision: &cleavev1.Supervision{Seeds: &cleavev1.TableInput{}}}
			f.Result.Choice = &cleavev1.Choice{Chosen: method(cleavev1.Space_SPACE_NEIGHBORS,
				cleavev1.ConstraintUse_CONSTRAINT_USE_CUTS),
				Reason: "finding nearest neighbors would take too long, so k-means is used"}
		}, []string{"Points were compared by their nearest neighbors; seeds chose which eigenvectors count.",
			"Finding nearest neighbors would take too long"}, []string{"give them with --constraints"}},
		{"links of classes", func(f *Facts) {
			f.Result.Choice = &cleavev1.Choice{Chosen: method(cleavev1.Space_SPACE_ROWS,
				cleavev1.ConstraintUse_CONSTRAINT_USE_NONE),
				Tried: []*cleavev1.MethodScore{
					{Method: method(cleavev1.Space_SPACE_ROWS, cleavev1.ConstraintUse_CONSTRAINT_USE_NONE),
						Agreement: 1, MustLinks: 3}}}
		}, nil, []string{"give them with --constraints"}},
		{"a range", func(f *Facts) {
			f.Spec = &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_KRange{KRange: &cleavev1.KRange{Min: 2, Max: 6}}}
			f.Result.KSelection = &cleavev1.KSelection{Proposed: 3, Plausible: []uint32{2, 3, 4},
				Confidence: cleavev1.Confidence_CONFIDENCE_UNSURE, Reason: "3 come out again, but 2 or 4 would do too"}
			f.Result.Warnings = []*cleavev1.Notice{{Message: "3 come out again, but 2 or 4 would do too"}}
		}, []string{"Of 2 to 6 clusters, 3 is the best guess: 3 come out again", "labels-k2.csv, labels-k4.csv"},
			[]string{"Warnings"}},
		{"unsure points", func(f *Facts) {
			f.Confidence = []float64{1, 0.5, 0.4, 1}
			f.IDs = []string{"a", "b", "c", "d"}
		}, []string{"disagree about 2 points, above all about c (0.40), b (0.50).", "points of low confidence"}, nil},
		{"a mixture", func(f *Facts) {
			f.Confidence = []float64{1, 0.5, 0.9, 1}
			f.Result.RowScores = &cleavev1.RowScoresHead{Posterior: true}
		},
			[]string{"By the mixture of Gaussians, 1 point is in a cluster with a probability below 0.7, the lowest " +
				"1 (0.50)."}, []string{"disagree"}},
		{"unknown constraints", func(f *Facts) {
			f.Result.Constraints = &cleavev1.ConstraintReport{Total: 6, Satisfied: 2, MustLinkViolated: 4}
			f.ConstraintsUnknown = true
		}, []string{"Pass it with --constraints."}, []string{"has changed"}},
		{"classes", func(f *Facts) {
			f.Result.ClusterSizes = []uint32{0, 45, 45}
			f.Classes = []string{"good", "", ""}
		}, []string{"no point: 0 (good)."}, nil},
		{"the table", func(f *Facts) {
			f.Result.Warnings = []*cleavev1.Notice{{Reason: "TABLE", Message: "column \"x\" is left out"},
				{Message: "column 3 decides alone"}}
		}, []string{"Warnings\nColumn 3 decides alone.\nHow the data was read\nColumn"}, nil},
		{"limit", func(f *Facts) {
			f.Result.StopReason = cleavev1.StopReason_STOP_REASON_MAX_ITERATIONS
			f.Result.Iterations, f.Result.History[1].Moved = 500, 4
		},
			[]string{"did not converge: it was stopped after 500 iterations, the limit; the last one still moved " +
				"4 points.", "--max-iterations 1000"}, nil},
		{"cycle", func(f *Facts) { f.Result.StopReason = cleavev1.StopReason_STOP_REASON_CYCLE },
			[]string{"the labels began to repeat", "--restarts 20"}, nil},
		{"cycle of many restarts", func(f *Facts) {
			f.Result.StopReason = cleavev1.StopReason_STOP_REASON_CYCLE
			f.Spec = &cleavev1.JobSpec{Restarts: 50}
		}, []string{"--restarts 100"}, nil},
		{"risen", func(f *Facts) { f.Result.History[1].Objective = 150 },
			[]string{"(kmeans) rose by 50%, from 100 to 150."}, nil},
		{"negative", func(f *Facts) { f.Result.History[0].Objective, f.Result.History[1].Objective = -100, -150 },
			[]string{"(kmeans) fell by 50%, from -100 to -150."}, nil},
		{"time limit", func(f *Facts) { f.Result.StopReason = cleavev1.StopReason_STOP_REASON_TIME_LIMIT },
			[]string{"reached its time limit after 7 iterations", "--timeout"}, nil},
		{"canceled early", func(f *Facts) {
			f.Result = &cleavev1.Result{State: cleavev1.JobState_JOB_STATE_CANCELLED,
				StopReason: cleavev1.StopReason_STOP_REASON_CANCELLED}
		}, []string{"The job was canceled before it had labels.", "Let it run to its end."},
			[]string{"Clusters", "objective", "Nothing looks wrong", "--timeout"}},
		{"sizes", func(f *Facts) {
			f.Result.ClusterSizes = []uint32{1, 0, 970, 9, 20}
			f.Result.K = 5
		},
			[]string{"The smallest cluster has 0 points, the largest 970.", "1 cluster has no point: 1.",
				"2 clusters are much smaller than the others: 0, 3.", "Cluster 2 has 97% of all points", "--k 4",
				"--knn 10"}, nil},
		{"a single point", func(f *Facts) {
			f.Result.ClusterSizes, f.Result.Warnings = []uint32{1, 44, 45},
				[]*cleavev1.Notice{{Reason: "SINGLETON_CLUSTERS", Message: "one cluster has a single point: 0"}}
		}, []string{"One cluster has a single point: 0.", "Outliers may form clusters"},
			[]string{"No cluster has a suspicious", "which may be an outlier"}},
		{"scaled", func(f *Facts) { f.Result.Scale = cleavev1.Scale_SCALE_ROBUST.Enum() },
			[]string{"quartiles 1 apart"}, nil},
		{"not scaled", func(f *Facts) {
			f.Result.Scale = cleavev1.Scale_SCALE_NONE.Enum()
			f.Result.Model = &cleavev1.ModelHead{}
			f.Result.ClusterSizes = []uint32{1, 1, 88}
		}, []string{"--scale robust"}, []string{"\n\n"}},
		{"violations", func(f *Facts) {
			f.Result.Constraints = &cleavev1.ConstraintReport{Total: 6, Satisfied: 2, MustLinkViolated: 4}
			f.Labels = []int32{0, 1, 1, 1, 2, 2}
			f.Constraints = []constraint.Constraint{must(0, 1), must(0, 2), must(0, 3),
				{I: 0, J: 4, Kind: constraint.MustLink, Weight: 7, Weighted: true}, must(4, 5),
				{I: 0, J: 5, Kind: constraint.CannotLink}}
			f.IDs = []string{"a", "b", "c", "d", "e", "f"}
		}, []string{"2 of 6 constraints are satisfied; 4 must-links are violated.",
			"The violated ones are must a-e of weight 7, must a-b, must a-c, must a-d.",
			"so the points themselves may be wrong: a (4 of its 5).", "Check the points", "cop-kmeans"}, nil},
		{"truth", func(f *Facts) { f.Run = &cleavev1.RunRecord{Evaluation: &cleavev1.Evaluation{Ari: 0.5, Nmi: 0.4}} },
			[]string{"somewhat like the true classes: the adjusted Rand index is 0.50"}, nil},
		{"warnings", func(f *Facts) { f.Result.Warnings = []*cleavev1.Notice{{Message: "column 3 decides alone"}} },
			[]string{"Warnings\nColumn 3 decides alone.\n"}, nil},
		{"a likelihood", func(f *Facts) { f.Result.History[0].Objective, f.Result.History[1].Objective = -0.1, -0.3 },
			[]string{"The objective (kmeans) fell from -0.1 to -0.3."}, nil},
		{"a doubled objective", func(f *Facts) { f.Result.History[1].Objective = 350 },
			[]string{"The objective (kmeans) rose from 100 to 350."}, nil},
		{"hardly a change", func(f *Facts) { f.Result.History[1].Objective = 99.99 },
			[]string{"The objective (kmeans) is 99.99; it hardly changed after the first iteration."}, nil},
	} {
		f := Facts{Result: proto.CloneOf(ordinary())}
		c.change(&f)
		got := said(f)
		for _, want := range c.says {
			if !strings.Contains(got, want) {
				t.Errorf("%s: nothing says %q:\n%s", c.name, want, got)
			}
		}
		for _, want := range c.not {
			if strings.Contains(got, want) {
				t.Errorf("%s: something says %q:\n%s", c.name, want, got)
			}
		}
	}
}

// Every reason to stop has a sentence of its own.
func TestEveryReasonToStop(t *testing.T) {
	heard := map[string]string{}
	for number, name := range cleavev1.StopReason_name {
		r := ordinary()
		r.StopReason = cleavev1.StopReason(number)
		sentence := Stopped(r)
		if other, twice := heard[sentence]; twice {
			t.Errorf("%s and %s are both %q", name, other, sentence)
		}
		heard[sentence] = name
	}
}

// What the data contradicts is named once, with what to do about it.
func TestExplainSuspects(t *testing.T) {
	other, label := uint32(3), uint32(1)
	r := &cleavev1.Result{
		State: cleavev1.JobState_JOB_STATE_SUCCEEDED, K: 2, Rows: 6, ClusterSizes: []uint32{3, 3},
		Constraints: &cleavev1.ConstraintReport{Total: 60, Satisfied: 60},
		Choice: &cleavev1.Choice{Chosen: &cleavev1.Method{Space: cleavev1.Space_SPACE_ROWS,
			ConstraintUse: cleavev1.ConstraintUse_CONSTRAINT_USE_DISCRIMINANT}},
		Suspects: []*cleavev1.Suspect{{Row: 0, Other: &other, MustLink: true, Strength: 0.98}},
		Warnings: []*cleavev1.Notice{
			{Reason: "CONSTRAINTS_AGAINST_DATA", Message: "constraints that no good method has right"},
			{Reason: "CONSTRAINTS_CONTRADICTED",
				Message: "1 constraint cannot hold because seeds or other constraints contradict it: a and b (must)"},
			{Reason: "CONSTRAINTS_UNSATISFIED",
				Message: "no assignment to 2 clusters was found that satisfies 1 cannot-link: a and b (cannot)"},
		},
	}
	text := said(Facts{Result: r, IDs: []string{"a", "b", "c", "d", "e", "f"}})
	for _, says := range []string{
		"1 of 60 constraints wrong", "It is a and d (must, 0.98)",
		"a classifier fitted to the known rows predicted the others", "Check the constraints that the data contradicts",
		"--enforce never", "1 constraint cannot hold because", "Some constraints and seeds contradict each other",
		"ask for more clusters",
	} {
		if !strings.Contains(text, says) {
			t.Errorf("%q is missing: %s", says, text)
		}
	}
	if strings.Contains(text, "no good method") || strings.Contains(text, "Nothing looks wrong") {
		t.Errorf("said twice, or nothing looks wrong: %s", text)
	}
	r.Suspects = []*cleavev1.Suspect{{Row: 2, Label: &label}}
	r.Warnings = nil
	r.Constraints = nil
	if text := said(Facts{Result: r, Classes: []string{"x", "y"}}); !strings.Contains(text, "It is 2 (y, 0.00)") ||
		!strings.Contains(text, "1 seed wrong") {
		t.Error(text)
	}
}

// A job of a coordinator has no files: where the advice names some, it says how to get them.
func TestFilesOfAJob(t *testing.T) {
	const hint = "cleave result JOB --out DIR writes these files."
	r := ordinary()
	if got := said(Facts{Result: r}); strings.Contains(got, hint) {
		t.Errorf("no file is named:\n%s", got)
	}
	r.Suspects = []*cleavev1.Suspect{{Row: 2, Label: new(uint32(1))}}
	if got := said(Facts{Result: r}); !strings.Contains(got, "suspects.csv") || !strings.Contains(got, hint) {
		t.Errorf("nothing says where suspects.csv comes from:\n%s", got)
	}
	if got := said(Facts{Result: r, Run: &cleavev1.RunRecord{}}); strings.Contains(got, hint) {
		t.Errorf("a folder has its files:\n%s", got)
	}
}

func TestSatisfied(t *testing.T) {
	for want, c := range map[string]*cleavev1.ConstraintReport{
		"The constraint is satisfied.": {Total: 1,
			Satisfied: 1},
		"0 of 1 constraint is satisfied; 1 must-link is violated.": {Total: 1,
			MustLinkViolated: 1},
		"All 1,200 constraints are satisfied.": {Total: 1200,
			Satisfied: 1200},
		"2 of 3 constraints are satisfied; 1 cannot-link is violated.": {Total: 3,
			Satisfied: 2, CannotLinkViolated: 1},
		"1 of 3 constraints are satisfied; 1 must-link and 1 cannot-link are violated.": {Total: 3,
			Satisfied: 1, MustLinkViolated: 1, CannotLinkViolated: 1},
		"995 of 1,000 constraints are satisfied; 2 must-links and 3 cannot-links are violated.": {Total: 1000,
			Satisfied: 995, MustLinkViolated: 2, CannotLinkViolated: 3},
	} {
		if got := Satisfied(c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Every method has words.
func TestMethodsHaveWords(t *testing.T) {
	// without UNSPECIFIED
	if len(spaces) != len(cleavev1.Space_name)-1 || len(uses) != len(cleavev1.ConstraintUse_name)-1 {
		t.Errorf("%d of %d spaces and %d of %d uses are described", len(spaces), len(cleavev1.Space_name)-1, len(uses),
			len(cleavev1.ConstraintUse_name)-1)
	}
}
