package csv

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// The readings that are known at a glance are those that would be found by trying.
func TestReadingsAtAGlance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := []byte(rapid.StringMatching(`-?[0-9]{0,7}([.,' ][0-9]{0,4}){0,2}( ?%)?`).Draw(t, "cell"))
		tried := evidence(0)
		for r := asPoint; r <= asApostrophes; r++ {
			if _, ok := r.parse(cell); ok {
				tried |= r.bit()
			}
		}
		if got := readingsOf(cell) &^ asInteger.bit(); got != tried {
			t.Fatalf("%q: got %b, want %b", cell, got, tried)
		}
		if _, _, ok := integerCell(cell); ok && tried != isText&^asInteger.bit() {
			t.Fatalf("%q is not read alike by all: %b", cell, tried)
		}
	})
}

// A cell that is evidence for a number is parsed as one by the kind that follows from it, and a word is not.
// Otherwise the rows would be read again without learning anything.
func TestEvidenceIsParsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := bytes.TrimSpace(
			[]byte(
				rapid.StringMatching(`[<~]?[(]?[-\x{2212}]?[$%]?[(]?-?[0-9]{0,4}([.,' ][0-9]{0,3}){0,2}[)]? `+
					`?(%|€|EUR|kg|h|days|\*)?[)*]?`).Draw(t, "cell"))) // the dialect trims cells
		unit := rapid.SampledFrom([]string{"", unitOf(cell), "kg"}).Draw(t, "unit")
		c := sniffedColumn{seen: classify(cell, unit), unit: unit}
		if c.seen == 0 {
			return // missing
		}
		k := c.kind(dialect{';'}, "")
		if k.Type == table.Text {
			return // by the rules of columns, or a word
		}
		if _, ok := k.parse(cell); !ok && k.Type == table.Number {
			t.Fatalf("%q is evidence %b, but no number of kind %+v", cell, c.seen, k)
		}
		if _, ok := k.parse([]byte("x7x")); ok {
			t.Fatalf("a word is a number of kind %+v", k)
		}
	})
}

// What groups do not change is read as without them, to the same bits.
func TestGroupsOfDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.StringMatching(`-?[1-9][0-9]{0,8}`).Draw(t, "whole")
		decimals := rapid.StringMatching(`[0-9]{0,6}`).Draw(t, "decimals")
		sign, digits := "", whole
		if whole[0] == '-' {
			sign, digits = "-", whole[1:]
		}
		grouped := ""
		for at := range digits {
			if at > 0 && (len(digits)-at)%3 == 0 {
				grouped += ","
			}
			grouped += digits[at : at+1]
		}
		plain, ok := scan.ParseFloat([]byte(whole + "." + decimals))
		if got, read := parseGrouped([]byte(sign+grouped+"."+decimals), ',', '.'); !ok || !read || got != plain {
			t.Fatalf("%s%s.%s is read as %v, %v", sign, grouped, decimals, got, read)
		}
	})
}
