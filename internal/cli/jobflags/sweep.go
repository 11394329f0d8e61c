package jobflags

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/fault"
)

// maxCombinations limits the number of jobs of a sweep.
const maxCombinations = 10_000

// severalFlag is a flag of a sweep: it takes several values where an OptionFlag takes one.
type severalFlag struct {
	*OptionFlag // has the value of the current combination
	values      []string
}

// String implements pflag.Value.
func (f *severalFlag) String() string { return strings.Join(f.values, ",") }

// Type implements pflag.Value.
func (f *severalFlag) Type() string {
	if f.Option.Type == catalog.Whole {
		return "N,...|FIRST..LAST"
	}
	return f.OptionFlag.Type() + ",..."
}

// Set implements pflag.Value. It takes values separated by commas, and ranges of whole numbers.
func (f *severalFlag) Set(text string) error {
	f.values = nil
	for item := range strings.SplitSeq(text, ",") {
		values, err := f.expand(strings.TrimSpace(item))
		if err != nil {
			return err
		}
		for _, value := range values {
			if err := f.OptionFlag.Set(value); err != nil {
				return fmt.Errorf("%q is invalid: %w", value, err)
			}
			if f.last != "" {
				return fmt.Errorf("write a range as FIRST..LAST")
			}
		}
		if f.values = append(f.values, values...); len(f.values) > maxCombinations {
			return fmt.Errorf("it has more than %d values", maxCombinations)
		}
	}
	return f.OptionFlag.Set(f.values[0])
}

// expand returns the values of a range, or the only value.
func (f *severalFlag) expand(item string) ([]string, error) {
	begin, end, isRange := strings.Cut(item, "..")
	if !isRange || f.Option.Type != catalog.Whole {
		return []string{item}, nil
	}
	first, err := strconv.ParseUint(begin, 10, 64)
	last, err2 := strconv.ParseUint(end, 10, 64)
	switch {
	case err != nil || err2 != nil || last < first:
		return nil, fmt.Errorf("%q is not a range such as 0..9", item)
	case last-first >= maxCombinations:
		return nil, fmt.Errorf("it has more than %d values", maxCombinations)
	}
	values := make([]string, last-first+1)
	for at := range values {
		values[at] = strconv.FormatUint(first+uint64(at), 10)
	}
	return values, nil
}

// Setting is the value of one option in one job of a sweep, as the user wrote it.
type Setting struct{ Option, Value string }

// Combination has the settings of one job of a sweep, one for each option that has several values.
type Combination []Setting

// String returns the settings as they are printed, such as "algorithm kmeans, seed 3".
func (c Combination) String() string {
	var words []string
	for _, setting := range c {
		words = append(words, setting.Option+" "+setting.Value)
	}
	return strings.Join(words, ", ")
}

// Prefix returns what begins a message about the job: its settings, or nothing if the sweep has one job only.
func (c Combination) Prefix() string {
	if len(c) == 0 {
		return ""
	}
	return c.String() + ": "
}

// Wrap adds the settings to an error about the job.
func (c Combination) Wrap(err error) error {
	if len(c) == 0 {
		return err
	}
	return fault.Wrap(err, "%s", c)
}

// TakeSeveral lets every option that is a number or a word take several values.
func (f *Flags) TakeSeveral() {
	for name, flag := range f.options {
		switch flag.Option.Type {
		case catalog.Whole, catalog.Number, catalog.Choice:
			f.set.Lookup(name).Value = &severalFlag{OptionFlag: flag}
		}
	}
}

// Combinations returns every combination of the values of the flags that have several, in the order of the catalog;
// the values of --seed vary fastest.
func (f *Flags) Combinations() ([]Combination, error) {
	var names []string
	for _, o := range catalog.Options {
		if f.options[o.Name] != nil && o.Name != "seed" {
			names = append(names, o.Name)
		}
	}
	all := []Combination{nil}
	for _, name := range append(names, "seed") {
		flag, is := f.set.Lookup(name).Value.(*severalFlag)
		if !is || len(flag.values) < 2 {
			continue
		}
		var more []Combination
		for _, c := range all {
			for _, value := range flag.values {
				more = append(more, append(c[:len(c):len(c)], Setting{name, value}))
			}
			if len(more) > maxCombinations {
				return nil, shell.Usage("these options have more than %d combinations", maxCombinations)
			}
		}
		all = more
	}
	return all, nil
}

// Choose gives the flags the values of a combination.
func (f *Flags) Choose(c Combination) error {
	for _, setting := range c {
		if err := f.options[setting.Option].Set(setting.Value); err != nil {
			return err
		}
	}
	return nil
}

// CheckOptions checks the flags without reading the data.
func (f *Flags) CheckOptions() error {
	source, err := f.source()
	if err != nil {
		return err
	}
	j, err := readJobFile(f.jobFile)
	if err != nil || source == "" { // without a source only the coordinator knows the data
		return err
	}
	return f.apply(j, f.kindOf(source))
}
