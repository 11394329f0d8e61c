package scan

import (
	stdcsv "encoding/csv"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// linesOf returns the lines of a text, which is read in blocks of a size.
func linesOf(t rapid.TB, text string, separator byte, size int) *Lines {
	s, err := Open(strings.NewReader(text), "f.csv", Options{AnyFormat: true})
	if err != nil {
		t.Fatal(err)
	}
	s.BlockSize = size
	return NewLines(s, separator)
}

// Split finds the cells that encoding/csv has written.
func TestSplitFindsTheCellsOfALine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		separator := rapid.SampledFrom([]byte(",\t;")).Draw(t, "separator")
		cells := rapid.SliceOfN(rapid.StringMatching(`[ab" ,;\t]{0,6}`), 1, 6).Draw(t, "cells")
		var line strings.Builder
		w := stdcsv.NewWriter(&line)
		w.Comma = rune(separator)
		if err := w.Write(cells); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		got, err := linesOf(t, "", separator, BlockSize).Split([]byte(strings.TrimSuffix(line.String(), "\n")))
		same := slices.EqualFunc(got, cells, func(a []byte, b string) bool { return string(a) == strings.TrimSpace(b) })
		if err != nil || !same {
			t.Fatalf("%q has the cells %q, %v, want %q", line.String(), got, err, cells)
		}
	})
}

func TestSplitAtWhiteSpace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`[ab"\t, \r]{0,12}`).Draw(t, "line")
		got, err := linesOf(t, "", AnyWhiteSpace, BlockSize).Split([]byte(line))
		want := strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(" \t,\r", c) })
		if err != nil || !slices.EqualFunc(got, want, func(a []byte, b string) bool { return string(a) == b }) {
			t.Fatalf("%q has the cells %q, %v, want %q", line, got, err, want)
		}
	})
}

// Unquote is the inverse of quoting, wherever the cell is.
func TestUnquote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.StringMatching(`[a",\n]{0,8}`).Draw(t, "content")
		before := rapid.SampledFrom([]string{"", "a,", `"",`}).Draw(t, "before")
		after := rapid.SampledFrom([]string{"", ",b", "\n", `,""`}).Draw(t, "after")
		quoted := `"` + strings.ReplaceAll(content, `"`, `""`) + `"`
		text := []byte(before + quoted + after)
		if got, end := Unquote(text, len(before)); string(got) != content || end != len(before+quoted) ||
			string(text) != before+quoted+after {
			t.Fatalf("%q at %d is %q up to %d", text, len(before), got, end)
		}
		if open := quoted[:len(quoted)-1]; !strings.HasSuffix(open[1:], `"`) {
			if _, end := Unquote([]byte(open), 0); end >= 0 {
				t.Fatalf("%q ends at %d", open, end)
			}
		}
	})
}
