package main

import (
	"fmt"
	"strings"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/text"
)

// catalogTables returns the tables of the documentation as Markdown, by the names under which documents include them.
func catalogTables() map[string]string {
	tables := map[string]string{
		"algorithms":           algorithmTable(),
		"options-by-algorithm": scopeTable(),
		"kernels":              kernelTable(),
		"options":              optionTable(),
	}
	addReference(tables)
	return tables
}

func algorithmTable() string {
	table := "| `--algorithm` | what it does | supervision |\n|---|---|---|\n"
	for _, a := range catalog.Algorithms {
		name, about := "`"+a.Name+"`", a.About
		if a.Name == catalog.DefaultAlgorithm {
			name += " (default)"
		}
		if a.Paper != "" {
			about += " (" + a.Paper + ")"
		}
		table += fmt.Sprintf("| %s | %s | %s |\n", name, about, a.Supervision)
	}
	return table
}

func scopeTable() string {
	table := "| `--algorithm` | data | options of its own | starts |\n|---|---|---|---|\n"
	for _, a := range catalog.Algorithms {
		starts := strings.Join(coded(a.Starts, ""), ", ")
		switch {
		case a.Family == catalog.AutoFamily:
			starts = "its own"
		case len(a.Starts) == 0:
			starts = "none: eigenvectors do not depend on a start"
		}
		table += fmt.Sprintf("| `%s` | %s | %s | %s |\n", a.Name, strings.Join(a.Data, ", "),
			strings.Join(coded(a.Options, "--"), ", "), starts)
	}
	return table
}

func kernelTable() string {
	table := "| `--kernel` | k(x, y) | parameters | positive semidefinite |\n|---|---|---|---|\n"
	for _, k := range catalog.Kernels {
		definite := "yes"
		if !k.Definite {
			definite = "depends on the parameters"
		}
		table += fmt.Sprintf("| `%s` | %s | %s | %s |\n", k.Name, strings.ReplaceAll(k.Formula, "|", "\\|"),
			strings.Join(coded(k.Parameters, "--"), ", "), definite)
	}
	return table
}

func optionTable() string {
	var b strings.Builder
	for _, group := range catalog.Groups {
		fmt.Fprintf(&b, "\n## %s\n\n| flag | values | default | in the API | algorithms |\n|---|---|---|---|---|\n",
			group)
		for _, o := range catalog.Options {
			if o.Group != group || o.NoFlag {
				continue
			}
			fmt.Fprintf(&b, "| `--%s`: %s | %s | %s | %s | %s |\n", o.Name, strings.ReplaceAll(o.About(), "`", ""),
				strings.ReplaceAll(values(o), "|", "\\|"),
				o.Default, fields(o), takers(o))
		}
	}
	return b.String()
}

// values describes the values of an option.
func values(o catalog.Option) string {
	switch o.Type {
	case catalog.Choice, catalog.Start:
		return strings.Join(coded(o.Values, ""), ", ")
	case catalog.Switch:
		return "on or off"
	case catalog.File:
		return "a file"
	}
	words := "a number"
	if o.Type == catalog.Whole || o.Type == catalog.Range {
		words = "a whole number"
	}
	if o.Min != 0 && o.Max != 0 && o.Max < 1e9 {
		words += fmt.Sprintf(", %g to %g", o.Min, o.Max)
	}
	if len(o.Values) > 0 {
		words += ", or " + text.Or(coded(o.Values, ""))
	}
	return words
}

// fields lists the paths of an option in the API.
func fields(o catalog.Option) string {
	if o.Field == "" {
		return ""
	}
	fields := []string{o.Field}
	if own, _ := catalog.FindOption(o.Name, catalog.Algorithm{Family: catalog.SpectralFamily}); own.Field != o.Field {
		fields = append(fields, own.Field)
	}
	return strings.Join(coded(fields, ""), ", ")
}

// takers lists the algorithms that have an option.
func takers(o catalog.Option) string {
	if o.Common {
		return "all"
	}
	var names []string
	for _, a := range catalog.Algorithms {
		if a.Takes(o.Name) {
			names = append(names, a.Name)
		}
	}
	return strings.Join(coded(names, ""), ", ")
}

// coded formats words as code.
func coded(words []string, prefix string) []string {
	all := make([]string, len(words))
	for at, word := range words {
		all[at] = "`" + prefix + word + "`"
	}
	return all
}
