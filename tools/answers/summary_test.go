package answers

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-project/cleave/tools/measure"
)

// fixed are results whose sums are easy. Seeds of a method that the subject was not asked with do not count, nor does
// an answer without constraints of what takes them.
const fixed = `set,group,kind,n,k,method,m,noise,seed,ari,nmi,seconds,status,chosen
a,real,points,1000,2,default,0,0,0,0.5000,0.5,1,ok,rows none
a,real,points,1000,2,default,0,0,1,0.7000,0.5,1,ok,rows none
a,real,points,1000,2,default,20,0,0,0.5700,0.5,1,ok,rows hard
a,real,points,1000,2,default,500,0,0,0.9000,0.5,1,ok,rows hard
a,real,points,1000,2,default,500,0,1,0.8000,0.5,3,ok,neighbors hard
a,real,points,1000,2,default,500,0,2,,,9,timeout,
a,real,points,1000,2,default,500,0.1,0,0.4000,0.5,1,ok,
a,real,points,1000,2,kmeans,0,0,0,0.6300,0.5,1,ok,
a,real,points,1000,2,mpc-kmeans,0,0,0,0.6400,0.5,1,ok,
a,real,points,1000,2,pc-kmeans,500,0,0,0.9500,0.5,1,ok,
a,real,points,1000,2,pc-kmeans,500,0,1,0.9300,0.5,1,ok,
a,real,points,1000,2,pc-kmeans,500,0,7,0.0000,0.5,1,ok,
a,real,points,1000,2,"pc-kmeans,entail",500,0,0,0.9900,0.5,1,ok,
a,real,points,1000,2,sk-ward,0,0,0,0.6100,0.5,1,ok,
g,generated,graph,100,2,default,0,0,0,,,0.1,refused: no,
g,generated,graph,100,2,default,100,0,0,1.0000,1,0.1,ok,
g,generated,graph,100,2,spectral,0,0,0,0.8000,0.5,1,ok,
g,generated,graph,100,2,constrained-spectral,100,0,0,0.9000,0.5,1,ok,
g,generated,graph,100,2,sk-spectral-graph,0,0,0,0.8500,0.5,1,ok,
g,generated,graph,100,2,sk-spectral-graph,100,0,0,0.1000,0.5,1,ok,
`

func results(t *testing.T, text string) []Answer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "answers.csv")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	list, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestCells(t *testing.T) {
	cells := newIndex(results(t, fixed)).cells(Default, 0)
	for at, want := range []struct {
		set       string
		m         int
		ari       float64
		own, peer scored
		verdict   string
		fell      float64
		missed    float64
	}{
		{"a", 0, 0.6, scored{"mpc-kmeans", 0.64}, scored{"sk-ward", 0.61}, "level", 0, 0.04},
		{"a", 20, 0.57, scored{"kmeans", 0.63}, scored{"sk-ward", 0.61}, "behind", 0.03, 0.06},
		{"a", 500, 0.85, scored{"pc-kmeans", 0.94}, scored{"sk-ward", 0.61}, "ahead", -0.25, 0.09},
		{"g", 0, 0, scored{"spectral", 0.8}, scored{"sk-spectral-graph", 0.85}, "behind", 0, 0.85},
		{"g", 100, 1, scored{"constrained-spectral", 0.9}, scored{"sk-spectral-graph", 0.85}, "ahead", -1, 0},
	} {
		c := cells[at]
		same := func(a, b scored) bool { return a.method == b.method && near(a.ari, b.ari) }
		if c.set != want.set || c.m != want.m || !near(c.ari, want.ari) || !same(c.own, want.own) ||
			!same(c.peer, want.peer) ||
			c.verdict() != want.verdict || !near(c.fell(), want.fell) || !near(c.missed(), want.missed) {
			t.Errorf("got %+v (%s, fell %.3f, missed %.3f), want %+v", c, c.verdict(), c.fell(), c.missed(), want)
		}
	}
	if len(cells) != 5 {
		t.Errorf("%d cells", len(cells))
	}
}

