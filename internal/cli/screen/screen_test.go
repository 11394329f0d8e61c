package screen

import (
	"strings"
	"testing"
)

func TestFolded(t *testing.T) {
	const content = "way      neighbors, cuts\nbecause  it agrees with held-out ones\n         and more\nshort\n"
	for width, want := range map[int]string{
		0:  content,
		40: content,
		26: "way      neighbors, cuts\nbecause  it agrees with\n         held-out ones\n         and more\nshort\n",
	} {
		var out strings.Builder
		w := Folded(&out, width)
		for _, letter := range []byte(content) { // as a table comes, in pieces
			if n, err := w.Write([]byte{letter}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		if out.String() != want {
			t.Errorf("in %d columns:\n%s", width, out.String())
		}
	}
}

func TestHanging(t *testing.T) {
	const message = "cleave: column \"x\" is left out"
	for width, want := range map[int]string{0: message, 31: message, 20: "cleave: column \"x\"\n  is left out"} {
		if got := Hanging(message, width); got != want {
			t.Errorf("in %d columns: %q", width, got)
		}
	}
}
