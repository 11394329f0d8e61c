package jobflags

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/text"
)

// OptionFlag is a pflag.Value for an option of the catalog, or for one that is described like it.
type OptionFlag struct {
	option catalog.Option
	text   string // in the notation of the catalog; "" if not given
	path   string // the file of a start, such as labels:FILE
	last   string // the last number of a range of k
}

// NewChoice returns a flag that takes one of a few words. value is the default.
func NewChoice(value string, words ...string) *OptionFlag {
	return &OptionFlag{option: catalog.Option{Type: catalog.Choice, Values: words}, text: value}
}

// NewNumber returns a flag that takes a number that is at least lowest, or one of a few words. value is the default.
func NewNumber(value string, lowest float64, words ...string) *OptionFlag {
	return &OptionFlag{option: catalog.Option{Type: catalog.Number, Min: lowest, Max: math.MaxFloat64, Values: words}, text: value}
}

// NewWhole returns a flag that takes a whole number within bounds. value is the default.
func NewWhole(value, lowest, highest uint64) *OptionFlag {
	return &OptionFlag{option: catalog.Option{Type: catalog.Whole, Min: float64(lowest), Max: float64(highest)}, text: strconv.FormatUint(value, 10)}
}

// Declare adds the flag to a set, and returns it.
func (f *OptionFlag) Declare(set *pflag.FlagSet, name, usage string) *OptionFlag {
	set.Var(f, name, usage)
	return f
}

// Positive is the lowest value of a flag that takes numbers greater than 0.
const Positive = math.SmallestNonzeroFloat64

// Number returns the number that was given, or 0 for a word.
func (f *OptionFlag) Number() float64 {
	value, _ := strconv.ParseFloat(f.text, 64) // Set has checked it
	return value
}

// Whole returns the whole number that was given.
func (f *OptionFlag) Whole() int { return int(f.Uint64()) }

// Uint64 returns the whole number that was given; a seed may use all 64 bits.
func (f *OptionFlag) Uint64() uint64 {
	value, _ := strconv.ParseUint(f.text, 10, 64) // Set has checked it
	return value
}

// fromFile lists the starts that name a file.
var fromFile = []string{"labels", "centroids"}

// String implements pflag.Value.
func (f *OptionFlag) String() string {
	if f.last != "" {
		return f.text + ".." + f.last
	}
	return f.text
}

// Type implements pflag.Value. It returns the placeholder of the value in help.
func (f *OptionFlag) Type() string {
	switch f.option.Type {
	case catalog.Choice:
		return strings.Join(f.option.Values, "|")
	case catalog.Number:
		return strings.Join(append([]string{"NUMBER"}, f.option.Values...), "|")
	case catalog.Switch:
		return "bool"
	}
	if f.option.Name == "k" {
		return "N|FIRST..LAST"
	}
	return "N"
}

// Set implements pflag.Value.
func (f *OptionFlag) Set(given string) error {
	value, path, found := strings.Cut(given, ":")
	if f.option.Type != catalog.Start {
		value, path = given, ""
	} else if found != slices.Contains(fromFile, value) || found && path == "" {
		return fmt.Errorf("use %s", text.Or(f.Words()))
	}
	option := f.option
	if option.Spectral != nil { // checked again once the algorithm is known
		option.Min = min(option.Min, option.Spectral.Min)
	}
	last := ""
	if option.Name == "k" {
		value, last = cutRange(value)
	}
	parsed, err := option.Parse(value)
	if err == nil && last != "" {
		last, err = option.Parse(last)
	}
	if err != nil {
		return err
	}
	f.text, f.path, f.last = parsed, path, last
	return nil
}

// Words implements shell.Chosen.
func (f *OptionFlag) Words() []string {
	words := slices.Clone(f.option.Values)
	for at, word := range words {
		if f.option.Type == catalog.Start && slices.Contains(fromFile, word) {
			words[at] += ":FILE"
		}
	}
	return words
}

// usage returns the line of help.
func (f *OptionFlag) usage() string {
	help := f.option.About()
	if f.option.Type == catalog.Start || f.option.Name == "algorithm" {
		help += ": " + text.Or(f.Words())
	}
	if f.option.Default != "" {
		help += " (default " + f.option.Default + ")"
	}
	return help
}
