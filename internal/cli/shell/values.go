package shell

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
)

// Value is a pflag.Value that is described as an option of the catalog is: a number, or one of a few words.
type Value struct {
	Option catalog.Option
	Text   string // in the notation of the catalog; the default if the flag is not given
}

// NewChoice returns a flag that takes one of a few words. value is the default.
func NewChoice(value string, words ...string) *Value {
	return &Value{catalog.Option{Type: catalog.Choice, Values: words}, value}
}

// NewNumber returns a flag that takes a number that is at least lowest, or one of a few words. value is the default.
func NewNumber(value string, lowest float64, words ...string) *Value {
	return &Value{catalog.Option{Type: catalog.Number, Min: lowest, Max: math.MaxFloat64, Values: words}, value}
}

// NewWhole returns a flag that takes a whole number from lowest to highest, both inclusive. The default, value, may lie
// outside.
func NewWhole(value, lowest, highest uint64) *Value {
	return &Value{catalog.Option{Type: catalog.Whole, Min: float64(lowest), Max: float64(highest)},
		strconv.FormatUint(value, 10)}
}

// Declare adds the flag to a set, and returns it.
func (v *Value) Declare(set *pflag.FlagSet, name, usage string) *Value {
	set.Var(v, name, usage)
	return v
}

// Positive is the lowest value of a flag that takes numbers greater than 0.
const Positive = math.SmallestNonzeroFloat64

// Number returns the number that was given, or 0 for a word.
func (v *Value) Number() float64 {
	value, _ := strconv.ParseFloat(v.Text, 64) // Set has checked it
	return value
}

// Whole returns the whole number that was given.
func (v *Value) Whole() int { return int(v.Uint64()) }

// Uint64 returns the whole number that was given; a seed may use all 64 bits.
func (v *Value) Uint64() uint64 {
	value, _ := strconv.ParseUint(v.Text, 10, 64) // Set has checked it
	return value
}

// String implements pflag.Value.
func (v *Value) String() string { return v.Text }

// Type implements pflag.Value. It returns the placeholder of the value in help.
func (v *Value) Type() string {
	switch v.Option.Type {
	case catalog.Choice:
		return strings.Join(v.Option.Values, "|")
	case catalog.Number:
		return strings.Join(append([]string{"NUMBER"}, v.Option.Values...), "|")
	case catalog.Range:
		return "N|FIRST..LAST"
	case catalog.Switch:
		return "bool"
	}
	return "N"
}

// Set implements pflag.Value.
func (v *Value) Set(given string) error {
	parsed, err := v.Option.Parse(given)
	if err == nil {
		v.Text = parsed
	}
	return err
}

// Words implements Chosen.
func (v *Value) Words() []string { return slices.Clone(v.Option.Values) }

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
	number := strings.ToLower(strings.TrimSpace(text))
	unit := 1.0
	for _, u := range units {
		if rest, found := strings.CutSuffix(number, u.suffix); found {
			number = strings.TrimSpace(rest)
			unit = u.bytes
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
