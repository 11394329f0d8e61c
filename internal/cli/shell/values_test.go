package shell

import (
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "1h30m": 90 * time.Minute, "30d": 30 * 24 * time.Hour, "0.5d": 12 * time.Hour,
		" 2d ": 48 * time.Hour,
	} {
		var d Duration
		if err := d.Set(text); err != nil || time.Duration(d) != want {
			t.Errorf("%q is %v, %v", text, time.Duration(d), err)
		}
		var again Duration
		if err := again.Set(d.String()); err != nil || again != d {
			t.Errorf("%q is shown as %q", text, d.String())
		}
	}
	for _, text := range []string{"", "30", "d", "-1h", "0s", "0d", "1e30d", "NaNd", "3 weeks"} {
		if err := new(Duration).Set(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
