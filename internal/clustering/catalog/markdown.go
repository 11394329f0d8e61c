package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// Tables returns the tables of the documentation as Markdown, by the names under which documents include them.
func Tables() map[string]string {
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
	for _, a := range Algorithms {
		name, about := "`"+a.Name+"`", a.About
		if a.Name == DefaultAlgorithm {
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
	for _, a := range Algorithms {
		starts := strings.Join(coded(a.Starts, ""), ", ")
		switch {
		case a.Family == AutoFamily:
			starts = "its own"
		case len(a.Starts) == 0:
			starts = "none: eigenvectors do not depend on a start"
		}
		table += fmt.Sprintf("| `%s` | %s | %s | %s |\n", a.Name, strings.Join(a.Data, ", "), strings.Join(coded(a.Options, "--"), ", "), starts)
	}
	return table
}

func kernelTable() string {
	table := "| `--kernel` | k(x, y) | parameters | positive semidefinite |\n|---|---|---|---|\n"
	for _, k := range Kernels {
		definite := "yes"
		if !k.Definite {
			definite = "depends on the parameters"
		}
		table += fmt.Sprintf("| `%s` | %s | %s | %s |\n", k.Name, strings.ReplaceAll(k.Formula, "|", "\\|"), strings.Join(coded(k.Parameters, "--"), ", "), definite)
	}
	return table
}

func optionTable() string {
	var b strings.Builder
	for _, group := range Groups {
		fmt.Fprintf(&b, "\n## %s\n\n| flag | values | default | in the API | algorithms |\n|---|---|---|---|---|\n", group)
		for _, o := range Options {
			if o.Group != group || o.NoFlag {
				continue
			}
			fmt.Fprintf(&b, "| `--%s`: %s | %s | %s | %s | %s |\n", o.Name, strings.ReplaceAll(o.Help, "`", ""), strings.ReplaceAll(o.values(), "|", "\\|"),
				o.Default, o.fields(), o.takers())
		}
	}
	return b.String()
}

// values describes the values of an option.
func (o Option) values() string {
	switch o.Type {
	case Choice, Start:
		return strings.Join(coded(o.Values, ""), ", ")
	case Switch:
		return "on or off"
	case File:
		return "a file"
	}
	text := "a number"
	if o.Type == Whole {
		text = "a whole number"
	}
	if o.Min != 0 && o.Max != 0 && o.Max < 1e9 {
		text += fmt.Sprintf(", %g to %g", o.Min, o.Max)
	}
	if len(o.Values) > 0 {
		text += ", or " + Or(coded(o.Values, ""))
	}
	return text
}

// fields lists the paths of an option in the API.
func (o Option) fields() string {
	if o.Field == "" {
		return ""
	}
	fields := []string{o.Field}
	if o.Spectral != nil && o.Spectral.Field != o.Field {
		fields = append(fields, o.Spectral.Field)
	}
	return strings.Join(coded(fields, ""), ", ")
}

// takers lists the algorithms that have an option.
func (o Option) takers() string {
	if o.Common {
		return "all"
	}
	return strings.Join(coded(algorithmsTaking(o.Name), ""), ", ")
}

// coded formats words as code.
func coded(words []string, prefix string) []string {
	return names(slices.Clone(words), func(word string) string { return "`" + prefix + word + "`" })
}
