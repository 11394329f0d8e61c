package text

import "testing"

func TestTextForPeople(t *testing.T) {
	for bytes, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 3 << 30: "3 GiB", 5 << 50: "5120 TiB"} {
		if got := Bytes(bytes); got != want {
			t.Errorf("%d bytes are %q, want %q", bytes, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 rows", 1: "1 row", 2: "2 rows"} {
		if got := Plural(n, "row"); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	for seconds, want := range map[float64]string{
		0: "a second or less", 1.4: "1s", 34: "30s", 58: "1m0s", 64: "1m0s", 595: "10m0s", 25*60 + 31: "26 minutes", 9*3600 + 59*60: "599 minutes",
		49*3600 + 40*60: "50 hours", 999999 * 3600: "999999 hours",
	} {
		if got := Roughly(seconds); got != want {
			t.Errorf("%v seconds are %q, want %q", seconds, got, want)
		}
	}
}
