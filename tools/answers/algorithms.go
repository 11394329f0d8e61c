package answers

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/tools/measure"
)

// writeAlgorithms compares our algorithms by the kind of data.
func (p Page) writeAlgorithms(b *strings.Builder, cells []cell, x index) {
	b.WriteString("\n### Algorithm by algorithm\n\nMeans over all sets of a kind, real and generated, options left " +
		"open. The number of sets is shown if a method did not run on all of them, or took too long.\n")
	p.algorithmTable(b, cells, x)
}

// algorithmTable has a row for each kind of data and algorithm, and a column for each number of constraints.
func (p Page) algorithmTable(b *strings.Builder, cells []cell, x index) {
	methods := []string{p.Subject}
	for _, c := range cells {
		for _, method := range slices.Sorted(maps.Keys(x.answers[c.place])) {
			if plain(method) && !isPeer(method) && !slices.Contains(methods, method) && method != Default {
				methods = append(methods, method)
			}
		}
	}
	slices.Sort(methods[1:])
	columns := []string{"0", "20", "100", "400", "n/2"}
	measure.Head(b, append([]string{"data", "algorithm"}, prefixed("m = ", columns)...)...)
	for _, kind := range []string{catalog.Points, catalog.Graph, catalog.SparsePoints} {
		sets := slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return c.kind != kind })
		for _, method := range methods {
			texts := []string{kind, method}
			answered := false
			for _, column := range columns {
				mean := x.meanOver(sets, method, column)
				answered = answered || mean != ""
				texts = append(texts, mean)
			}
			if answered {
				measure.Row(b, texts...)
			}
		}
		texts := []string{kind, "*best peer*"}
		for _, column := range columns {
			var peer tally
			for _, c := range sets {
				if numberName(c.m, c.n) == column {
					peer.add(c)
				}
			}
			texts = append(texts, share(peer.peer, peer.peers))
		}
		if slices.ContainsFunc(texts[2:], func(mean string) bool { return mean != "-" }) {
			measure.Row(b, texts...)
		}
	}
}

// meanOver returns the mean of a method over the cells with this number of constraints.
func (x index) meanOver(cells []cell, method, column string) string {
	sum, count, all := 0.0, 0, 0
	for _, c := range cells {
		if numberName(c.m, c.n) != column {
			continue
		}
		all++
		if ari := x.mean(c.place, method, nil); !math.IsNaN(ari) {
			sum, count = sum+ari, count+1
		}
	}
	switch count {
	case 0:
		return ""
	case all:
		return share(sum, count)
	}
	return fmt.Sprintf("%s (%s)", share(sum, count), text.Plural(count, "set"))
}

// algorithmsMark is the mark in another document that shows the table of algorithms.
const algorithmsMark = "algorithms"

// algorithms returns the table of algorithms for another document.
func (p Page) algorithms() string {
	p = p.of(Constraints)
	x := newIndex(p.Answers)
	var b strings.Builder
	p.algorithmTable(&b, x.cells(p.Subject, 0), x)
	return b.String() + "\n"
}
