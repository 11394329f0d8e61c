package text

import (
	"strings"
	"testing"
)

func TestSeconds(t *testing.T) {
	for seconds, want := range map[float64]string{0.0001: "< 1 ms", 0.25: "250 ms", 1.234: "1.23 s", 2: "2 s",
		90: "90 s", 600: "10 min", 9000: "2 h 30 min"} {
		if got := Seconds(seconds); got != want {
			t.Errorf("%v: got %q", seconds, got)
		}
	}
}

func TestTextForPeople(t *testing.T) {
	for bytes, want := range map[uint64]string{
		0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 1023693: "1000 KiB", 1_048_063: "1023 KiB", 1_048_166: "1 MiB",
		1<<30 - 1: "1 GiB", 3 << 30: "3 GiB", 5 << 50: "5120 TiB",
	} {
		if got := Bytes(bytes); got != want {
			t.Errorf("%d bytes are %q, want %q", bytes, got, want)
		}
	}
	for share, want := range map[float64]string{0: "0%", 0.00123: "0.12%", 0.0999: "10%", 0.5: "50%", 0.996: "100%",
		12.34: "1234%"} {
		if got := Percent(share); got != want {
			t.Errorf("%v is %q, want %q", share, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 rows", 1: "1 row", 2: "2 rows"} {
		if got := Plural(n, "row"); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	for seconds, want := range map[float64]string{
		0: "a second or less", 1.4: "1s", 34: "30s", 58: "1m0s", 64: "1m0s", 595: "10m0s", 25*60 + 31: "26 minutes",
		119 * 60: "119 minutes", 35000: "9.7 hours",
		49*3600 + 40*60: "50 hours", 999999 * 3600: "999999 hours",
	} {
		if got := Roughly(seconds); got != want {
			t.Errorf("%v seconds are %q, want %q", seconds, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"one two three", 7, "one two|three"},
		{"one two three", 13, "one two three"},
		{"muchtoolong x", 4, "muchtoolong|x"},
		{"größer ist", 6, "größer|ist"},
		{"", 5, ""},
	} {
		if got := strings.Join(Wrap(c.text, c.width), "|"); got != c.want {
			t.Errorf("Wrap(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestSimilar(t *testing.T) {
	names := []string{"run", "result", "rerun", "report", "constraints"}
	for mistaken, want := range map[string]string{
		"rnu": "run", "resutl": "result", "constrains": "constraints", "const": "constraints", "re": "",
		"frobnicate": "", "": "",
	} {
		if got := Similar(mistaken, names); got != want {
			t.Errorf("Similar(%q) = %q, want %q", mistaken, got, want)
		}
	}
	// Only the beginnings are compared: these texts would take hours.
	long := strings.Repeat("x", 1<<20)
	if got := Similar(long+"y", []string{long}); got != long {
		t.Errorf("got %d bytes", len(got))
	}
}

// Values without a name, which a newer peer or a damaged record may have, have an empty one.
func TestName(t *testing.T) {
	for value, want := range map[int]string{-1: "", 0: "none", 1: "some", 2: ""} {
		if got := Name(value, "none", "some"); got != want {
			t.Errorf("%d is called %q, want %q", value, got, want)
		}
	}
}
