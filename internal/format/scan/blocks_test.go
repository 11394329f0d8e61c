package scan

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// Blocks come in the order of the text with all of its lines and their numbers, whatever their size; so do the results
// and the errors of parsing them.
func TestBlocksAreTheText(t *testing.T) {
	odd := errors.New("a line x")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([abx]{0,9}\n){0,30}[abx]{0,3}`).Draw(t, "text")
		l := linesOf(t, text, ',', rapid.IntRange(1, 40).Draw(t, "size"))
		p := NewBlockParser(&BlockReader{Source: l.Source, NextLine: 1}, func(b Block) (string, error) {
			if strings.Contains(string(b.Text), "x") {
				return "", odd
			}
			return string(b.Text), nil
		})
		var joined strings.Builder
		for blocks, err := p.Next(); len(blocks) > 0; blocks, err = p.Next() {
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range blocks {
				lines := strings.Count(joined.String(), "\n")
				joined.Write(b.Text)
				if b.FirstLine != 1+lines || b.Lines != strings.Count(string(b.Text), "\n") ||
					!strings.HasSuffix(string(b.Text), "\n") {
					t.Fatalf("a block from line %d with %d lines: %q", b.FirstLine, b.Lines, b.Text)
				}
				if isOdd := strings.Contains(string(b.Text), "x"); isOdd != errors.Is(b.Err, odd) ||
					!isOdd && b.Parsed != string(b.Text) {
					t.Fatalf("%q is parsed as %q, %v", b.Text, b.Parsed, b.Err)
				}
			}
		}
		want := text
		if text != "" && !strings.HasSuffix(text, "\n") {
			want += "\n"
		}
		if err := p.End(l); err != nil || joined.String() != want {
			t.Fatalf("%q instead of %q, %v", joined.String(), want, err)
		}
	})
}

// What was read before an error is parsed, and End returns the error.
func TestBlocksBeforeAnError(t *testing.T) {
	want := slices.Repeat([]string{"1\n"}, 1000)
	s, err := Open(io.MultiReader(strings.NewReader(strings.Join(want, "")+"2"),
		iotest.ErrReader(errors.New("the disk is gone"))), "f.csv", Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.BlockSize = 2
	l := NewLines(s, ',')
	p := NewBlockParser(&BlockReader{Source: s, NextLine: 1}, func(b Block) (string, error) {
		return string(b.Text), nil
	})
	var got []string
	for blocks, err := p.Next(); len(blocks) > 0; blocks, err = p.Next() {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			got = append(got, b.Parsed)
		}
	}
	if err := p.End(l); !slices.Equal(got, want) || err == nil || err.Error() != "f.csv: the disk is gone" {
		t.Errorf("%d blocks, %v", len(got), err)
	}
}
