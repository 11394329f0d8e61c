package answers

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/tools/measure"
)

// Groups of sets.
const (
	Real      = "real"
	Generated = "generated"
	Made      = "made" // tables
)

// Table is the kind of sets that are ordinary tables: words, gaps and all.
const Table = "table"

// largeRows is where a set begins to be large: such sets are only asked about on demand.
const largeRows = 10_000

// set is a data set whose classes are known.
type set struct {
	name, group, kind string // kind is one of the catalog's
	n, k              int
	file              string
	truth             []int64 // negative: not known
	known             []int32 // the points whose class is known
	// make writes the file of a set that is not in the folder; it is called once, before the set is used.
	make func(ctx context.Context) error
}

// discover finds the sets in the folders below a folder. A set is a file of data and one of labels:
//
//	data.csv, labels.csv                   points; data_complete.csv and labels_complete.csv, the rows without missing
//	                                       values, take their place, as any other data_X.csv does
//	edges.csv, labels.csv                  a graph; one that is in pieces comes once more as its largest component,
//	                                       NAME-lcc
//	X.tfidf.svm.gz, X.labels.csv           sparse points, called NAME-X
//
// Data may be compressed.
func discover(folder, temp string) ([]*set, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var sets []*set
	for _, e := range entries {
		inside, err := os.ReadDir(filepath.Join(folder, e.Name()))
		if err != nil {
			continue // not a folder
		}
		var names []string
		for _, file := range inside {
			names = append(names, file.Name())
		}
		for _, p := range pairUp(names) {
			found, err := load(folder, e.Name(), p, temp)
			if err != nil {
				return nil, err
			}
			sets = append(sets, found...)
		}
	}
	return sets, nil
}

// files are the names of the two files of a set, and what is added to its folder's name.
type files struct{ kind, data, labels, suffix string }

// pairUp finds the sets among the sorted names of the files of a folder.
func pairUp(names []string) []files {
	there := func(name string) bool { return slices.Contains(names, name) }
	var points, found []files
	for _, name := range names {
		stem := strings.TrimSuffix(name, ".gz")
		switch base, isTable := strings.CutSuffix(stem, ".csv"); {
		case isTable && base == "edges" && there("labels.csv"):
			found = append(found, files{catalog.Graph, name, "labels.csv", ""})
		case isTable && strings.HasPrefix(base, "data") && there("labels"+base[len("data"):]+".csv"):
			points = append(points, files{catalog.Points, name, "labels" + base[len("data"):] + ".csv", ""})
		}
		if base, isText := strings.CutSuffix(stem, ".tfidf.svm"); isText && there(base+".labels.csv") {
			found = append(found, files{catalog.SparsePoints, name, base + ".labels.csv", "-" + base})
		}
	}
	if len(points) > 0 { // the last is data_X.csv where there is one
		found = append(found, points[len(points)-1])
	}
	return found
}

// shortNames of folders.
var shortNames = map[string]string{"mini-newsgroups": "news"}

func load(root, folder string, f files, temp string) ([]*set, error) {
	name := folder
	if short := shortNames[folder]; short != "" {
		name = short
	}
	_, truth, err := format.LoadTable(filepath.Join(root, folder, f.labels), table.Labels, 0)
	if err != nil {
		return nil, err
	}
	s := newSet(name+f.suffix, Real, f.kind, filepath.Join(root, folder, f.data), truth)
	if s.kind != catalog.Graph {
		return []*set{s}, nil
	}
	graph, err := format.LoadGraph(s.file, s.n)
	if err != nil {
		return nil, err
	}
	// A vertex or two alone make no other problem; that of many small pieces is worth being told apart.
	kept := largestComponent(graph)
	if len(kept) > s.n*95/100 {
		return []*set{s}, nil
	}
	classes := make([]int64, len(kept))
	for at, i := range kept {
		classes[at] = truth[i]
	}
	piece := newSet(s.name+"-lcc", Real, s.kind, filepath.Join(temp, s.name+"-lcc.csv"), classes)
	piece.make = func(context.Context) error {
		return format.WriteFile(piece.file, func(w io.Writer) error {
			return format.WriteEdges(w, edgesAmong(graph, kept))
		})
	}
	return []*set{s, piece}, nil
}

