package answers

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/tools/measure"
)

// suiteResults are results of three suites, whose sums are easy.
const suiteResults = `set,group,kind,n,k,method,m,noise,seed,ari,nmi,seconds,status,chosen,suite,kept,kept_pairs,found
ids,made,table,600,3,default,0,0,0,0.5000,0.5,1,ok,rows none,tables,0,0,0
ids,made,table,600,3,default,0,0,1,0.7000,0.5,1,ok,rows none,tables,0,0,0
ids,made,table,600,3,pipeline-kmeans,0,0,0,0.9900,0.5,1,ok,,tables,0,0,0
ids,made,table,600,3,pipeline-kmeans,0,0,1,0.9700,0.5,1,ok,,tables,0,0,0
gaps,made,table,600,4,default,0,0,0,0.9900,0.5,1,ok,standardized none,tables,0,0,0
gaps,made,table,600,4,pipeline-kmeans,0,0,0,1.0000,0.5,1,ok,,tables,0,0,0
words,made,table,600,4,default,0,0,0,,,1,refused: why,,tables,0,0,0
words,made,table,600,4,pipeline-kmeans,0,0,0,0.8000,0.5,1,ok,,tables,0,0,0
iris,real,points,150,3,default,5,0,0,0.7000,0.5,1,ok,rows soft,labels,0.9,0.95,0
iris,real,points,150,3,spread,5,0,0,0.9000,0.5,1,ok,,labels,1,1,0
iris,real,points,150,3,forest,5,0,0,0.8000,0.5,1,ok,,labels,1,1,0
iris,real,points,150,3,default,20,0,0,0.9100,0.5,1,ok,rows soft,labels,1,1,0
iris,real,points,150,3,spread,20,0,0,0.9000,0.5,1,ok,,labels,1,1,0
ids,made,table,600,3,default,5,0,0,0.9500,0.5,1,ok,rows soft,labels,1,1,0
ids,made,table,600,3,spread,5,0,0,0.9900,0.5,1,ok,,labels,1,1,0
ids,made,table,600,3,default,0,0,0,1.0000,0.5,1,ok,rows none clear,range,0,0,3
ids,made,table,600,3,default,0,0,1,0.7000,0.5,1,ok,rows none clear,range,0,0,2
ids,made,table,600,3,silhouette,0,0,0,1.0000,0.5,1,ok,,range,0,0,3
ids,made,table,600,3,silhouette,0,0,1,1.0000,0.5,1,ok,,range,0,0,3
gaps,made,table,600,4,default,0,0,0,0.5000,0.5,1,ok,rows none unsure,range,0,0,2
gaps,made,table,600,4,"default,scale=zscore",0,0,0,1.0000,0.5,1,ok,standardized none clear,range,0,0,4
`

// Every suite has its section, and a page keeps the sections of suites without results.
func TestSuitePages(t *testing.T) {
	page := Page{Subject: Default, Answers: results(t, suiteResults)}
	sections := page.sections(time.Unix(0, 0))
	written, err := document().Update("<!-- answers: constraints -->\nkept\n<!-- end of constraints -->\n", sections)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"| made tables | 3 | 0.53 | 0.93 |",
		"Behind `pipeline-kmeans` by more than .02: 2 of 3: ids (0.60, 0.98), words (0.00, 0.80).",
		"Refused: words.",
		"| ids | 600 | 3 | 0.60 (0.50 to 0.70) | 0.98 | rows none |",
		"| words | 600 | 4 | refused | 0.80 |  |",
		"| 5% | 1 | real | 0.70 | 0.90 | 0.80 | 0.90 | 1 | 1 | 0.90 | 0.95 |",
		"| 5% | 1 | made and generated | 0.95 | 0.99 |  | 0.99 | 1 | 0 | 1.00 | 1.00 |",
		"| 5% | 2 | all | 0.82 | 0.95 | 0.80 (1 set) | 0.95 | 2 | 1 | 0.95 | 0.97 |",
		"| 20% | 1 | all | 0.91 | 0.90 |  | 0.90 | 0 | 0 | 1.00 | 1.00 |",
		"| iris | points | 5% | 0.70 | 0.90 | 0.80 | 0.90 | rows soft |",
		"| made tables | 2 | 1 of 3 | 0.68 | 1 of 1 | 1.00 (1 set) | 2 of 2 | 1.00 (1 set) | 1 of 2 |",
		"| ids | 3 | 3, 2 |  | 3, 3 | rows none clear |",
		"<!-- answers: constraints -->\nkept\n<!-- end of constraints -->",
	} {
		if !strings.Contains(written, line) {
			t.Errorf("the page lacks %q", line)
		}
	}
	if t.Failed() {
		t.Log(written)
	}
	if again, err := document().Update(written, sections); err != nil || again != written {
		t.Errorf("written twice it differs: %v", err)
	}
	if before, _, _ := strings.Cut(written, "<!-- answers: labels"); strings.Contains(before, "forest") {
		t.Error("the section of tables has a peer of another suite")
	}
}

