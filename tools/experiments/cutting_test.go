package experiments

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/tools/measure"
)

// Wrong pairs are true constraints that the labels violate, every one of them once.
func TestWrongPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const n = 40
	labels := make([]int32, n)
	truth := make([]int64, n)
	for i := range n {
		labels[i], truth[i] = int32(rng.IntN(2)), int64(rng.IntN(2))
	}
	list := wrongPairs(labels, truth, rng)
	seen := map[[2]int32]bool{}
	for _, c := range list {
		together := labels[c.I] == labels[c.J]
		if (c.Kind == constraint.MustLink) == together ||
			(c.Kind == constraint.MustLink) != (truth[c.I] == truth[c.J]) {
			t.Fatalf("%+v with labels %d, %d of classes %d, %d", c, labels[c.I], labels[c.J], truth[c.I], truth[c.J])
		}
		seen[[2]int32{min(c.I, c.J), max(c.I, c.J)}] = true
	}
	// The number of pairs on which two partitions differ, from their contingency table.
	table := [2][2]int{}
	for i := range n {
		table[labels[i]][truth[i]]++
	}
	pairs := func(m int) int { return m * (m - 1) / 2 }
	want := 0
	for side := range 2 {
		want += pairs(table[side][0]+table[side][1]) + pairs(table[0][side]+table[1][side])
		want -= 2 * (pairs(table[side][0]) + pairs(table[side][1]))
	}
	if len(list) != want || len(seen) != want {
		t.Errorf("%d pairs, %d of them different, want %d", len(list), len(seen), want)
	}
}

func TestStandardized(t *testing.T) {
	points, err := dataset.NewPoints(4, 2, []float64{1, 7, 2, 7, 3, 7, 6, 7})
	if err != nil {
		t.Fatal(err)
	}
	got, err := standardized(points)
	if err != nil {
		t.Fatal(err)
	}
	mean, square := 0.0, 0.0
	for i := range 4 {
		mean, square = mean+got.Row(i)[0], square+got.Row(i)[0]*got.Row(i)[0]
		if got.Row(i)[1] != 0 {
			t.Errorf("a constant feature became %v", got.Row(i)[1])
		}
	}
	if math.Abs(mean) > 1e-12 || math.Abs(square-4) > 1e-12 {
		t.Errorf("sum %v, squares %v", mean, square)
	}
}

func TestCarriers(t *testing.T) {
	if got := participationNumber([]float64{1, -2, 1}, numbers{4, 1, 4}); math.Abs(got-3) > 1e-12 {
		t.Errorf("three equal entries are carried by %v points", got)
	}
	if got := participationNumber([]float64{0, 5, 0}, numbers{4, 1, 4}); math.Abs(got-1) > 1e-12 {
		t.Errorf("one entry is carried by %v points", got)
	}
	points, err := dataset.NewPoints(3, 1, []float64{0, 1, 3})
	if err != nil {
		t.Fatal(err)
	}
	want := 1 + math.Exp(-0.5/4) + math.Exp(-4.5/4)
	if got := degreesOf(points, 2); math.Abs(got[0]-want) > 1e-12 {
		t.Errorf("degree %v, want %v", got[0], want)
	}
}

// On clear data with many constraints every method finds the truth and satisfies all constraints.
func TestEveryMethodCutsWhatIsClear(t *testing.T) {
	points, truth, err := synth.Gaussians(40, 2, 2, 0.5, rand.New(rand.NewPCG(2, 2)))
	if err != nil {
		t.Fatal(err)
	}
	s := set{data: points, k: 2}
	for _, c := range truth {
		s.truth = append(s.truth, int64(c))
	}
	list, err := synth.Constraints(truth, 60, rand.New(rand.NewPCG(2, 3)))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []cutMethod{strictCut, autoCut, learningCut, kernelCut, unconstrained} {
		c, err := solveCut(context.Background(), s, m, 2, list, nil)
		if err != nil || c.scores.ARI != 1 || c.satisfied != 1 || !c.found {
			t.Errorf("%s: index %v, satisfied %v, found %v, %v", m.name, c.scores.ARI, c.satisfied, c.found, err)
		}
	}
}

