package picture

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestTicksAreRoundAndDistinct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float64().Draw(t, "a")
		b := rapid.Float64().Draw(t, "b")
		lo, hi := rangeOf(a, b)
		if !(lo < hi) || !isFinite(hi-lo) {
			t.Fatalf("span is %v..%v", lo, hi)
		}
		lo, hi = widened(lo, hi, 0.05)
		want := rapid.IntRange(2, 12).Draw(t, "want")
		ticks := linearTicks(lo, hi, want, 0)
		if len(ticks) > want+2 || (want >= 5 && len(ticks) < 2) {
			t.Fatalf("%d ticks for %v..%v, wanted about %d", len(ticks), lo, hi, want)
		}
		labels := map[string]bool{}
		for at, tick := range ticks {
			if tick.at < lo-1e-6*(hi-lo) || tick.at > hi+1e-6*(hi-lo) || (at > 0 && tick.at <= ticks[at-1].at) {
				t.Fatalf("tick %v of %v..%v", tick, lo, hi)
			}
			if labels[tick.label] {
				t.Fatalf("two ticks of %v..%v read %q", lo, hi, tick.label)
			}
			labels[tick.label] = true
		}
	})
}

func TestFormatTick(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   []string
	}{
		{0, 1, []string{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}},
		{-4, 4, []string{"-4", "-2", "0", "2", "4"}},
		{0, 5e6, []string{"0", "1e6", "2e6", "3e6", "4e6", "5e6"}},
		{0, 4e-5, []string{"0", "1e-5", "2e-5", "3e-5", "4e-5"}},
		{1234567, 1234569, []string{"1.2345670e6", "1.2345675e6", "1.2345680e6", "1.2345685e6", "1.2345690e6"}},
	} {
		var have []string
		for _, tick := range linearTicks(c.lo, c.hi, 5, 0) {
			have = append(have, tick.label)
		}
		if len(have) != len(c.want) {
			t.Errorf("%v..%v: %q, want %q", c.lo, c.hi, have, c.want)
			continue
		}
		for at := range have {
			if have[at] != c.want[at] {
				t.Errorf("%v..%v: %q, want %q", c.lo, c.hi, have, c.want)
				break
			}
		}
	}
}

func TestFormatValue(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 155.7491: "155.749", -0.5: "-0.5", 1234567.5: "1234568", 1.5e12: "1.5e12",
		3.2e-7: "3.2e-7", 99999.96: "100000", math.Inf(1): "+Inf",
	} {
		if got := formatValue(v); got != want {
			t.Errorf("%v reads %q, want %q", v, got, want)
		}
	}
}