// The page of the repository has a section of every suite.
func TestPageHasMarks(t *testing.T) {
	page, err := os.ReadFile("../../docs/answers.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range suites {
		if !strings.Contains(string(page), "<!-- answers: "+s.name+" -->\n") ||
			!strings.Contains(string(page), "<!-- end of "+s.name+" -->\n") {
			t.Errorf("docs/answers.md lacks the section %s", s.name)
		}
	}
}

// Given labels are a share of the known ones, of every class at least one, and always the same of a draw.
func TestSeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		truth := rapid.SliceOfN(rapid.Int64Range(-1, 6), 1, 300).Draw(t, "truth")
		s := newSet("a", Real, catalog.Points, "", truth)
		percent := rapid.IntRange(1, 100).Draw(t, "percent")
		draw := rapid.IntRange(0, 5).Draw(t, "draw")
		given := s.seeds(percent, draw)
		if !slices.Equal(given, s.seeds(percent, draw)) || !slices.IsSorted(given) ||
			len(slices.Compact(slices.Clone(given))) != len(given) {
			t.Fatalf("%v, and then %v", given, s.seeds(percent, draw))
		}
		seen := map[int64]bool{}
		for _, i := range given {
			if truth[i] < 0 {
				t.Fatalf("the class of %d is not known", i)
			}
			seen[truth[i]] = true
		}
		if len(seen) != s.k || len(given) < len(s.known)*percent/100 || len(given) > len(s.known)*percent/100+2*s.k {
			t.Fatalf("%d labels of %d classes; %d classes and %d points are known", len(given), len(seen),
				s.k, len(s.known))
		}
		if rest := without(s.known, given); len(rest)+len(given) != len(s.known) {
			t.Fatalf("%d and %d of %d", len(rest), len(given), len(s.known))
		}
		classes := s.classes()
		for i, class := range classes {
			if class >= int64(s.k) || (class < 0) != (truth[i] < 0) {
				t.Fatalf("class %d of %d classes", class, s.k)
			}
		}
		if labels, pairs := kept(classes, classes, given); len(given) > 1 && (labels != 1 || pairs != 1) {
			t.Fatalf("the truth keeps %v and %v", labels, pairs)
		}
	})
}

func TestKept(t *testing.T) {
	classes := []int64{0, 0, 1, 1, -1}
	for _, c := range []struct {
		answer        []int64
		labels, pairs float64
	}{
		{[]int64{0, 0, 1, 1, 0}, 1, 1},
		{[]int64{1, 1, 0, 0, 0}, 0, 1}, // other numbers, the same clusters
		{[]int64{0, 0, 1, 0, 0}, 0.75, 0.5},
	} {
		if labels, pairs := kept(c.answer, classes, []int32{0, 1, 2, 3}); labels != c.labels ||
			math.Abs(pairs-c.pairs) > 1e-9 {
			t.Errorf("%v keeps %v and %v, want %v and %v", c.answer, labels, pairs, c.labels, c.pairs)
		}
	}
}

// Peers of one question share a process, but not where constraints are given.
func TestBatch(t *testing.T) {
	a := &set{name: "a"}
	b := &set{name: "b"}
	var list []question
	for _, s := range []*set{a, b} {
		for _, method := range []string{Default, "spread", "forest"} {
			list = append(list, question{suite: Labels, set: s, method: method, m: 5})
		}
	}
	var sizes []int
	for _, batch := range batch(list) {
		sizes = append(sizes, len(batch))
	}
	if !slices.Equal(sizes, []int{1, 2, 1, 2}) {
		t.Errorf("batches of %v questions", sizes)
	}
	for at := range list {
		list[at].suite = Constraints
	}
	if got := len(batch(list)); got != len(list) {
		t.Errorf("%d batches of %d questions", got, len(list))
	}
}

// An answer is read row by row, whatever its rows are called.
func TestReadAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "labels.csv")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("id,label,margin\n\"a, b\",2,0.5\nc,-1,0\n")
	if got, err := readAnswer(path); err != nil || !slices.Equal(got, []int64{2, -1}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "a,b\n1,2\n", "label\nx\n"} {
		write(bad)
		if got, err := readAnswer(path); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
	if distinct([]int64{2, -1, 2, 0}) != 2 {
		t.Error("clusters are not counted")
	}
}

// A suite that does not exist is refused with the names of those that do.
func TestUnknownSuite(t *testing.T) {
	err := Run(t.Context(), Config{Setup: measure.Setup{Parts: []string{"novel"}},
		Results: filepath.Join(t.TempDir(), "a.csv")})
	if err == nil || !strings.Contains(err.Error(), "tables, labels, range, constraints") {
		t.Errorf("%v", err)
	}
}
