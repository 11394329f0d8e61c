package answers

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/tools/measure"
)

// writeTables writes the section of ordinary tables.
func (p Page) writeTables(b *strings.Builder, now time.Time) {
	x := newIndex(p.Answers)
	cells := x.cells(p.Subject, 0)
	b.WriteString("## Ordinary tables\n\nTables as people have them, with the number of clusters and nothing else: " +
		"columns in different units, words, gaps, ids, dates, money. Generated tables have clear groups, which good " +
		"preparation finds; real ones have the classes that they are known for. A number is a mean over draws " +
		"of the table.\n")
	p.writeMeasured(b, now)
	b.WriteString(
		"\nPeers are scikit-learn on tables that a person has prepared, without columns of ids, dates and texts:" +
			peersOf(Tables) + ".\n")
	methods := p.columns(Tables, x)
	measure.Head(b, append([]string{"", "tables"}, methods...)...)
	for _, group := range []string{Made, Real} {
		in := slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return c.group != group })
		if len(in) == 0 {
			continue
		}
		line := []string{group + " tables", fmt.Sprint(len(in))}
		for _, method := range methods {
			line = append(line, x.meanOver(in, method, "0"))
		}
		measure.Row(b, line...)
	}
	var behind, gone []string
	for _, c := range cells {
		if other := x.mean(c.place, pipeline, x.seeds(c.place, p.Subject)); c.ari < other-margin {
			behind = append(behind, fmt.Sprintf("%s (%s, %s)", c.set, number(c.ari), number(other)))
		}
		for _, a := range c.runs {
			if a.Status != Answered {
				gone = append(gone, c.set)
				break
			}
		}
	}
	fmt.Fprintf(b, "\nBehind `%s` by more than .02: %d of %d%s.\n", pipeline, len(behind), len(cells), listed(behind))
	if len(gone) > 0 {
		fmt.Fprintf(b, "\nRefused: %s.\n", strings.Join(gone, ", "))
	}
	measure.Head(b, append(append([]string{"table", "rows", "k"}, methods...), "method")...)
	for _, c := range cells {
		line := []string{c.set, fmt.Sprint(c.n), fmt.Sprint(c.k), c.text()}
		for _, method := range methods[1:] {
			line = append(line, optional(x.mean(c.place, method, nil)))
		}
		measure.Row(b, append(line, strings.Join(c.chosen(), ", "))...)
	}
}

// writeMeasured tells when and how a section was measured.
func (p Page) writeMeasured(b *strings.Builder, now time.Time) {
	draws := map[int]bool{}
	for _, a := range p.Answers {
		if a.Method == p.Subject {
			draws[a.Seed] = true
		}
	}
	fmt.Fprintf(b, "\nMethod `%s`, %s, %s.\n", p.Subject, p.When(now), text.Plural(len(draws), "draw"))
}

// columns returns the methods that were asked by a suite: the one that the page is about, our others, and the peers.
func (p Page) columns(suite string, x index) []string {
	asked := map[string]bool{}
	for _, methods := range x.answers {
		for method := range methods {
			asked[method] = true
		}
	}
	names := []string{p.Subject}
	for _, method := range slices.Sorted(maps.Keys(asked)) {
		if !isPeer(method) && method != p.Subject {
			names = append(names, method)
		}
	}
	for _, other := range peers {
		if other.suite == suite && asked[other.name] {
			names = append(names, other.name)
		}
	}
	return names
}

// listed joins words behind a colon.
func listed(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return ": " + strings.Join(words, ", ")
}

// optional returns a number, or nothing where there is none.
func optional(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return number(v)
}

// byBehind sorts cells by how much they are behind their best peer, the farthest first.
func byBehind(cells []cell) []cell {
	return slices.SortedStableFunc(slices.Values(cells), func(a, b cell) int {
		return cmp.Compare(b.peer.ari-b.ari, a.peer.ari-a.ari)
	})
}