func newSet(name, group, kind, file string, truth []int64) *set {
	s := &set{name: name, group: group, kind: kind, file: file}
	s.tell(truth)
	return s
}

// tell gives the set its truth: k is the number of known classes.
func (s *set) tell(truth []int64) {
	s.truth, s.n = truth, len(truth)
	var classes []int64
	for i, class := range truth {
		if class >= 0 {
			s.known = append(s.known, int32(i))
			classes = append(classes, class)
		}
	}
	slices.Sort(classes)
	s.k = len(slices.Compact(classes))
}

func (s *set) large() bool { return s.n >= largeRows }

// largestComponent lists the vertices of the largest connected component in ascending order.
func largestComponent(g *dataset.Graph) []int32 {
	seen := make([]bool, g.N)
	var largest []int32
	for start := range g.N {
		if seen[start] {
			continue
		}
		seen[start] = true
		piece := []int32{int32(start)}
		for at := 0; at < len(piece); at++ {
			neighbors, _ := g.Row(int(piece[at]))
			for _, j := range neighbors {
				if !seen[j] {
					seen[j] = true
					piece = append(piece, j)
				}
			}
		}
		if len(piece) > len(largest) {
			largest = piece
		}
	}
	slices.Sort(largest)
	return largest
}

// edgesAmong returns the edges between the given vertices, which are numbered anew in their order.
func edgesAmong(g *dataset.Graph, vertices []int32) []dataset.Edge {
	number := make(map[int32]int32, len(vertices))
	for at, i := range vertices {
		number[i] = int32(at)
	}
	var edges []dataset.Edge
	for at, i := range vertices {
		neighbors, weights := g.Row(int(i))
		for to, j := range neighbors {
			if other, kept := number[j]; kept && int32(at) <= other {
				edges = append(edges, dataset.Edge{Source: int32(at), Target: other, Weight: weights[to]})
			}
		}
	}
	return edges
}

// shape is a set that `cleave generate` makes.
type shape struct {
	name, what string
	n          int
	options    string
}

var shapes = []shape{
	{"gen-gaussians-k5", "gaussians", 600, "--d 4 --k 5"},
	{"gen-gaussians-close", "gaussians", 600, "--d 10 --k 6 --noise 5"},
	{"gen-gaussians-k10", "gaussians", 6000, "--d 8 --k 10"},
	{"gen-circles", "two-circles", 400, ""},
	{"gen-moons", "two-moons", 400, ""},
	{"gen-moons-noisy", "two-moons", 600, "--noise 0.15"},
	{"gen-blocks-k3", "blocks", 600, "--k 3"},
	{"gen-blocks-k10", "blocks", 3000, "--k 10"},
	{"gen-blocks-hard", "blocks", 2000, "--k 4 --inside 8 --outside 4"},
	{"gen-blocks-200k", "blocks", 200_000, "--k 20 --inside 16 --outside 6"},
}

// generated returns the sets that are made, once they are needed.
func generated(cleave, temp string) []*set {
	var sets []*set
	for _, g := range shapes {
		kind, file := catalog.Points, "data.csv"
		if g.what == "blocks" {
			kind, file = catalog.Graph, "edges.csv"
		}
		out := filepath.Join(temp, g.name)
		s := &set{name: g.name, group: Generated, kind: kind, file: filepath.Join(out, file), n: g.n}
		s.make = func(ctx context.Context) error {
			arguments := append([]string{"generate", g.what, "--n", fmt.Sprint(g.n), "--seed", "1", "--out", out},
				strings.Fields(g.options)...)
			if _, err := measure.Run(exec.CommandContext(ctx, cleave, arguments...)); err != nil {
				return err
			}
			_, truth, err := format.LoadTable(filepath.Join(out, "truth.csv"), table.Labels, g.n)
			if err == nil {
				s.tell(truth)
			}
			return err
		}
		sets = append(sets, s)
	}
	return sets
}
