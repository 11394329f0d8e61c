package cli

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/test/clitest"
)

// sweepRows returns the cells of results.csv, without its header.
func sweepRows(t *testing.T, dir string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(clitest.Read(t, dir+"/results.csv"))).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatal(err, rows)
	}
	return rows[1:]
}

// A second call with more values takes the results of the first and runs only the others.
func TestSweepContinues(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate gaussians --n 60 --d 2 --k 3 --noise 4 --seed 1 --out g")
	const sweep = "sweep --data g/data.csv --truth g/truth.csv --k 3 --algorithm kmeans,kernel-kmeans --out s --seed "
	out := succeed(t, sweep+"0..1")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 3 || !slices.Equal(strings.Fields(lines[0]), []string{"ALGORITHM", "JOBS", "ARI", "OBJECTIVE", "ITERATIONS", "SECONDS"}) {
		t.Errorf("the table is\n%s", out)
	}
	first := sweepRows(t, "s")
	if len(first) != 4 || first[1][0] != "kmeans" || first[1][1] != "1" || first[2][0] != "kernel-kmeans" {
		t.Fatalf("the results are %v", first)
	}
	for _, name := range []string{"s/_SUCCESS", "s/sweep.svg", "s/results.json"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	r := invoke(t, sweep+"1..2")
	second := sweepRows(t, "s")
	if r.code != 0 || len(second) != 4 || !slices.Equal(second[0], first[1]) || !slices.Equal(second[2], first[3]) {
		t.Errorf("exit code %d, %s: the results of seed 1 were %v and are %v", r.code, r.stderr, first, second)
	}
	if second[0][len(second[0])-2] == second[1][len(second[1])-2] {
		t.Errorf("seeds 1 and 2 have one job: %v", second)
	}
}

// A sweep of one job says nothing about options that do not vary.
func TestSweepOfOneJob(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	if r := invoke(t, "sweep --data p.csv --k 2 --algorithm kmeans"); r.code != 0 || !strings.HasPrefix(r.stderr, "1 of 1: kmeans") {
		t.Errorf("exit code %d, %q", r.code, r.stderr)
	}
	if r := invoke(t, "sweep --data gone.csv --k 2 --algorithm kmeans"); r.code != 2 || !strings.HasPrefix(r.stderr, "cleave: gone.csv: ") {
		t.Errorf("exit code %d, %q", r.code, r.stderr)
	}
}

// A sweep that continues and is interrupted again loses no result of the first call, also of values that it leaves out.
func TestSweepKeepsEarlierResults(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	const sweep = "sweep --data p.csv --k 2 --algorithm kmeans --parallel 1 --out s --seed "
	succeed(t, sweep+"0..3")
	before := strings.Count(clitest.Read(t, "s/results.json"), `"seed"`)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	stderr := &cancelOnText{text: "2 of 3", cancel: interrupt} // the file has been written once, for the first job
	if code := Main(ctx, strings.Fields(sweep+"0..2"), strings.NewReader(""), &strings.Builder{}, stderr, func(string) string { return "" }); code != 130 {
		t.Fatalf("exit code %d, %s", code, stderr.all.String())
	}
	if after := strings.Count(clitest.Read(t, "s/results.json"), `"seed"`); before != 4 || after != before {
		t.Errorf("%d results before, %d after", before, after)
	}
}

// What an interrupted sweep says about the next call is true: without --out, nothing is kept on this machine.
func TestInterruptedSweep(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	for out, want := range map[string]string{"": "None was kept; --out DIR keeps results", " --out s": "The same command continues with the others"} {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		stderr := &cancelOnText{text: "1 of 2", cancel: interrupt}
		sweep := strings.Fields("sweep --data p.csv --k 2 --algorithm kmeans --parallel 1 --seed 0..1" + out)
		code := Main(ctx, sweep, strings.NewReader(""), &strings.Builder{}, stderr, func(string) string { return "" })
		if code != 130 || !strings.Contains(stderr.all.String(), "canceled; 1 of 2 jobs have results. "+want) {
			t.Errorf("%q: exit code %d, %s", out, code, stderr.all.String())
		}
	}
}

// On a coordinator, a sweep without an output folder finds the jobs of an earlier call, and runs canceled ones again.
func TestSweepFindsItsJobs(t *testing.T) {
	t.Chdir(t.TempDir())
	address := startServe(t, "--workers 1")
	succeed(t, "generate gaussians --n 60 --d 2 --k 3 --noise 4 --seed 1 --out g")
	sweep := "sweep --quiet --json --data g/data.csv --k 2..3 --algorithm kmeans --server " + address
	if first, second := succeed(t, sweep), succeed(t, sweep); first != second || strings.Count(first, "jobId") != 2 {
		t.Errorf("the results are %s, and then %s", first, second)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	stderr := &cancelOnText{text: "1 of 2", cancel: interrupt}
	long := strings.Fields("sweep --data g/data.csv --k 2,3 --algorithm kernel-kmeans --init random --restarts 10000 --parallel 1 --timeout 500ms --out o --server " + address)
	if code := Main(ctx, long, strings.NewReader(""), &strings.Builder{}, stderr, func(string) string { return "" }); code != 130 || !strings.Contains(stderr.all.String(), "canceled; 1 of 2 jobs have results") {
		t.Errorf("exit code %d, %s", code, stderr.all.String())
	}
	if r := invoke(t, strings.Join(long, " ")); r.code != 0 || len(sweepRows(t, "o")) != 2 {
		t.Errorf("exit code %d, %s", r.code, r.stderr)
	}
}

// Nothing runs if one combination is wrong.
func TestSweepChecksFirst(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	for args, want := range map[string]string{
		"--data p.csv --k 2 --algorithm kernel-kmeans,kmeans --rho 2": "algorithm kmeans: --rho does not apply to kmeans",
		"--data p.csv --k 2 --seed 5..1":                              `"5..1" is not a range such as 0..9`,
		"--data p.csv --k 2 --seed 0..10000":                          "it has more than 10000 values",
		"--data p.csv --k 2 --seed 0..999 --restarts 1..11":           "these options have more than 10000 combinations",
		"--data p.csv --k 2-4":                                        "write a range as FIRST..LAST",
		"--data p.csv --k 2 --algorithm kmeans,kmeens":                `"kmeens" is invalid: use auto, kernel-kmeans`,
		"--data - --k 2 --seed 0..1":                                  "standard input can be read only once; give a file",
		"--data p.csv --k 2 --score-on x.csv":                         "--score-on requires --truth",
		"--data p.csv --seed 0..1":                                    "the number of clusters is missing",
	} {
		if r := invoke(t, "sweep --out o "+args); r.code != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit code %d, %q; want %q", args, r.code, r.stderr, want)
		}
		if _, err := os.Stat("o"); err == nil {
			t.Errorf("%s left a folder", args)
		}
	}
	if err := os.Mkdir("o", 0o777); err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, "o/results.json", "{}")
	if r := invoke(t, "sweep --out o --data p.csv --k 2 --seed 0..1"); r.code != 2 || !strings.Contains(r.stderr, "these are not the results of a sweep") {
		t.Errorf("exit code %d, %q", r.code, r.stderr)
	}
}

