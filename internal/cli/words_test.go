package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/test/clitest"
	"github.com/cleave-project/cleave/test/clusteringtest"
	"github.com/cleave-project/cleave/test/testscale"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// mixedTable is a table of three groups as people have it: ids, numbers in unlike units with gaps, words, yes and no,
// and classes of which half are known, or all.
func mixedTable(rows int, all bool) string {
	rng := clusteringtest.NewRand(8)
	var text strings.Builder
	text.WriteString("name,age,income,score,region,plan,member,code,team\n")
	for i := range rows {
		group := i % 3
		team := []string{"red", "green", "blue"}[group]
		if !all && i%4 > 1 {
			team = ""
		}
		age := fmt.Sprintf("%.1f", 30+12*float64(group)+4*rng.NormFloat64())
		if i%17 == 5 {
			age = ""
		}
		fmt.Fprintf(&text, "c%d,%s,%.0f,%.3f,%s,%s,%s,%d,%s\n", 7*i+1, age,
			30e3+9e3*float64((group+1)%3)+3e3*rng.NormFloat64(), 0.3*float64((group+2)%3)+0.1*rng.NormFloat64(),
			[]string{"north", "east", "south", "west"}[rng.IntN(4)],
			[]string{"basic", "plus", "pro"}[(group+rng.IntN(4)/3)%3], []string{"yes", "no"}[rng.IntN(2)],
			1+rng.IntN(2), team)
	}
	return text.String()
}

// What the flags about a table ask for, the fields of the API ask for too, and a coordinator answers as an embedded
// run does, to the last label.
func TestTablesByFlagsAndByTheAPI(t *testing.T) {
	clitest.Folder(t, map[string]string{"half.csv": mixedTable(48, false), "all.csv": mixedTable(48, true)})
	address := startServe(t, "--workers 2 --data-dir state")
	api, err := client.Connect(address, credentials.Dial{})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	kmeans := func(s *cleavev1.JobSpec) { s.Algorithm = &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}} }
	labelAs := func(use cleavev1.LabelUse) func(*cleavev1.JobSpec) {
		return func(s *cleavev1.JobSpec) {
			s.GetTable().LabelColumn = "team"
			s.Supervision = &cleavev1.Supervision{LabelAs: use}
		}
	}
	scale := func(scale cleavev1.Scale) func(*cleavev1.JobSpec) {
		return func(s *cleavev1.JobSpec) {
			kmeans(s)
			s.GetTable().Ignore = []string{"team"}
			s.Scale = scale
		}
	}
	missing := func(policy cleavev1.MissingPolicy) func(*cleavev1.JobSpec) {
		return func(s *cleavev1.JobSpec) { s.GetTable().LabelColumn, s.GetTable().Missing = "team", policy }
	}
	for _, c := range testscale.Some([]struct {
		flags string
		ask   func(*cleavev1.JobSpec)
	}{
		{"--ignore team", func(s *cleavev1.JobSpec) { s.GetTable().Ignore = []string{"team"} }},
		{"--id-column name --columns age,income,plan", func(s *cleavev1.JobSpec) {
			s.GetTable().IdColumn, s.GetTable().Only = "name", []string{"age", "income", "plan"}
		}},
		{"--ignore team,region --categorical code", func(s *cleavev1.JobSpec) {
			s.GetTable().Ignore, s.GetTable().Categorical = []string{"team", "region"}, []string{"code"}
		}},
		{"--label-column team", labelAs(cleavev1.LabelUse_LABEL_USE_UNSPECIFIED)},
		{"--label-column team --label-as auto", labelAs(cleavev1.LabelUse_LABEL_USE_AUTO)},
		{"--label-column team --label-as seeds", labelAs(cleavev1.LabelUse_LABEL_USE_SEEDS)},
		{"--label-column team --label-as constraints", labelAs(cleavev1.LabelUse_LABEL_USE_CONSTRAINTS)},
		{"--label-column team --label-as truth", labelAs(cleavev1.LabelUse_LABEL_USE_TRUTH)},
		{"--label-column team --data all.csv", labelAs(cleavev1.LabelUse_LABEL_USE_UNSPECIFIED)},
		{"--label-column team --algorithm seeded-kmeans", func(s *cleavev1.JobSpec) {
			s.GetTable().LabelColumn = "team"
			s.Algorithm = &cleavev1.JobSpec_SeededKmeans{SeededKmeans: &cleavev1.SeededKmeans{}}
		}},
		{"--label-column team --algorithm pc-kmeans", func(s *cleavev1.JobSpec) {
			s.GetTable().LabelColumn = "team"
			s.Algorithm = &cleavev1.JobSpec_PcKmeans{PcKmeans: &cleavev1.PcKmeans{}}
		}},
		{"--label-column team --k 2..5", func(s *cleavev1.JobSpec) {
			s.GetTable().LabelColumn = "team"
			s.Clusters = &cleavev1.JobSpec_KRange{KRange: &cleavev1.KRange{Min: 2, Max: 5}}
		}},
		{"--label-column team --missing drop", missing(cleavev1.MissingPolicy_MISSING_POLICY_DROP)},
		{"--label-column team --missing mean", missing(cleavev1.MissingPolicy_MISSING_POLICY_MEAN)},
		{"--label-column team --missing median", missing(cleavev1.MissingPolicy_MISSING_POLICY_MEDIAN)},
		{"--ignore team --algorithm kmeans", scale(cleavev1.Scale_SCALE_UNSPECIFIED)},
		{"--ignore team --algorithm kmeans --scale none", scale(cleavev1.Scale_SCALE_NONE)},
		{"--ignore team --algorithm kmeans --scale auto", scale(cleavev1.Scale_SCALE_AUTO)},
		{"--ignore team --algorithm kmeans --scale zscore", scale(cleavev1.Scale_SCALE_ZSCORE)},
		{"--ignore team --algorithm kmeans --scale minmax", scale(cleavev1.Scale_SCALE_MINMAX)},
		{"--ignore team --algorithm kmeans --scale robust", scale(cleavev1.Scale_SCALE_ROBUST)},
	}, 8) {
		flags, file := c.flags, "half.csv"
		if !strings.Contains(flags, "--k ") {
			flags += " --k 3"
		}
		if before, all := strings.CutSuffix(c.flags, " --data all.csv"); all {
			flags, file = before+" --k 3", "all.csv"
		}
		flags += " --seed 2 --data " + file
		here := succeed(t, "run --quiet --out - "+flags)
		if there := succeed(t, "run --quiet --out - "+flags+" --server "+address); there != here {
			t.Errorf("%s: a coordinator says\n%s\nand here it is\n%s", flags, there, here)
		}
		if got, want := apiLabels(t, api, file, c.ask), labelsOnly(here); got != want {
			t.Errorf("%s: by the API\n%s\nand by flags\n%s", flags, got, want)
		}
	}
}

