package shell

import (
	"math"
	"slices"
	"strconv"
	"strings"

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
	return &Value{catalog.Option{Type: catalog.Whole, Min: float64(lowest), Max: float64(highest)}, strconv.FormatUint(value, 10)}
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
