package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
)

// This file contains the generated parts of docs/reference, which has one page for each algorithm.

// familyNames are the families as the documents call them.
var familyNames = map[catalog.Family]string{catalog.AutoFamily: "none", catalog.KernelFamily: "kernel",
	catalog.KMeansFamily: "k-means", catalog.SpectralFamily: "spectral"}

// addReference adds the list of all pages, "pages", and the tables of each: "summary of NAME" and "options of NAME".
func addReference(tables map[string]string) {
	pages := "| algorithm | family | supervision |\n|---|---|---|\n"
	for _, a := range catalog.Algorithms {
		pages += fmt.Sprintf("| [%s](reference/%[1]s.md) | %s | %s |\n", a.Name, familyNames[a.Family], a.Supervision)
	}
	tables["pages"] = pages
	for _, a := range catalog.Algorithms {
		tables["summary of "+a.Name] = summary(a)
		tables["options of "+a.Name] = optionsOf(a)
	}
}

// summary describes an algorithm in a sentence and a table.
func summary(a catalog.Algorithm) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s.\n\n| | |\n|---|---|\n", strings.ToUpper(a.About[:1]), a.About[1:])
	row := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "| %s | %s |\n", title, text)
		}
	}
	row("family", familyNames[a.Family])
	row("data", strings.Join(a.Data, ", "))
	row("supervision", a.Supervision)
	row("required options", strings.Join(coded(a.Needs, "--"), ", "))
	row("starts (`--init`)", strings.Join(coded(a.Starts, ""), ", "))
	row("paper", a.Paper)
	row("in the API", "`"+strings.ReplaceAll(a.Name, "-", "_")+"` of `JobSpec`")
	return b.String()
}

// optionsOf lists the options that an algorithm has: first its own, then those that all algorithms have.
func optionsOf(a catalog.Algorithm) string {
	table := "| flag | values | default | in the API |\n|---|---|---|---|\n"
	for _, common := range []bool{false, true} {
		for _, general := range catalog.Options {
			if general.Common != common || general.NoFlag || general.Name == "algorithm" || !a.Takes(general.Name) ||
				general.Type == catalog.Start && len(a.Starts) == 0 {
				continue
			}
			o, _ := catalog.FindOption(general.Name, a)
			field := ""
			values := values(o)
			if o.Type == catalog.Start {
				values = strings.Join(coded(a.Starts, ""), ", ")
			}
			if o.Field != "" {
				field = "`" + o.Field + "`"
			}
			table += fmt.Sprintf("| `--%s`: %s | %s | %s | %s |\n", o.Name, strings.ReplaceAll(o.Help, "`", ""),
				strings.ReplaceAll(values, "|", "\\|"), o.Default, field)
		}
	}
	var fixed []string
	for option, value := range a.Implied {
		fixed = append(fixed, "`--"+option+" "+value+"`")
	}
	if len(fixed) > 0 {
		slices.Sort(fixed)
		table += "\nFixed, and accepted with this value only: " + strings.Join(fixed, ", ") + ".\n"
	}
	return table
}
