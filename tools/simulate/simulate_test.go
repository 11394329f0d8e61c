package simulate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-project/cleave/tools/measure"
	"github.com/cleave-project/cleave/tools/simulate/model"
)

// TestMain lets the test program be the process of the simulated workers, which the suite starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workersCommand {
		measure.Main(WorkersSuite())
		return
	}
	os.Exit(m.Run())
}

// A quick run ends with a row for every family and number of workers, and with a picture.
func TestQuickRun(t *testing.T) {
	document := filepath.Join(t.TempDir(), "scale.md")
	if err := os.Mkdir(filepath.Join(filepath.Dir(document), "pictures"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(document, []byte("<!-- simulate -->\n<!-- end of simulate -->\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	err := Run(t.Context(), Config{
		Setup: measure.Setup{Fill: document, Version: "test"}, Quick: true, K: 10, MovedEvery: 100, Iterations: 3,
		WorkerThreads: 1, Gigabits: 1, RoundTrip: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, workers := range []string{"1", "8"} {
			if row := "| " + f.name + " | 20000 | " + workers + " |"; !strings.Contains(string(page), row) {
				t.Errorf("there is no row %q in\n%s", row, page)
			}
		}
	}
	if drawn, err := os.ReadFile(filepath.Join(filepath.Dir(document), "pictures", pictureName)); err != nil ||
		!strings.Contains(string(drawn), "<svg") {
		t.Errorf("the picture is %.40s, %v", drawn, err)
	}
}

// Jobs that every worker can take part in and whose matrix fits are simulated, and no others.
func TestWhatMakesSense(t *testing.T) {
	of := func(name string) family {
		return families[slices.IndexFunc(families, func(f family) bool { return f.name == name })]
	}
	for _, c := range []struct {
		family        string
		rows, workers int
		want          bool
	}{
		{"neighbors", 100_000, 1, true},
		{"neighbors", 100_000, 1000, false},
		{"neighbors", 10_000_000, 10_000, true},
		{"landmarks", 100_000_000, 1, false},
		{"full matrix", 100_000, 1, true},
		{"full matrix", 1_000_000, 10, false},
		{"full matrix", 1_000_000, 100, true},
	} {
		if got := makesSense(of(c.family), c.rows, c.workers); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// What takes the most time beyond perfect scaling is named.
func TestBend(t *testing.T) {
	links := model.Links{BytesPerSecond: 100, RoundTrip: 1}
	for want, i := range map[string]model.Iteration{
		"":                {Compute: 10},
		"coordinator":     {Compute: 10, CPU: 20, Out: 100},
		"bytes out":       {Compute: 10, CPU: 1, Out: 1000, In: 100},
		"bytes in":        {Compute: 10, CPU: 1, Out: 10, In: 1000},
		"moves of others": {Compute: 50, CPU: 1},
		"round trips":     {Compute: 10, Operations: 4},
	} {
		if got := (point{alone: 100, workers: 10, Iteration: i}).bend(links); got != want {
			t.Errorf("%+v bends by %q, not %q", i, got, want)
		}
	}
}
