package bench

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cleave-project/cleave/tools/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestQuickRun: a quick run without peers has every row, no verdicts on times, and says what is missing.
func TestQuickRun(t *testing.T) {
	report, err := Run(t.Context(),
		Config{Quick: true, Setup: measure.Setup{Threads: 2, Version: "test", Progress: t.Output()}})
	if err != nil {
		t.Fatal(err)
	}
	page, err := page().Update("", report.sections(time.Unix(0, 0)))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"memory read limit, 8 streams per core, huge pages",
		"memory read limit, 8 streams per core, usual pages",
		"memory read limit, 1 stream per core, huge pages",
		"full sweep, k = 10",
		"full sweep, k = 100",
		"full sweep, k = 10, against NumPy",
		"delta, k = 10, 5 % of the points moved",
		"delta, k = 100, 5 % of the points moved",
		"build, n = 600, d = 16 (synthetic)",
		"build, n = 200, d = 784 (synthetic 200 x 784 (as mnist-10k))",
		"synthetic 600 x 16 (as pendigits), k = 10: iterations",
		"synthetic 600 x 16 (as pendigits), k = 10: build and iterations",
		"synthetic 600 x 16 (as pendigits), k = 10: bytes read, random start",
		"synthetic 600 x 16 (as pendigits), k = 10: bytes read, k-means++ start",
		"synthetic 700 x 16 (as letter), k = 26: iterations",
		"synthetic 600 x 16 (as pendigits), k = 10: kernel k-means, file to labels",
		"synthetic 600 x 16 (as pendigits), k = 10: 10 restarts against 1, with the build",
		"synthetic 600 x 16 (as pendigits), k = 10: 10 restarts against 1, k-means",
		"matrix-free against stored, n = 400",
		"matrix-free, n = 1000, d = 16, k = 10: peak memory",
		"one iteration over gRPC, 8 workers, loopback: p50 beyond the computation",
		"a plain read of the file",
		"a scan of its bytes by one core",
		"edge list, 2000 vertices",
		"labels of 2000 points: file to memory",
		"NPY, 3000 x 16 float32, 0 MB: file to the start of a job",
		"normalized cut, 2000 vertices",
		"synthetic 400 x 16 (as pendigits), k = 10: spectral, affinity in memory",
		"synthetic 400 x 16 (as pendigits), k = 10: constrained-spectral, 300 constraints",
		"constrained-spectral, 600 vertices",
		"synthetic 600 x 16 (as pendigits), k = 10: auto, no constraints",
		"synthetic 600 x 16 (as pendigits), k = 10: auto, 500 constraints",
	} {
		if !strings.Contains(page, "\n| "+row) {
			t.Errorf("there is no row %q", row)
		}
	}
	if !regexp.MustCompile(`Goals: 1 met, \d+ missing, \d+ sizes too small\.`).MatchString(page) {
		t.Errorf("want the same bits met, the peers missing and the rest undecided:\n%s", page)
	}
	for _, bad := range []string{"NaN", "Inf", "%!"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q:\n%s", bad, page)
		}
	}
	if widths := columns(page); len(widths) != 1 {
		t.Errorf("the rows of the table have different numbers of cells: %v", widths)
	}
}

// columns are the different numbers of cells in the rows of the page's first table.
func columns(page string) []int {
	table := regexp.MustCompile(`(?m)(^\|.*\n)+`).FindString(page)
	var counts []int
	for line := range strings.Lines(table) {
		if count := strings.Count(line, "|"); !slices.Contains(counts, count) {
			counts = append(counts, count)
		}
	}
	return counts
}

func TestUnknownStage(t *testing.T) {
	if _, err := Run(t.Context(), Config{Setup: measure.Setup{Parts: []string{"sweep", "swep"}}}); err == nil ||
		!strings.Contains(err.Error(), `"swep"`) {
		t.Errorf("got %v", err)
	}
}

// TestMissingPeer: an interpreter that is not installed is named in the facts, and the run goes on.
func TestMissingPeer(t *testing.T) {
	report, err := Run(t.Context(),
		Config{Quick: true,
			Setup: measure.Setup{Parts: []string{"build"}, Threads: 1,
				Pythons: []string{filepath.Join(t.TempDir(), "python3")}}})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(report.Facts, func(f measure.Fact) bool { return f.Name == "Peers" })
	if at < 0 || !strings.HasPrefix(report.Facts[at].Value, "missing: ") {
		t.Errorf("facts %v", report.Facts)
	}
	for _, row := range report.Sections[0].Rows {
		if row.Peer != "missing" || row.Ratio != "" || row.Verdict != Missing {
			t.Errorf("row %+v claims a peer", row)
		}
	}
}

