package csv

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/format/scan"
)

// The readings that are known at a glance are those that would be found by trying.
func TestReadingsAtAGlance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := []byte(rapid.StringMatching(`-?[0-9]{0,7}([.,' ][0-9]{0,4}){0,2}( ?%)?`).Draw(t, "cell"))
		tried := reading(0)
		for r := asPoint; r <= asApostrophes; r <<= 1 {
			if _, ok := r.parse(cell); ok {
				tried |= r
			}
		}
		if got := readingsOf(cell) &^ asInteger; got != tried {
			t.Fatalf("%q: got %b, want %b", cell, got, tried)
		}
		if _, _, ok := integerCell(cell); ok && tried != allReadings&^asInteger {
			t.Fatalf("%q is not read alike by all: %b", cell, tried)
		}
	})
}

// What groups do not change is read as without them, to the same bits.
func TestGroupsOfDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole, decimals := rapid.StringMatching(`-?[1-9][0-9]{0,8}`).Draw(t, "whole"), rapid.StringMatching(`[0-9]{0,6}`).Draw(t, "decimals")
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
