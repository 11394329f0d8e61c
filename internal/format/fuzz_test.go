package format

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/invalid"
)

// Readers must answer any input with consistent data or with a fault, and must not allocate much more
// than the length of the input.

// checkFuzzed allows memory for the buffers, for lists while they grow, and what a format may need
// beyond that. It tells whether the input was read without a fault.
func checkFuzzed(t *testing.T, input, beyond int, read func() error) (ok bool) {
	t.Helper()
	var err error
	if bytes := allocated(func() { err = read() }); bytes > uint64(2<<20+256*input+beyond) {
		t.Fatalf("allocated %d bytes for an input of %d", bytes, input)
	}
	var f *fault.Error
	if err != nil && (!errors.As(err, &f) || f.Kind != fault.InvalidArgument || f.Reason == "" ||
		!strings.HasPrefix(f.Message, "f.")) {
		t.Fatalf("not a proper fault: %v", err)
	}
	return err == nil
}

func FuzzPoints(f *testing.F) {
	for _, seed := range []string{"x,y\n1,2\n", "1,2\r\n3,4\r\n", "\xEF\xBB\xBF\"a\"\"\",b\n1,nan\n", "1,\n\n",
		"\"", ",,\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		var points *dataset.Points
		var header []string
		read := func() (err error) {
			points, header, err = ReadPoints(bytes.NewReader(input), "f.csv")
			return err
		}
		if !checkFuzzed(t, len(input), 0, read) {
			return
		}
		if header != nil && len(header) != points.D {
			t.Fatalf("%d names for %d columns", len(header), points.D)
		}
		var written bytes.Buffer
		if err := WritePoints(&written, nil, points); err != nil {
			t.Fatal(err)
		}
		again, _, err := ReadPoints(&written, "f.csv")
		if err != nil || again.N != points.N || !slices.Equal(again.Values, points.Values) {
			t.Fatalf("%+v came back as %+v, %v", points, again, err)
		}
	})
}

func FuzzNPY(f *testing.F) {
	f.Add([]byte(npy("<f8", false, "(2, 2)", 1.0, 2.0, 3.0, 4.0)))
	f.Add([]byte(npy(">i4", true, "(1, 2)", int32(1), int32(2))))
	f.Add([]byte(npy("|u1", false, "(3,)", []byte{1, 2, 3})))
	f.Add([]byte(npy("<f2", false, "(1000000000, 1000)", uint16(1))))
	f.Add([]byte(npyFile(2, "{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1,)}", "")))
	f.Fuzz(func(t *testing.T, input []byte) {
		var points *dataset.Points
		read := func() (err error) {
			points, _, err = ReadPoints(bytes.NewReader(input), "f.npy")
			return err
		}
		if checkFuzzed(t, len(input), 0, read) && len(points.Values) != points.N*points.D {
			t.Fatalf("%d values for %d x %d", len(points.Values), points.N, points.D)
		}
	})
}

// graphBeyond is memory for vertices without edges: a row start, and its copy while rows are filled.
var graphBeyond = 20 * dataset.MaxInferredVertices(0)

func FuzzMatrixMarket(f *testing.F) {
	for _, seed := range []string{
		"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 5\n2 1 5\n",
		"%%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 1\n2 1\n",
		"%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n",
		"%%MatrixMarket matrix array integer general\n2 1\n1\n2\n",
		"%%MatrixMarket matrix coordinate real general\n2000000 2000000 1\n1 2 5\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		checkFuzzed(t, len(input), 8<<22, func() error {
			points, _, err := ReadPoints(bytes.NewReader(input), "f.mtx")
			if err == nil && len(points.Values) != points.N*points.D {
				t.Fatalf("%d values for %d x %d", len(points.Values), points.N, points.D)
			}
			return err
		})
		var graph *dataset.Graph
		read := func() (err error) {
			graph, err = ReadGraph(bytes.NewReader(input), "f.mtx", 0)
			return err
		}
		if checkFuzzed(t, len(input), graphBeyond, read) && int(graph.RowStart[graph.N]) != len(graph.Column) {
			t.Fatalf("rows end at %d of %d", graph.RowStart[graph.N], len(graph.Column))
		}
	})
}

func FuzzEdges(f *testing.F) {
	for _, seed := range []string{"src,dst,weight\n0,1,2\n", "0,1\n1,2,.5\n", "weight,to,from\n1,2,3\n",
		"0,4000000\n", "a,b\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		for _, name := range []string{"f.csv", "f.tsv", "f.edges"} {
			checkFuzzed(t, len(input), graphBeyond, func() error {
				graph, err := ReadGraph(bytes.NewReader(input), name, 0)
				if err == nil && len(graph.Column) == 0 {
					t.Fatal("a graph of no edges has no vertices either")
				}
				return err
			})
		}
	})
}

func FuzzConstraints(f *testing.F) {
	for _, seed := range []string{"i,j,kind,weight\n0,1,must,\n1,2,cannot,2\n", "kind,j,i\nmust-link,0,1\n",
		"i,j,kind\n", "0,1,must\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		const points = 50
		var constraints []constraint.Constraint
		readAll := func() (err error) {
			constraints, err = read(string(input), "f.csv", table.Constraints, points)
			return err
		}
		if !checkFuzzed(t, len(input), 0, readAll) {
			return
		}
		if _, err := constraint.NewSet(points, constraints, constraint.UnitWeight); err != nil &&
			!errors.Is(err, invalid.ConstraintWeightSum) {
			t.Fatalf("what was read is not accepted: %v", err) // only a sum of weights may still overflow
		}
	})
}

func FuzzLabels(f *testing.F) {
	for _, seed := range []string{"index,label,probability\n0,1,0.5\n0,2,0.5\n", "index,label\n1,5\n0,-5\n",
		"label\n1\n2\n", "index,label\n", "index,weight\n0,1\n", "index\n3\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		const points = 50
		lines := bytes.Count(input, []byte("\n")) + bytes.Count(input, []byte("\r")) + 1
		var labels []int64
		readAll := func() (err error) {
			labels, err = read(string(input), "f.csv", table.Labels, 0)
			return err
		}
		if checkFuzzed(t, len(input), 0, readAll) && len(labels) > lines {
			t.Fatalf("%d labels from %d lines", len(labels), lines)
		}
		checkFuzzed(t, len(input), 0, func() error {
			seeds, err := read(string(input), "f.csv", table.Seeds, points)
			labels := map[[2]int32]bool{}
			for _, s := range seeds {
				labels[[2]int32{s.Index, s.Label}] = true
			}
			if err == nil && (len(labels) != len(seeds) || len(seeds) > lines) {
				t.Fatalf("%d seeds from %d lines, %d of them distinct", len(seeds), lines, len(labels))
			}
			return err
		})
		checkFuzzed(t, len(input), 0, func() error {
			weights, err := read(string(input), "f.csv", table.Weights, points)
			if err == nil && (len(weights) != points || slices.ContainsFunc(weights, func(w float64) bool {
				return !(w > 0)
			})) {
				t.Fatalf("weights %v", weights)
			}
			return err
		})
		checkFuzzed(t, len(input), 0, func() error {
			_, err := read(string(input), "f.csv", table.Indices, points)
			return err
		})
	})
}
