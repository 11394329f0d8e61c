package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/array"
	"github.com/cleave-project/cleave/internal/format/graph"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// readEdgesPlainly reads a list of edges line by line, without blocks, threads or a short way for usual lines.
func readEdgesPlainly(l *scan.Lines, vertices int) (edges []dataset.Edge, err error) {
	columns := graph.EdgeColumns{Source: 0, Target: 1, Weight: 2, Width: 3}
	first := true
	err = l.EachRow(func(cells [][]byte) (err error) {
		if first {
			first = false
			switch scan.KindOfRow(cells) {
			case scan.RowOfNames:
				columns, _, err = graph.NameEdgeColumns(l, cells)
				return err
			case scan.RowOfNumbersAndNames:
				return l.Invalid("AMBIGUOUS_HEADER", "the first line has both numbers and names; make it a header (src,dst,weight) or an edge")
			}
		}
		edge, err := graph.ParseEdge(l, cells, columns, graph.Numbered(vertices))
		edges = append(edges, edge)
		return err
	})
	return edges, err
}

// readEntriesPlainly does the same for the entries of a Matrix Market file.
func readEntriesPlainly(m *array.MatrixMarket) (entries []dataset.Edge, err error) {
	err = m.EachRow(func(cells [][]byte) (err error) {
		if int64(len(entries)) == m.Entries {
			return m.Invalid("TRAILING_DATA", "the header claims %d entries, but the file has more", m.Entries)
		}
		entry, err := m.ParseEntry(m.Lines, cells)
		entries = append(entries, entry)
		return err
	})
	if err == nil && int64(len(entries)) < m.Entries {
		err = m.Source.Invalid("TRUNCATED_FILE", "the header claims %d entries, but the file ends after %d", m.Entries, len(entries))
	}
	return entries, err
}

// compareEdges reads a text in both ways, in blocks of some size, and demands the same edges, to the last bit, or the
// same fault.
func compareEdges(t *testing.T, text []byte, name string, vertices, size int) {
	t.Helper()
	open := func() *scan.Lines {
		s, err := scan.Open(bytes.NewReader(text), name, scan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.BlockSize = size
		l := scan.NewLines(s, map[string]byte{".csv": ',', ".tsv": '\t'}[s.Suffix])
		if l.AllowBlankLines = true; l.Separator == scan.AnyWhiteSpace {
			l.Comments = "#%"
		}
		return l
	}
	want, wantErr := readEdgesPlainly(open(), vertices)
	lists, err := graph.ReadEdges(open(), vertices)
	mustAgree(t, fmt.Sprintf("%s in blocks of %d: %q", name, size, text), lists, err, want, wantErr)
}

// compareEntries is compareEdges for Matrix Market.
func compareEntries(t *testing.T, text []byte, size int) {
	t.Helper()
	open := func() *array.MatrixMarket {
		s, err := scan.Open(bytes.NewReader(text), "f.mtx", scan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.BlockSize = size
		m, err := array.OpenMatrixMarket(s)
		if err != nil || !m.Coordinate {
			return nil
		}
		return m
	}
	m := open()
	if m == nil {
		return
	}
	want, wantErr := readEntriesPlainly(m)
	lists, err := open().Coordinates()
	mustAgree(t, fmt.Sprintf("blocks of %d: %q", size, text), lists, err, want, wantErr)
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
	randomVertices = []string{"0", "1", "2", "3", "17", "250", "007", "4", "5", "6", "0", "1", "3.0", "1e2", "+4", " 5", "6 ", "\"7\""}
	badVertices    = []string{"", "-1", "x", "2147483647", "2147483646", "99999999999999999999", "1.5", "0x10", "nan", "1_0", "\"", "\u00a01"}
	randomWeights  = []string{"1", "2", "0.5", ".25", "5.", "-3", "-0", "0", "1e-3", "123456789.123456789", "9007199254740993", "0.1", "0.3", "1.7976931348623157e308",
		"3.141592653589793", "0.000000000000000001", "1234567890123456789", "00001.50", "+2", " 7", "\"8\"", "", "0x1p-2", "4.9e-324", "999999999999999999", "0.30000000000000004"}
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
	header := []string{"", "", "src,dst,weight", "src,dst", "from,to,weight", "a,b,c", "a,b", "weight,dst,src", "src,dst,note", "note,src,dst,weight"}[rng.IntN(10)]
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

func TestEntriesAreReadAsLineByLine(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		var b strings.Builder
		kind := []string{"real", "integer", "pattern"}[rng.IntN(3)]
		lines := rng.IntN(12)
		fmt.Fprintf(&b, "%%%%MatrixMarket matrix coordinate %s general\n%% c\n9 8 %d\n", kind, max(0, lines+[]int{0, 0, 0, 0, -1, 1}[rng.IntN(6)]))
		for range lines {
			fmt.Fprintf(&b, "%d %d", 1+rng.IntN(9), 1+rng.IntN(8))
			if kind != "pattern" {
				b.WriteString(" " + randomWeights[rng.IntN(len(randomWeights)-6)])
			}
			if rng.IntN(40) == 0 {
				b.WriteString([]string{" 1", " x", "\r", "\n\n", "\n% c", "\n0 1 1", "\n10 1"}[rng.IntN(7)])
			}
			b.WriteByte('\n')
		}
		compareEntries(t, []byte(b.String()), 1+rng.IntN(60))
	}
}

// What is wrong with the bytes of a file is told after what is wrong with the lines before, and long lines are refused.
func TestFilesThatBreakOff(t *testing.T) {
	broken := func(text string) error {
		_, err := ReadGraph(io.MultiReader(strings.NewReader(text), iotest.ErrReader(errors.New("the disk is gone"))), "f.csv", 0)
		return err
	}
	if err := broken("0,1\n2,3\n4,"); err == nil || err.Error() != "f.csv: the disk is gone" {
		t.Errorf("told %v", err)
	}
	wantFault(t, "a mistake before the end", broken("0,1\n2,x\n4,"), "NOT_AN_INDEX", "line 2")
	zipped := gzipped(strings.Repeat("0,1\n", 1<<20))
	_, err := ReadGraph(strings.NewReader(zipped[:len(zipped)-12]), "f.csv.gz", 0)
	wantFault(t, "cut short", err, "CORRUPT_FILE", "f.csv.gz")
	_, err = ReadGraph(io.MultiReader(strings.NewReader("0,1\n0,2\n"), strings.NewReader(strings.Repeat("1", scan.MaxLine+2*scan.BlockSize))), "f.csv", 0)
	wantFault(t, "a long line", err, "LINE_TOO_LONG", "line 3")
}

// A file of many blocks, with a mistake in one of the last, names its line.
func TestLineNumbersOfManyBlocks(t *testing.T) {
	var b strings.Builder
	const count = 300_000
	for i := range count {
		fmt.Fprintf(&b, "%d,%d\n", i%1000, i%777)
	}
	graph, err := ReadGraph(strings.NewReader(b.String()), "f.csv", 0)
	if err != nil || graph.N != 1000 {
		t.Fatalf("%v", err)
	}
	_, err = ReadGraph(strings.NewReader(b.String()+"1,one\n"+b.String()+"x\n"), "f.csv", 0)
	wantFault(t, "a mistake in the middle", err, "NOT_AN_INDEX", fmt.Sprintf("f.csv, line %d:", count+1), `"one"`)
}