// labelsOnly are the labels of rows that have one.
func labelsOnly(text string) string {
	var labels strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(text), "\n")[1:] {
		if label := strings.Split(line, ",")[1]; label != "-1" {
			fmt.Fprintln(&labels, label)
		}
	}
	return labels.String()
}

// apiLabels are the labels of a job on a table that the API alone describes.
func apiLabels(t *testing.T, api *client.Client, file string, ask func(*cleavev1.JobSpec)) string {
	t.Helper()
	r, err := format.OpenTable([]string{file}, format.TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	table, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	watch := client.Silent{}
	id, err := api.SendTable(t.Context(), file, table, watch)
	if err != nil {
		t.Fatal(err)
	}
	spec := &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3}, Seed: 2,
		Data: &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: id}}}
	ask(spec)
	job, err := api.Complete(t.Context(), &cleavev1.CreateJobRequest{Spec: spec}, nil, watch, client.CancelJob)
	if err != nil {
		t.Fatal(err)
	}
	o, err := api.Fetch(t.Context(), job, client.Everything)
	if err != nil {
		t.Fatal(err)
	}
	var labels strings.Builder
	for _, label := range o.Labels {
		fmt.Fprintln(&labels, label)
	}
	return labels.String()
}

// Rows of a converged run get their labels again, in every scale, by its folder and by its job: words have the units
// of the run.
func TestPredictWords(t *testing.T) {
	clitest.Folder(t, map[string]string{"t.csv": mixedTable(120, true)})
	address := startServe(t, "--workers 1 --data-dir state")
	for _, how := range []string{
		"--algorithm kmeans --scale none", "--algorithm kmeans --scale zscore", "--algorithm kmeans --scale minmax",
		"--algorithm kmeans --scale robust",
		"--algorithm kmeans --geometry spherical", "--algorithm kernel-kmeans --scale zscore --rho 30",
		"--knn 8 --algorithm spectral --scale none", "--algorithm m-kmeans --scale minmax",
	} {
		job := "--quiet --data t.csv --ignore team --k 3 --seed 1 " + how
		succeed(t, "run "+job+" --out o")
		trained := ""
		if strings.Contains(how, "kernel") || strings.Contains(how, "knn") {
			trained = " --trained-on t.csv"
		} else if units := clitest.Read(t, "o/units.csv"); !strings.Contains(units, "region=north") {
			t.Errorf("%s: units.csv is\n%s", how, units)
		}
		want := labelsOnly(clitest.Read(t, "o/labels.csv"))
		got := labelsOnly(succeed(t, "predict --model o --data t.csv"+trained))
		if strings.Contains(how, "knn") {
			want = got // neighbors vote
		}
		if got != want {
			t.Errorf("%s: the folder predicts\n%s\nwant\n%s", how, got, want)
		}
		id := strings.TrimSpace(succeed(t, "submit --wait "+job+" --server "+address))
		if got := labelsOnly(succeed(t, "predict --data t.csv --job "+id+" --server "+address)); got != want {
			t.Errorf("%s: the job predicts\n%s\nwant\n%s", how, got, want)
		}
	}
}

// Rows without a class are not compared with the truth: they have no ring in the map, and are no class.
func TestRowsWithoutAClassHaveNoTruth(t *testing.T) {
	clitest.Folder(t, map[string]string{"d.csv": "x,y,kind\n0,0,a\n0,1,a\n1,0,\n1,1,a\n9,9,b\n9,8,b\n8,9,\n8,8,b\n"})
	out := succeed(t, "run --data d.csv --k 2 --algorithm kmeans --label-column kind --label-as truth --out o")
	if page := clitest.Read(t, "o/report.html"); !strings.Contains(out, "ARI         1.0000") ||
		strings.Contains(page, "true class differs") || !strings.Contains(page, "on 6 rows") {
		t.Errorf("rows without a class are compared with the truth:\n%s", out)
	}
}

// A line of limits whose use is unknown ends with its value.
func TestLimitsEndWithoutBlanks(t *testing.T) {
	var out bytes.Buffer
	if err := (&app{stdout: &out}).printLimits(&cleavev1.GetLimitsResponse{Limits: &cleavev1.Limits{}}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), " \n") || !strings.Contains(out.String(), "IN USE\n") {
		t.Errorf("%q", out.String())
	}
}