// Constraints that no cut can satisfy leave one cluster, and the study goes on.
func TestNoFeasibleCutIsOneCluster(t *testing.T) {
	points, err := dataset.NewPoints(2, 1, []float64{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	s := set{data: points, truth: []int64{0, 0}, k: 2}
	c, err := solveCut(context.Background(), s, strictCut, 1,
		[]constraint.Constraint{{I: 0, J: 1, Kind: constraint.MustLink}}, nil)
	if err != nil || c.found || !slices.Equal(c.labels, []int32{0, 0}) || c.satisfied != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

// The moons, few of them and small: two tables, three pictures, and an index that rises.
func TestMoons(t *testing.T) {
	r := &runner{Config: Config{Runs: 4, Setup: measure.Setup{Threads: 2}}, report: &Report{}}
	if err := r.moons(context.Background(), moonSizes{dense: 200, few: 60, noisy: 80, background: 16,
		samples: 2}); err != nil {
		t.Fatal(err)
	}
	s := r.report.Sections[0]
	if len(s.Tables) != 2 || len(s.Pictures) != 3 {
		t.Fatalf("%d tables, %d pictures", len(s.Tables), len(s.Pictures))
	}
	for _, p := range s.Pictures {
		if !strings.HasPrefix(string(p.Data), "<?xml") {
			t.Errorf("%s is no SVG", p.Name)
		}
	}
	few := s.Tables[0]
	if first, last := few.cell(rowStrict, 0).mean(), few.cell(rowStrict, len(few.Columns)-1).mean(); last < 0.95 ||
		last <= first {
		t.Errorf("the index goes from %v to %v", first, last)
	}
	if text := s.markdown("now"); !strings.Contains(text, " to 1.00) |") ||
		!strings.Contains(text, "(pictures/moons.svg)") {
		t.Error(text)
	}
}

// A page keeps the sections of other studies unchanged, in the order of the studies, and counts their
// findings.
func TestPageKeepsWhatWasNotRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	setup := measure.Setup{Version: "v", Out: path}
	write := func(previous string, studies ...string) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(previous), 0o666); err != nil {
			t.Fatal(err)
		}
		r := &Report{}
		for _, study := range studies {
			r.begin(study, "About "+study, "What it is.")
			table := r.table("A set", "constraints", []int{1})
			table.put("row", 0, numbers{0.25, 0.75})
			table.expect("enough", 0.5, 0.25)
			table.expect("more", 0.5, 0.75)
		}
		if err := r.Write(setup, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(path)
		return string(text)
	}
	both := write("", "noise", "cuts")
	one := write("", "cuts")
	if added := write(one, "noise"); added != both {
		t.Errorf("added:\n%s\nwant:\n%s", added, both)
	}
	if again := write(both, "cuts"); again != both {
		t.Errorf("again:\n%s", again)
	}
	if !strings.Contains(both, "Of 4 findings that the papers suggest, 2 hold") ||
		strings.Index(both, "## About noise") > strings.Index(both, "## About cuts") {
		t.Error(both)
	}
	setup.Out = filepath.Join(t.TempDir(), "new.md")
	r := &Report{}
	r.begin("moons", "About moons", "What it is.")
	if err := r.draw("moon.svg", "a moon", func(w io.Writer) error {
		_, err := io.WriteString(w, "<svg/>")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // where there is no page yet, and over it
		if err := r.Write(setup, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
	}
	page, _ := os.ReadFile(setup.Out)
	drawn, _ := os.ReadFile(filepath.Join(filepath.Dir(setup.Out), "pictures", "moon.svg"))
	if !strings.Contains(string(page), "![a moon](pictures/moon.svg)") || string(drawn) != "<svg/>" {
		t.Errorf("page:\n%s\npicture: %s", page, drawn)
	}
	if err := os.WriteFile(path, []byte("# Page\n\n## Somebody's own\n\ntext\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	setup.Out = path
	if err := r.Write(setup, time.Unix(0, 0)); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("over a foreign page: %v", err)
	}
}