// A result in the output folder is scored against the truth of this call, and not against that of the call that ran the
// job.
func TestSweepWithAnotherTruth(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate gaussians --n 60 --d 2 --k 3 --noise 1 --seed 1 --out g")
	other := "index,label\n"
	for i := range 60 {
		other += fmt.Sprintf("%d,%d\n", i, i%2)
	}
	clitest.Write(t, "other.csv", other)
	clitest.Write(t, "few.csv", "index\n0\n1\n2\n")
	for at, truth := range []string{"--truth g/truth.csv", "--truth other.csv", "--truth other.csv --score-on few.csv", ""} {
		sweep := "sweep --quiet --data g/data.csv --k 3 --algorithm kmeans --seed 0 " + truth + " --out "
		fresh := fmt.Sprintf("fresh%d", at)
		succeed(t, sweep+fresh)
		succeed(t, sweep+"s")
		got, want := sweepRows(t, "s")[0], sweepRows(t, fresh)[0]
		if scores := len(want) - 4; !slices.Equal(got[scores:scores+2], want[scores:scores+2]) {
			t.Errorf("%q: the scores are %q, want %q", truth, got[scores:scores+2], want[scores:scores+2])
		}
	}
}

// A job with another time limit is another job: it may get further.
func TestSweepWithAnotherTimeLimit(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	const sweep = "sweep --quiet --json --data p.csv --k 2 --algorithm kmeans --out s --timeout "
	first, same, other := succeed(t, sweep+"1h"), succeed(t, sweep+"1h"), succeed(t, sweep+"2h")
	if first != same || first == other {
		t.Errorf("the results are %s, then %s, and with more time %s", first, same, other)
	}
}

// A sweep does not overwrite its data, which it reads once for each job.
func TestSweepSparesItsData(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	points := clitest.Read(t, "p.csv")
	clitest.Write(t, "results.csv", points)
	r := invoke(t, "sweep --data results.csv --k 2..3 --parallel 1 --out .")
	if r.code != 2 || !strings.Contains(r.stderr, "results.csv would be overwritten by the results.csv of the result; choose another folder with --out") {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
	if clitest.Read(t, "results.csv") != points {
		t.Error("the data was overwritten")
	}
	succeed(t, "run --data results.csv --k 2 --out .") // a run writes no such file
}

// The files, which have all results, are not written again for each of thousands of jobs.
func TestSweepWritesNowAndThen(t *testing.T) {
	t.Chdir(t.TempDir())
	out, err := report.OpenOutput(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	s := &sweep{app: &app{}, flags: &sweepFlags{quiet: true}, out: out, results: &report.Sweep{}}
	for at, soon := range []time.Duration{0, time.Hour, -time.Second} {
		s.next = time.Now().Add(soon)
		if err := s.add(t.Context(), at, report.SweepRow{RequestID: "x"}, 3); err != nil {
			t.Fatal(err)
		}
		if got, want := len(sweepRows(t, "s")), []int{1, 1, 3}[at]; got != want {
			t.Errorf("after job %d the file has %d results, want %d", at, got, want)
		}
	}
}
