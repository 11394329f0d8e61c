package report

import (
	"testing"
	"time"
)

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                            "a second or less",
		1400 * time.Millisecond:      "1s",
		64 * time.Second:             "1m0s",
		25*time.Minute + 31e9:        "26 minutes",
		49*time.Hour + 40*60*1e9:     "50 hours",
		999999 * time.Hour:           "999999 hours",
		9*time.Hour + 59*time.Minute: "599 minutes",
	} {
		if got := roughly(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