func TestTallies(t *testing.T) {
	list := tallies(newIndex(results(t, fixed)).cells(Default, 0))
	var names []string
	for _, sum := range list {
		names = append(names, sum.name)
	}
	want := "real sets, m = 0; real sets, m = 20; real sets, m = n/2; real sets, m >= 100; generated sets, m = 0; " +
		"generated sets, m = 100; generated sets, m >= 100"
	if got := strings.Join(names, "; "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if sum := list[1]; sum.cells != 1 || !near(sum.ari, 0.57) || sum.behind != 1 || sum.fell != 1 || sum.fellFar != 0 {
		t.Errorf("%+v", sum)
	}
}

// The page has every section, with the numbers of the results.
func TestPage(t *testing.T) {
	written := Page{Setup: measure.Setup{Version: "v1"}, Subject: Default, Answers: results(t, fixed)}.sections(
		time.Unix(0, 0))[Constraints]
	for _, line := range []string{
		"Method `default`, measured on 1970-01-01 at v1, up to 3 draws.",
		"| real sets, m = n/2 | 1 | 0.85 | 0.94 | 0.61 | 1 / 0 / 0 | 0 | 0 |",
		"| generated sets, m = 0 | 1 | 0.00 | 0.80 | 0.85 | 0 / 0 / 1 | 0 | 0 |",
		"| 0.1 | 1 | 0.50 | 0.40 | -0.10 | 1 | 1 |", // the unconstrained answer of the same seed
		"Below by more than .02: a, m = 500: 0.40, without 0.50.",
		"In 4 of 5 cells, one of our named algorithms or a peer is better by more than .02",
		"| g | 0 | 0.00 | 0.80 spectral | 0.85 sk-spectral-graph | 0.85 |",
		"| g | 0.80 |  | 0.90 |  |  |",
		"| mean gain |  |  | +0.10 |  |  |",
		"| `pc-kmeans,entail` | 0 | 1 | 0.95 | 0.99 | +0.040 | +0.04 | +0.04 |",
		"| `default` | 9 | 1 | 1 | 1.9 | 9.0 |",
		"#### a\n\nPoints, n = 1000, k = 2",
		"| 20 | 0.57 | 0.63 kmeans | 0.61 sk-ward | behind, fell | rows hard |",
		"| 500 | 0.85 (0.80 to 0.90) | 0.94 pc-kmeans | 0.61 sk-ward | ahead | neighbors hard, rows hard |",
		"| 0 | refused | 0.80 spectral | 0.85 sk-spectral-graph | behind |  |",
	} {
		if !strings.Contains(written, line) {
			t.Errorf("the page lacks %q", line)
		}
	}
	if t.Failed() {
		t.Log(written)
	}
}

// Another document gets the table of algorithms.
func TestAlgorithmsTable(t *testing.T) {
	text := Page{Subject: Default, Answers: results(t, fixed)}.algorithms()
	for _, line := range []string{
		"| data | algorithm | m = 0 | m = 20 | m = 100 | m = 400 | m = n/2 |",
		"| points | default | 0.60 | 0.57 |  |  | 0.85 |",
		"| points | kmeans | 0.63 |  |  |  |  |",
		"| graph | constrained-spectral |  |  | 0.90 |  |  |",
		"| graph | *best peer* | 0.85 | - | 0.85 | - | - |",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%q is missing in\n%s", line, text)
		}
	}
}

func TestPageWithoutPeers(t *testing.T) {
	written := Page{Subject: Default, Answers: results(t, fixed)[:3]}.sections(time.Unix(0, 0))[Constraints]
	for _, text := range []string{"No peers were asked",
		"| real sets, m = 0 | 1 | 0.60 | - | - | 0 / 0 / 0 | 0 | 0 |"} {
		if !strings.Contains(written, text) {
			t.Errorf("the page lacks %q:\n%s", text, written)
		}
	}
}

func TestLoad(t *testing.T) {
	if list, err := Load(filepath.Join(t.TempDir(), "none.csv")); err != nil || list != nil {
		t.Errorf("a file that is not there: %v, %v", list, err)
	}
	for _, a := range results(t, fixed) {
		again, err := parse(a.record())
		if err != nil || again != a {
			t.Errorf("%+v was written and read as %+v, %v", a, again, err)
		}
	}
	path := filepath.Join(t.TempDir(), "other.csv")
	if err := os.WriteFile(path, []byte("i,j\n1,2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil {
		t.Error("another table was read")
	}
}