// TestOneStageFails: the error names the stage, and the report has the others.
func TestOneStageFails(t *testing.T) {
	report, err := Run(t.Context(), Config{
		Quick: true, Setup: measure.Setup{Parts: []string{"endtoend", "coordination"}, Threads: 1,
			Cleave: filepath.Join(t.TempDir(), "cleave")},
	})
	if err == nil || !strings.Contains(err.Error(), "stage endtoend") {
		t.Errorf("got %v", err)
	}
	if len(report.Sections) != 2 || len(report.Sections[1].Rows) != 1 ||
		!strings.Contains(report.Sections[0].Notes[0], "failed") {
		t.Errorf("sections %+v", report.Sections)
	}
}

// TestPeerAnswers has a shell script instead of Python at the other end of the pipe.
func TestPeerAnswers(t *testing.T) {
	script := filepath.Join(t.TempDir(), "peer")
	answers := `while read -r line; do case "$line" in
*facts*) echo '{"python": "3", "numpy": "1", "scipy": "2", "sklearn": "4", "blas": "none"}';;
*product*) echo '{"seconds": 1.5}';;
*) echo '{"error": "no such thing"}';; esac; done`
	if err := os.WriteFile(script, []byte(answers), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startScript(t, script)
	if facts := p.facts.list(); facts[0].Value != "Python 3, NumPy 1, SciPy 2, scikit-learn 4" ||
		facts[1].Value != "none" {
		t.Errorf("facts %+v", facts)
	}
	if seconds, err := p.seconds(map[string]any{"do": "product"}); err != nil || seconds != 1.5 {
		t.Errorf("got %v, %v", seconds, err)
	}
	if err := p.free(); err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("got %v", err)
	}
}

// startScript starts a peer whose interpreter is a shell, which accepts -u too.
func startScript(t *testing.T, script string) *peer {
	t.Helper()
	p, err := startPeer(context.Background(), "sh", script, 2, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

func TestPeerEndsEarly(t *testing.T) {
	script := filepath.Join(t.TempDir(), "peer")
	if err := os.WriteFile(script, []byte("exit 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := startPeer(context.Background(), "sh", script, 2, t.Output()); err == nil ||
		!strings.Contains(err.Error(), "ended") {
		t.Errorf("got %v", err)
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		times        times
		best, median float64
	}{
		{times{3}, 3, 3},
		{times{3, 1}, 1, 2},
		{times{5, 1, 2}, 1, 2},
	} {
		if c.times.best() != c.best || c.times.median() != c.median {
			t.Errorf("%v: best %v, median %v", []float64(c.times), c.times.best(), c.times.median())
		}
	}
	if !math.IsNaN(times{}.best()) || (times{}).String() != "missing" {
		t.Error("times that were not taken look like times")
	}
}

// TestVerdicts: ratios are the peer's time over ours, judged by the best rounds.
func TestVerdicts(t *testing.T) {
	r := &Report{}
	r.begin(stage{name: "x", title: "X"})
	r.compare("fast", times{1, 2}, times{3, 9}, "", "", 3)
	r.compare("slow", times{1, 1}, times{2.9, 9}, "", "", 3)
	r.compare("alone", times{1}, nil, "", "", 3)
	r.compare("no goal", times{2}, times{1}, "", "", 0)
	got, _ := json.Marshal(r.Sections[0].Rows)
	var verdicts, ratios []string
	for _, row := range r.Sections[0].Rows {
		verdicts = append(verdicts, string(row.Verdict))
		ratios = append(ratios, row.Ratio)
	}
	if !slices.Equal(verdicts, []string{"met", "not met", "missing", ""}) ||
		!slices.Equal(ratios, []string{"3.00x (4.00x)", "2.90x (5.95x)", "", "0.50x (0.50x)"}) {
		t.Errorf("rows %s", got)
	}
	if summary := summary(r.sections(time.Unix(0, 0))["x"]); summary != "Goals: 1 met, 1 not met, 1 missing." {
		t.Error(summary)
	}
}

func TestFigures(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.01234: "0.0123", 1: "1.00", 31.27: "31.3", 1234.4: "1234"} {
		if got := threeDigits(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
