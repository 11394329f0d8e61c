package jobflags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/text"
)

// OptionFlag is a pflag.Value for an option of the catalog. Its text is "" if the flag is not given.
type OptionFlag struct {
	shell.Value
	path string // the file of a start, such as labels:FILE
	last string // the last number of a range of k
}

// fromFile lists the starts that name a file.
var fromFile = []string{"labels", "centroids"}

// String implements pflag.Value.
func (f *OptionFlag) String() string {
	if f.last != "" {
		return f.Text + ".." + f.last
	}
	return f.Text
}

// Type implements pflag.Value.
func (f *OptionFlag) Type() string {
	if f.Option.Name == "k" {
		return "N|FIRST..LAST"
	}
	return f.Value.Type()
}

// Set implements pflag.Value.
func (f *OptionFlag) Set(given string) error {
	value, path, found := strings.Cut(given, ":")
	if f.Option.Type != catalog.Start {
		value, path = given, ""
	} else if found != slices.Contains(fromFile, value) || found && path == "" {
		return fmt.Errorf("use %s", text.Or(f.Words()))
	}
	option := f.Option
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
	f.Text, f.path, f.last = parsed, path, last
	return nil
}

// Words implements shell.Chosen.
func (f *OptionFlag) Words() []string {
	words := f.Value.Words()
	for at, word := range words {
		if f.Option.Type == catalog.Start && slices.Contains(fromFile, word) {
			words[at] += ":FILE"
		}
	}
	return words
}

// usage returns the line of help.
func (f *OptionFlag) usage() string {
	help := f.Option.About()
	if f.Option.Type == catalog.Start || f.Option.Name == "algorithm" {
		help += ": " + text.Or(f.Words())
	}
	if f.Option.Default != "" {
		help += " (default " + f.Option.Default + ")"
	}
	return help
}
