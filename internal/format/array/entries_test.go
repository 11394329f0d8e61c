package array

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// readEntriesPlainly reads the entries of a Matrix Market file line by line, without blocks, threads or a short way for
// usual lines.
func readEntriesPlainly(m *MatrixMarket) (entries []dataset.Edge, err error) {
	err = m.EachRow(func(cells [][]byte) (err error) {
		if int64(len(entries)) == m.Entries {
			return m.Invalid("TRAILING_DATA", "the header claims %d entries, but the file has more", m.Entries)
		}
		entry, err := m.ParseEntry(m.Lines, cells)
		entries = append(entries, entry)
		return err
	})
	if err == nil && int64(len(entries)) < m.Entries {
		err = m.Source.Invalid("TRUNCATED_FILE", "the header claims %d entries, but the file ends after %d", m.Entries,
			len(entries))
	}
	return entries, err
}

// compareEntries reads a text in both ways, in blocks of some size, and demands the same entries, to the last bit, or
// the same fault.
func compareEntries(t *testing.T, text []byte, size int) {
	t.Helper()
	open := func() *MatrixMarket {
		s, err := scan.Open(bytes.NewReader(text), "f.mtx", scan.Options{})
		if err != nil { // it is of another format
			return nil
		}
		s.BlockSize = size
		m, err := OpenMatrixMarket(s)
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
	same := slices.EqualFunc(slices.Collect(dataset.EachEdge(lists)), want, func(a, b dataset.Edge) bool {
		return a.Source == b.Source && a.Target == b.Target && math.Float64bits(a.Weight) == math.Float64bits(b.Weight)
	})
	if !reflect.DeepEqual(err, wantErr) || err == nil && !same {
		t.Fatalf("blocks of %d: %q: %v and %v, want %v and %v", size, text, lists, err, want, wantErr)
	}
}

func TestEntriesAreReadAsLineByLine(t *testing.T) {
	weights := []string{"1", "2", "0.5", ".25", "5.", "-3", "-0", "0", "1e-3", "123456789.123456789",
		"9007199254740993", "0.1", "0.3", "1.7976931348623157e308",
		"3.141592653589793", "0.000000000000000001", "1234567890123456789", "00001.50", "+2", " 7"}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		var b strings.Builder
		kind := []string{"real", "integer", "pattern"}[rng.IntN(3)]
		lines := rng.IntN(12)
		fmt.Fprintf(&b, "%%%%MatrixMarket matrix coordinate %s general\n%% c\n9 8 %d\n", kind,
			max(0, lines+[]int{0, 0, 0, 0, -1, 1}[rng.IntN(6)]))
		for range lines {
			fmt.Fprintf(&b, "%d %d", 1+rng.IntN(9), 1+rng.IntN(8))
			if kind != "pattern" {
				b.WriteString(" " + weights[rng.IntN(len(weights))])
			}
			if rng.IntN(40) == 0 {
				b.WriteString([]string{" 1", " x", "\r", "\n\n", "\n% c", "\n0 1 1", "\n10 1"}[rng.IntN(7)])
			}
			b.WriteByte('\n')
		}
		compareEntries(t, []byte(b.String()), 1+rng.IntN(60))
	}
}

func FuzzEntriesAreReadAsLineByLine(f *testing.F) {
	for _, seed := range []string{
		"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 5\n2 1 5\n",
		"%%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 1\n2 1\n",
		"%%MatrixMarket matrix coordinate real general\n2000000 2000000 1\n1 2 5\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) { compareEntries(t, input, 1+len(input)/3) })
}
