package experiments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/tools/measure"
)

// The halves of a fold share no point, the two folds of a split swap them, and constraints are true and
// come from the training half.
func TestFolds(t *testing.T) {
	const n = 31
	truth := make([]int64, n)
	for i := range truth {
		truth[i] = int64(i % 3)
	}
	for run := range 6 {
		f := newFold(n, run)
		in := map[int32]bool{}
		for _, i := range f.train {
			in[i] = true
		}
		for _, i := range f.test {
			if in[i] {
				t.Fatalf("run %d: point %d is in both halves", run, i)
			}
		}
		if len(f.train)+len(f.test) != n {
			t.Fatalf("run %d: %d + %d points", run, len(f.train), len(f.test))
		}
		for _, c := range f.pairs(truth, 50) {
			if !in[c.I] || !in[c.J] || (c.Kind == constraint.MustLink) != (truth[c.I] == truth[c.J]) {
				t.Fatalf("run %d: %+v", run, c)
			}
		}
	}
	if a, b := newFold(n, 0), newFold(n, 1); fmt.Sprint(a.train) != fmt.Sprint(b.test) {
		t.Error("the second fold does not swap the halves of the first")
	}
}

// In the closure of the constraints of seeds every two seeds are together or apart, as their labels say.
func TestConstraintsOfSeeds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var seeds []constraint.Seed
	for i := range int32(20) {
		seeds = append(seeds, constraint.Seed{Index: i, Label: int32(rng.IntN(3))})
	}
	set, err := constraint.NewSet(20, constraintsOf(seeds), constraint.UnitWeight)
	if err != nil {
		t.Fatal(err)
	}
	components := set.Components()
	for _, a := range seeds {
		for _, b := range seeds {
			x := components.Of(a.Index)
			y := components.Of(b.Index)
			if (a.Label == b.Label) != (x == y) || (a.Label != b.Label) != set.Apart(x, y) {
				t.Fatalf("seeds %+v and %+v", a, b)
			}
		}
	}
}

// All studies run on small data sets with the expected names, and say whether the findings hold.
func TestAllStudiesRun(t *testing.T) {
	folder := t.TempDir()
	rng := rand.New(rand.NewPCG(7, 7))
	write := func(path, content string) {
		t.Helper()
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// Classes overlap, so that cuts get enough pairs wrong.
	for name, classes := range map[string]int{
		"iris": 3, "wine": 3, "pendigits-389": 3, "letter-ijl": 3, "hepatitis": 2, "glass": 6,
		"ionosphere": 2, "wdbc": 2,
	} {
		data, labels := "x,y\n", "index,label\n"
		for i := range 75 {
			second := fmt.Sprint(rng.Float64())
			if name == "hepatitis" && i == 3 {
				second = "" // a row that is left out
			}
			data += fmt.Sprintf("%g,%s\n", 0.1*float64(i%classes)+rng.Float64(), second)
			labels += fmt.Sprintf("%d,%d\n", i, i%classes)
		}
		write(name+"/data.csv", data)
		write(name+"/labels.csv", labels)
	}
	for name, classes := range map[string]int{"football": 4, "polbooks": 3, "karate": 2} {
		edges, labels := "src,dst\n", "label\n"
		for i := range 40 {
			edges += fmt.Sprintf("%d,%d\n%d,%d\n%d,%d\n", i, (i+classes)%40, i, (i+2*classes)%40, i, (i+1)%40)
			labels += fmt.Sprintf("%d\n", i%classes)
		}
		write(name+"/edges.csv", edges)
		write(name+"/labels.csv", labels)
	}
	for _, name := range []string{"different-3", "related-3", "similar-3"} {
		data, labels := "", "index,label\n"
		for i := range 45 {
			if i == 5 {
				data += "0\n" // a text without words
			} else {
				data += fmt.Sprintf("%d %d:1 %d:%g\n", i%3, i%3+1, i%5+4, rng.Float64())
			}
			labels += fmt.Sprintf("%d,%d\n", i, i%3)
		}
		write("mini-newsgroups/"+name+".tfidf.svm", data)
		write("mini-newsgroups/"+name+".labels.csv", labels)
	}
	var others []string // the moons need no data, and have a test of their own
	for _, name := range measure.Names(studies) {
		if name != "moons" {
			others = append(others, name)
		}
	}
	report, err := Run(context.Background(),
		Config{Runs: 2, Setup: measure.Setup{Data: folder, Parts: others, Threads: 2, Version: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	setup := measure.Setup{Version: "test", Out: filepath.Join(t.TempDir(), "page.md")}
	if err := report.Write(setup, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(setup.Out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Search and similarity", "### Iris", "| MPC, basu2003 |",
		"## Three inference engines", "## Clustering by seeding", "### News-Similar-3", "hold", "1970-01-01",
		"### Hepatitis (74 points)", "### Iris without setosa (50 points)", "### Wine without class 3 (50 points)",
		"### Glass, of windows or not (75 points)",
		"### Football (40 vertices, 4 classes)", "(pictures/cuts.svg)", "(pictures/sparse.svg)",
		"(pictures/graphs.svg)", "| constrained, one vector |"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
