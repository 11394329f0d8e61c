package graph

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// readEdgesPlainly reads a list of edges line by line, without blocks, threads or a short way for usual lines.
func readEdgesPlainly(l *scan.Lines, vertices int) (edges []dataset.Edge, err error) {
	columns := EdgeColumns{Source: 0, Target: 1, Weight: 2, Width: 3}
	first := true
	err = l.EachRow(func(cells [][]byte) (err error) {
		if first {
			first = false
			switch scan.KindOfRow(cells) {
			case scan.RowOfNames:
				columns, _, err = NameEdgeColumns(l, cells)
				return err
			case scan.RowOfNumbersAndNames:
				return l.Invalid("AMBIGUOUS_HEADER",
					"the first line has both numbers and names; make it a header (src,dst,weight) or an edge")
			}
		}
		edge, err := ParseEdge(l, cells, columns, Numbered(vertices))
		edges = append(edges, edge)
		return err
	})
	return edges, err
}

// compareEdges reads a text in both ways, in blocks of some size, and demands the same edges, to the last bit, or the
// same fault.
func compareEdges(t *testing.T, text []byte, name string, vertices, size int) {
	t.Helper()
	open := func() *scan.Lines {
		s, err := scan.Open(bytes.NewReader(text), name, scan.Options{})
		if err != nil { // it is of another format
			return nil
		}
		s.BlockSize = size
		l := scan.NewLines(s, map[string]byte{".csv": ',', ".tsv": '\t'}[s.Suffix])
		if l.AllowBlankLines = true; l.Separator == scan.AnyWhiteSpace {
			l.Comments = "#%"
		}
		return l
	}
	l := open()
	if l == nil {
		return
	}
	want, wantErr := readEdgesPlainly(l, vertices)
	lists, err := ReadEdges(open(), vertices)
	mustAgree(t, fmt.Sprintf("%s in blocks of %d: %q", name, size, text), lists, err, want, wantErr)
}

func mustAgree(t *testing.T, what string, lists []dataset.Edges, err error, want []dataset.Edge, wantErr error) {
	t.Helper()
	if wantErr != nil || err != nil {
		var a, b *fault.Error
		if errors.As(err, &a) && errors.As(wantErr, &b) && reflect.DeepEqual(a, b) {
			return
		}
		t.Fatalf("%s: %v instead of %v", what, err, wantErr)
	}
	got := slices.Collect(dataset.EachEdge(lists))
	same := slices.EqualFunc(got, want, func(a, b dataset.Edge) bool {
		return a.Source == b.Source && a.Target == b.Target && math.Float64bits(a.Weight) == math.Float64bits(b.Weight)
	})
	if !same {
		t.Fatalf("%s: %v instead of %v", what, got, want)
	}
}

// cells of random files: the usual ones several times, so that files are often read to their end.
var (
	randomVertices = []string{"0", "1", "2", "3", "17", "250", "007", "4", "5", "6", "0", "1", "3.0", "1e2", "+4", " 5",
		"6 ", "\"7\""}
	badVertices = []string{"", "-1", "x", "2147483647", "2147483646", "99999999999999999999", "1.5", "0x10", "nan",
		"1_0", "\"", "\u00a01"}
	randomWeights = []string{"1", "2", "0.5", ".25", "5.", "-3", "-0", "0", "1e-3", "123456789.123456789",
		"9007199254740993", "0.1", "0.3", "1.7976931348623157e308",
		"3.141592653589793", "0.000000000000000001", "1234567890123456789", "00001.50", "+2", " 7", "\"8\"", "",
		"0x1p-2", "4.9e-324", "999999999999999999", "0.30000000000000004"}
	badWeights = []string{"nan", "inf", "-", ".", "1e400", "heavy", "1,5", "--1", "1.2.3", "1 2", "\""}
)

