package jobflags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/catalog"
)

// optionFlag is the flag of an option of the catalog.
type optionFlag struct {
	option catalog.Option
	text   string // as the catalog writes it; "": not given
	path   string // of a start from a file: labels:FILE, centroids:FILE
}

// fromFile are the starts that name a file.
var fromFile = []string{"labels", "centroids"}

// String implements pflag.Value.
func (f *optionFlag) String() string { return f.text }

// Type implements pflag.Value: what stands for the value in help.
func (f *optionFlag) Type() string {
	switch f.option.Type {
	case catalog.Choice:
		return strings.Join(f.option.Values, "|")
	case catalog.Number:
		return strings.Join(append([]string{"NUMBER"}, f.option.Values...), "|")
	case catalog.Switch:
		return "bool"
	}
	return "N"
}

// Set implements pflag.Value.
func (f *optionFlag) Set(text string) error {
	value, path, found := strings.Cut(text, ":")
	if f.option.Type != catalog.Start {
		value, path = text, ""
	} else if found != slices.Contains(fromFile, value) || found && path == "" {
		return fmt.Errorf("use %s", catalog.Or(f.words()))
	}
	option := f.option
	if option.Spectral != nil { // the algorithm, which is not known yet, has the last word
		option.Min = min(option.Min, option.Spectral.Min)
	}
	parsed, err := option.Parse(value)
	if err != nil {
		return err
	}
	f.text, f.path = parsed, path
	return nil
}

// words are the values of a choice as they are typed.
func (f *optionFlag) words() []string {
	words := slices.Clone(f.option.Values)
	for at, word := range words {
		if f.option.Type == catalog.Start && slices.Contains(fromFile, word) {
			words[at] += ":FILE"
		}
	}
	return words
}

// usage is the line of help.
func (f *optionFlag) usage() string {
	text := f.option.Help
	if f.option.Type == catalog.Start || f.option.Name == "algorithm" {
		text += ": " + catalog.Or(f.words())
	}
	if f.option.Default != "" {
		text += " (default " + f.option.Default + ")"
	}
	return text
}
