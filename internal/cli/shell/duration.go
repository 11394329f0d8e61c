package shell

import (
	"strconv"
	"strings"
	"time"
)

// Duration is a flag value: a positive time such as 30s, 10m, 12h, or 30d for days; 0 if it is not given.
type Duration time.Duration

const day = 24 * time.Hour

// maxDays keeps a number of days within what a Duration can hold.
const maxDays = 100_000

// ParseDuration reads a time. Days stand alone: 30d, not 30d12h.
func ParseDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if days, found := strings.CutSuffix(text, "d"); found {
		if number, err := strconv.ParseFloat(days, 64); err == nil && number > 0 && number <= maxDays {
			return time.Duration(number * float64(day)), nil
		}
	} else if duration, err := time.ParseDuration(text); err == nil && duration > 0 {
		return duration, nil
	}
	return 0, Usage("%q is no time; write for example 30s, 10m, 12h or 30d", text)
}

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

// Set implements pflag.Value.
func (d *Duration) Set(text string) error {
	value, err := ParseDuration(text)
	*d = Duration(value)
	return err
}

// Type implements pflag.Value.
func (d *Duration) Type() string { return "TIME" }
