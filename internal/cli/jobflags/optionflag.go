package jobflags

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
)

// OptionFlag is the flag of an option of the catalog, or of one that is described in the same way.
type OptionFlag struct {
	option catalog.Option
	text   string // as the catalog writes it; "": not given
	path   string // of a start from a file: labels:FILE, centroids:FILE
	last   string // of a range of k: its last number
}

// NewChoice is a flag that takes one of a few words.
func NewChoice(value string, words ...string) *OptionFlag {
	return &OptionFlag{option: catalog.Option{Type: catalog.Choice, Values: words}, text: value}
}

// NewNumber is a flag that takes a number from a lowest one on, or one of a few words.
func NewNumber(value string, lowest float64, words ...string) *OptionFlag {
	return &OptionFlag{option: catalog.Option{Type: catalog.Number, Min: lowest, Max: math.MaxFloat64, Values: words}, text: value}
}

// NewWhole is a flag that takes a whole number within bounds.
func NewWhole(value, lowest, highest uint64) *OptionFlag {
	return &OptionFlag{option: catalog.Option{Type: catalog.Whole, Min: float64(lowest), Max: float64(highest)}, text: strconv.FormatUint(value, 10)}
}

// Positive is the lowest number of a flag that takes only those greater than 0.
const Positive = math.SmallestNonzeroFloat64

// Number is the number that was given, 0 for a word.
func (f *OptionFlag) Number() float64 {
	value, _ := strconv.ParseFloat(f.text, 64) // Set has checked it
	return value
}

// Whole is the whole number that was given.
func (f *OptionFlag) Whole() int { return int(f.Uint64()) }

// Uint64 is the whole number that was given, such as a seed, which may have all 64 bits.
func (f *OptionFlag) Uint64() uint64 {
	value, _ := strconv.ParseUint(f.text, 10, 64) // Set has checked it
	return value
}

// fromFile are the starts that name a file.
var fromFile = []string{"labels", "centroids"}

// String implements pflag.Value.
func (f *OptionFlag) String() string {
	if f.last != "" {
		return f.text + ".." + f.last
	}
	return f.text
}

// Type implements pflag.Value: what stands for the value in help.
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
func (f *OptionFlag) Set(text string) error {
	value, path, found := strings.Cut(text, ":")
	if f.option.Type != catalog.Start {
		value, path = text, ""
	} else if found != slices.Contains(fromFile, value) || found && path == "" {
		return fmt.Errorf("use %s", catalog.Or(f.Words()))
	}
	option := f.option
	if option.Spectral != nil { // the algorithm, which is not known yet, has the last word
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

// Words are the values of a choice as they are typed.
func (f *OptionFlag) Words() []string {
	words := slices.Clone(f.option.Values)
	for at, word := range words {
		if f.option.Type == catalog.Start && slices.Contains(fromFile, word) {
			words[at] += ":FILE"
		}
	}
	return words
}

// usage is the line of help.
func (f *OptionFlag) usage() string {
	text := f.option.Help
	if f.option.Type == catalog.Start || f.option.Name == "algorithm" {
		text += ": " + catalog.Or(f.Words())
	}
	if f.option.Default != "" {
		text += " (default " + f.option.Default + ")"
	}
	return text
}
