package answers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/format"
)

// folderOf writes files into a new folder.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func labels(classes ...int) string {
	var b strings.Builder
	b.WriteString("label\n")
	for _, class := range classes {
		fmt.Fprintln(&b, class)
	}
	return b.String()
}

// Sets are found by the names of their files; what has no labels of its own is none.
func TestDiscover(t *testing.T) {
	folder := folderOf(t, map[string]string{
		"README.md":                            "not a folder",
		"plain/data.csv":                       "f0\n1\n2\n3\n",
		"plain/labels.csv":                     labels(0, 1, -1),
		"holes/data.csv":                       "f0\n1\n\n3\n",
		"holes/labels.csv":                     labels(0, 1, 1),
		"holes/data_complete.csv":              "f0\n1\n3\n",
		"holes/labels_complete.csv":            labels(0, 1),
		"whole/edges.csv":                      "src,dst,weight\n0,1,1\n1,2,1\n",
		"whole/edges_weighted.csv":             "src,dst,weight\n0,1,5\n1,2,1\n",
		"whole/labels.csv":                     labels(0, 0, 1),
		"pieces/edges.csv":                     "src,dst,weight\n0,1,1\n4,3,2\n4,2,3\n",
		"pieces/docs.svm.gz":                   "",
		"pieces/labels.csv":                    labels(0, 0, 1, 2, 2, 2),
		"mini-newsgroups/three.tfidf.svm.gz":   "",
		"mini-newsgroups/three.counts.svm.gz":  "",
		"mini-newsgroups/three.labels.csv":     labels(0, 1, 2, 2),
		"digits/data_test10k.csv.gz":           "",
		"digits/labels_test10k.csv":            labels(1, 2, 3),
		"alone/data.csv":                       "f0\n1\n",
		"mini-newsgroups/unlabeled.tfidf.svm":  "",
		"mini-newsgroups/vocabulary.labels.gz": "",
	})
	sets, err := discover(folder, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range sets {
		got = append(got, fmt.Sprintf("%s: %s, n = %d, k = %d, %s", s.name, s.kind, s.n, s.k, filepath.Base(s.file)))
	}
	want := []string{
		"digits: points, n = 3, k = 3, data_test10k.csv.gz",
		"holes: points, n = 2, k = 2, data_complete.csv",
		"news-three: sparse points, n = 4, k = 3, three.tfidf.svm.gz",
		"pieces: graph, n = 6, k = 3, edges.csv",
		"pieces-lcc: graph, n = 3, k = 2, pieces-lcc.csv",
		"plain: points, n = 3, k = 2, data.csv",
		"whole: graph, n = 3, k = 2, edges.csv",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if known := sets[5].known; !slices.Equal(known, []int32{0, 1}) {
		t.Errorf("the classes of %v are known, want 0 and 1", known)
	}

	piece := sets[4] // vertices 2, 3 and 4 with the edges 2-4 of weight 3 and 3-4 of weight 2
	if err := piece.make(context.Background()); err != nil {
		t.Fatal(err)
	}
	graph, err := format.LoadGraph(piece.file, 0)
	if err != nil {
		t.Fatal(err)
	}
	neighbors, weights := graph.Row(2)
	if graph.N != 3 || !slices.Equal(neighbors, []int32{0, 1}) || !slices.Equal(weights, []float64{3, 2}) {
		t.Errorf("the largest component has %d vertices, and the last has neighbors %v with weights %v", graph.N,
			neighbors, weights)
	}
	if !slices.Equal(piece.truth, []int64{1, 2, 2}) {
		t.Errorf("its classes are %v", piece.truth)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		n    int
		want []int
	}{{5, []int{0}}, {34, []int{0, 20, 100}}, {300, []int{0, 20, 100, 400}}, {800, []int{0, 20, 100, 400}},
		{1001, []int{0, 20, 100, 400, 500}}} {
		s := newSet("a", Real, catalog.Points, "", make([]int64, c.n))
		if got := s.numbers(standardNumbers); !slices.Equal(got, c.want) {
			t.Errorf("n = %d: %v, want %v", c.n, got, c.want)
		}
	}
}

// Pairs are different and true, come from points of known class, and begin like a longer list.
func TestPairs(t *testing.T) {
	truth := make([]int64, 300)
	for i := range truth {
		truth[i] = int64(i%4) - 1 // every fourth is unknown
	}
	s := newSet("a", Real, catalog.Points, "", truth)
	long := s.pairs(400, 3, 0)
	seen := map[[2]int32]bool{}
	for _, c := range long {
		if c.I >= c.J || seen[[2]int32{c.I, c.J}] || truth[c.I] < 0 || truth[c.J] < 0 ||
			(c.Kind == constraint.MustLink) != (truth[c.I] == truth[c.J]) {
			t.Fatalf("%+v", c)
		}
		seen[[2]int32{c.I, c.J}] = true
	}
	if !slices.Equal(s.pairs(20, 3, 0), long[:20]) {
		t.Error("20 pairs are not the first of 400")
	}
	if slices.Equal(s.pairs(400, 4, 0), long) {
		t.Error("another seed draws the same pairs")
	}
	if other := newSet("b", Real, catalog.Points, "", truth); slices.Equal(other.pairs(400, 3, 0), long) {
		t.Error("another set draws the same pairs")
	}
}

// Wrong pairs are the same pairs; about the given share of them is turned round, and always the same ones.
func TestWrongPairs(t *testing.T) {
	truth := make([]int64, 500)
	for i := range truth {
		truth[i] = int64(i % 3)
	}
	s := newSet("a", Real, catalog.Points, "", truth)
	right := s.pairs(2000, 0, 0)
	wrong := s.pairs(2000, 0, 0.1)
	turned := 0
	for at, c := range wrong {
		if c.I != right[at].I || c.J != right[at].J {
			t.Fatalf("pair %d is %+v, without noise %+v", at, c, right[at])
		}
		if c.Kind != right[at].Kind {
			turned++
		}
	}
	if turned < 150 || turned > 250 { // 200 expected, standard deviation 13
		t.Errorf("%d of 2000 pairs are wrong, want about 200", turned)
	}
	if !slices.Equal(s.pairs(100, 0, 0.1), wrong[:100]) {
		t.Error("100 partly wrong pairs are not the first of 2000")
	}
}

func TestMethods(t *testing.T) {
	got := Methods("default,pc-kmeans,restarts=10,entail,sk-ward;novel,x=1 kmeans")
	want := []string{"default", "pc-kmeans,restarts=10,entail", "sk-ward", "novel,x=1", "kmeans"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Methods("default peers"); len(got) != 1+len(peers) {
		t.Errorf("the default and all peers are %q", got)
	}
	if got := strings.Join(flags("pc-kmeans,restarts=10,entail", 20),
		" "); got != "--algorithm pc-kmeans --restarts=10 --entail" {
		t.Errorf("flags %q", got)
	}
	if got := flags("default,entail", 0); len(got) != 0 {
		t.Errorf("flags %q", got)
	}
}

func TestApplies(t *testing.T) {
	points := &set{kind: catalog.Points, n: 100}
	graph := &set{kind: catalog.Graph, n: 100}
	texts := &set{kind: catalog.SparsePoints, n: 100}
	many := &set{kind: catalog.Points, n: 100_000}
	for _, c := range []struct {
		method string
		set    *set
		m      int
		want   bool
	}{
		{Default, texts, 20, true},
		{"novel", graph, 20, true}, // whoever is asked decides
		{"pc-kmeans,restarts=10", texts, 20, true},
		{"pc-kmeans", graph, 20, false},
		{"kmeans", points, 0, true},
		{"kmeans", points, 20, false},
		{"seeded-kmeans", points, 0, false},
		{"constrained-spectral", graph, 0, false},
		{"constrained-spectral", graph, 20, true},
		{"sk-kmeans", points, 0, true},
		{"sk-kmeans", points, 20, false},
		{"sk-seeded", points, 0, false},
		{"sk-seeded", texts, 20, true},
		{"sk-spectral-rbf", many, 0, false},
		{"sk-spectral-graph", graph, 20, true},
		{"sk-spectral-graph", points, 20, false},
		{pipeline, points, 0, false}, // a peer of another suite
	} {
		if got := applies(c.method, Constraints, c.set, c.m); got != c.want {
			t.Errorf("%s on a set of %d %s with %d constraints: %v", c.method, c.set.n, c.set.kind, c.m, got)
		}
	}
}
