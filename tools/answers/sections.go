package answers

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/tools/measure"
)

// writeConstrainedSpectral compares constrained cuts with unconstrained ones.
func (p Page) writeConstrainedSpectral(b *strings.Builder, x index) {
	const constrained, unconstrained = "constrained-spectral", "spectral"
	type gain struct {
		sum    float64
		count  int
		behind int
	}
	columns := []string{"20", "100", "400", "n/2"}
	gains := map[string]*gain{}
	rows := map[string][]string{}
	var order []string
	for _, c := range x.cells(constrained, 0) {
		before := x.mean(place{c.set, 0, 0}, unconstrained, x.seeds(c.place, constrained))
		column := slices.Index(columns, numberName(c.m, c.n))
		if math.IsNaN(before) || column < 0 {
			continue
		}
		if rows[c.set] == nil {
			rows[c.set] = append([]string{c.set, number(before)}, slices.Repeat([]string{""}, len(columns))...)
			order = append(order, c.set)
		}
		rows[c.set][2+column] = number(c.ari)
		g := gains[columns[column]]
		if g == nil {
			g = &gain{}
			gains[columns[column]] = g
		}
		g.sum, g.count = g.sum+c.ari-before, g.count+1
		if c.ari < before-margin {
			g.behind++
		}
	}
	if len(order) == 0 {
		return
	}
	b.WriteString("\n### constrained-spectral against spectral\n\n`spectral` without constraints, and " +
		"`constrained-spectral` with m of them.\n")
	measure.Head(b, append([]string{"set", "spectral"}, prefixed("m = ", columns)...)...)
	for _, name := range order {
		measure.Row(b, rows[name]...)
	}
	mean := []string{"mean gain", ""}
	behind := []string{"cells behind spectral by .02", ""}
	for _, column := range columns {
		if g := gains[column]; g != nil {
			mean = append(mean, fmt.Sprintf("%+.2f", g.sum/float64(g.count)))
			behind = append(behind, fmt.Sprintf("%d of %d", g.behind, g.count))
		} else {
			mean = append(mean, "")
			behind = append(behind, "")
		}
	}
	measure.Row(b, mean...)
	measure.Row(b, behind...)
}

func prefixed(prefix string, words []string) []string {
	list := make([]string, len(words))
	for at, word := range words {
		list[at] = prefix + word
	}
	return list
}

// writeConstants compares methods that say options with the same method that leaves them open.
func (p Page) writeConstants(b *strings.Builder, x index) {
	type variant struct {
		name  string
		noise float64
	}
	type change struct {
		cells       int
		open, said  float64
		worst, best float64
	}
	changes := map[variant]*change{}
	for _, at := range x.places() { // in one order, because the last digits of sums depend on it
		for method := range x.answers[at] {
			if plain(method) {
				continue
			}
			said := x.mean(at, method, nil)
			open := x.mean(at, base(method), x.seeds(at, method))
			if base(method) == catalog.DefaultAlgorithm && math.IsNaN(open) { // which need not be named
				open = x.mean(at, p.Subject, x.seeds(at, method))
			}
			if math.IsNaN(open) {
				continue
			}
			v := variant{method, at.noise}
			if changes[v] == nil {
				changes[v] = &change{worst: math.Inf(1), best: math.Inf(-1)}
			}
			c := changes[v]
			c.cells, c.open, c.said = c.cells+1, c.open+open, c.said+said
			c.worst, c.best = min(c.worst, said-open), max(c.best, said-open)
		}
	}
	if len(changes) == 0 {
		return
	}
	b.WriteString("\n### How answers depend on options\n\nMethods with options, and the same method with all of them " +
		"left open, in the cells that have both: means, and the cells with the largest loss and gain.\n")
	measure.Head(b, "method", "wrong constraints", "cells", "left open", "said", "difference", "worst cell",
		"best cell")
	for _, v := range slices.SortedFunc(maps.Keys(changes), func(a, b variant) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.noise, b.noise))
	}) {
		c := changes[v]
		measure.Row(b, "`"+v.name+"`", fmt.Sprintf("%g", v.noise), fmt.Sprint(c.cells), share(c.open, c.cells),
			share(c.said, c.cells),
			fmt.Sprintf("%+.3f", (c.said-c.open)/float64(c.cells)), fmt.Sprintf("%+.2f", c.worst),
			fmt.Sprintf("%+.2f", c.best))
	}
}

// writeCosts tells how long methods took and how often they did not answer.
func (p Page) writeCosts(b *strings.Builder) {
	type cost struct {
		runs, refused, late int
		seconds, longest    float64
	}
	costs := map[string]*cost{}
	for _, a := range p.Answers {
		c := costs[a.Method]
		if c == nil {
			c = &cost{}
			costs[a.Method] = c
		}
		c.runs++
		c.seconds, c.longest = c.seconds+a.Seconds, max(c.longest, a.Seconds)
		switch {
		case a.Status == Late:
			c.late++
		case a.Status != Answered:
			c.refused++
		}
	}
	b.WriteString("\n### Time and refusals\n\nSeconds of a run with the start of its process and the reading of its " +
		"files. Runs that took too long are left out of all means.\n")
	measure.Head(b, "method", "runs", "refused", "too long", "mean seconds", "longest")
	for _, method := range slices.Sorted(maps.Keys(costs)) {
		c := costs[method]
		measure.Row(b, "`"+method+"`", fmt.Sprint(c.runs), fmt.Sprint(c.refused), fmt.Sprint(c.late),
			fmt.Sprintf("%.1f", c.seconds/float64(c.runs)), fmt.Sprintf("%.1f", c.longest))
	}
}

// writeSets has a table for each set.
func (p Page) writeSets(b *strings.Builder, cells []cell) {
	b.WriteString("\n### Set by set\n\nThe smallest and the largest of the draws in parentheses. The last column " +
		"lists the methods that were chosen, if there was a choice.\n")
	for at, c := range cells {
		if at == 0 || cells[at-1].set != c.set {
			fmt.Fprintf(b, "\n#### %s\n\n%s, n = %d, k = %d\n", c.set, strings.ToUpper(c.kind[:1])+c.kind[1:], c.n, c.k)
			measure.Head(b, "m", p.Subject, "our best", "best peer", "", "method")
		}
		verdict := c.verdict()
		if c.fell() > margin {
			verdict = strings.TrimPrefix(verdict+", fell", ", ")
		}
		measure.Row(b, fmt.Sprint(c.m), c.text(), c.own.text(), c.peer.text(), verdict, strings.Join(c.chosen(), ", "))
	}
}

// text returns the mean with its range.
func (c cell) text() string {
	refused := 0
	least := math.Inf(1)
	most := math.Inf(-1)
	for _, a := range c.runs {
		if a.Status != Answered {
			refused++
		}
		least, most = min(least, a.ARI), max(most, a.ARI)
	}
	switch {
	case refused == len(c.runs):
		return Refused
	case number(least) == number(most):
		return number(c.ari)
	}
	return fmt.Sprintf("%s (%s to %s)", number(c.ari), number(least), number(most))
}

// chosen returns the methods that were chosen, the most frequent first.
func (c cell) chosen() []string {
	counts := map[string]int{}
	for _, a := range c.runs {
		if a.Chosen != "" {
			counts[a.Chosen]++
		}
	}
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(-cmp.Compare(counts[a], counts[b]), cmp.Compare(a, b))
	})
}
