package shell

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a flag value: a positive time such as 30s, 10m, 12h, or 30d for days. It is 0 if the flag is not given.
type Duration time.Duration

const day = 24 * time.Hour

// maxDays is below the number of days that a time.Duration can hold.
const maxDays = 100_000

// String implements pflag.Value.
func (d *Duration) String() string {
	switch t := time.Duration(*d); {
	case t == 0:
		return ""
	case t%day == 0:
		return strconv.FormatInt(int64(t/day), 10) + "d"
	default:
		return t.String()
	}
}

// Set implements pflag.Value. Days cannot be combined with other units.
func (d *Duration) Set(text string) error {
	text = strings.TrimSpace(text)
	if days, found := strings.CutSuffix(text, "d"); found {
		if number, err := strconv.ParseFloat(days, 64); err == nil && number > 0 && number <= maxDays {
			*d = Duration(number * float64(day))
			return nil
		}
	} else if duration, err := time.ParseDuration(text); err == nil && duration > 0 {
		*d = Duration(duration)
		return nil
	}
	return Usage("%q is not a time; write for example 30s, 10m, 12h or 30d", text)
}

// Type implements pflag.Value.
func (d *Duration) Type() string { return "TIME" }

// Size is a flag value: a positive number of bytes such as 4GiB, 512MiB, 2GB or 1048576. It is 0 if the flag is not
// given.
type Size int64

// units lists longer suffixes before the shorter ones that they end with.
var units = []struct {
	suffix string
	bytes  float64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12},
	{"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"t", 1 << 40},
	{"b", 1},
}

// String implements pflag.Value.
func (s *Size) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*s), 10)
}

// Set implements pflag.Value.
func (s *Size) Set(text string) error {
	number, unit := strings.ToLower(strings.TrimSpace(text)), 1.0
	for _, u := range units {
		if rest, found := strings.CutSuffix(number, u.suffix); found {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	value, err := strconv.ParseFloat(number, 64)
	if bytes := value * unit; err == nil && bytes >= 1 && bytes < math.MaxInt64 {
		*s = Size(bytes)
		return nil
	}
	return Usage("%q is not a size in bytes; write for example 4GiB, 512MiB or 2GB", text)
}

// Type implements pflag.Value.
func (s *Size) Type() string { return "SIZE" }