func randomEdgeFile(rng *rand.Rand, separator string, mistakes bool) []byte {
	pick := func(usual, bad []string) string {
		if mistakes && rng.IntN(60) == 0 {
			return bad[rng.IntN(len(bad))]
		}
		if rng.IntN(3) > 0 {
			return usual[rng.IntN(6)]
		}
		return usual[rng.IntN(len(usual))]
	}
	var b strings.Builder
	b.WriteString([]string{"", "", "", "\ufeff", "\n\n", "# c\n", "\xff\xfe"}[rng.IntN(7)])
	header := []string{"", "", "src,dst,weight", "src,dst", "from,to,weight", "a,b,c", "a,b", "weight,dst,src",
		"src,dst,note", "note,src,dst,weight"}[rng.IntN(10)]
	if header != "" {
		b.WriteString(strings.ReplaceAll(header, ",", separator) + "\n")
	}
	end := []string{"\n", "\r\n"}[rng.IntN(2)]
	for range rng.IntN(30) {
		switch rng.IntN(25) {
		case 0:
			b.WriteString(end)
		case 1:
			b.WriteString("# 1 2" + end)
		case 2:
			b.WriteString("  " + end)
		}
		gap := separator
		if separator == " " {
			gap = []string{" ", "\t", ",", "  ", " , ", "\r"}[rng.IntN(6)]
		}
		b.WriteString(pick(randomVertices, badVertices) + gap + pick(randomVertices, badVertices))
		if rng.IntN(2) == 0 {
			b.WriteString(gap + pick(randomWeights, badWeights))
		}
		if mistakes && rng.IntN(60) == 0 {
			b.WriteString(gap + "1")
		}
		b.WriteString(end)
	}
	text := b.String()
	if rng.IntN(3) == 0 {
		text = strings.TrimRight(text, "\r\n")
	}
	return []byte(text)
}

// Blocks, threads and the short way change nothing: not an edge, not a bit of a weight, not a word of a fault.
func TestEdgesAreReadAsLineByLine(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 3000 {
		at := rng.IntN(3)
		text := randomEdgeFile(rng, []string{",", "\t", " "}[at], round%2 == 0)
		compareEdges(t, text, []string{"f.csv", "f.tsv", "f.txt"}[at], []int{0, 0, 251, 5}[rng.IntN(4)], 1+rng.IntN(80))
	}
}

func FuzzEdgesAreReadAsLineByLine(f *testing.F) {
	for _, seed := range []string{"src,dst,weight\n0,1,2\n", "0,1\n1,2,.5\n", "weight,to,from\n1,2,3\n",
		"0,4000000\n", "a,b\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		for _, name := range []string{"f.csv", "f.tsv", "f.edges"} {
			compareEdges(t, input, name, 0, 1+len(input)/3)
		}
	})
}

func TestReadingEdgesAllocatesLittle(t *testing.T) {
	const count = 200_000
	var b strings.Builder
	b.WriteString("src,dst,weight\n")
	for i := range count {
		fmt.Fprintf(&b, "%d,%d,%g\n", i%1000, 1000+i, 0.5+float64(i%7))
	}
	text := b.String()
	s, err := scan.Open(strings.NewReader(text), "e.csv", scan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var lists []dataset.Edges
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	lists, err = ReadEdges(scan.NewLines(s, ','), 0)
	runtime.ReadMemStats(&after)
	bytes := after.TotalAlloc - before.TotalAlloc
	edges := slices.Collect(dataset.EachEdge(lists))
	if err != nil || len(edges) != count ||
		edges[count-1] != (dataset.Edge{Source: (count - 1) % 1000, Target: 1000 + count - 1,
			Weight: 0.5 + (count-1)%7}) {
		t.Fatalf("%d edges, %v", len(edges), err)
	}
	// An edge takes 16 bytes; lines must take nothing beyond the blocks that are read.
	if bytes > 32*count+16*scan.BlockSize {
		t.Errorf("%d bytes for an edge", bytes/count)
	}
}
