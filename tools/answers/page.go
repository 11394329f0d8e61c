package answers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cleave-project/cleave/tools/measure"
)

// Page is what the page of the documentation tells: what one method answers, beside all others.
type Page struct {
	measure.Setup
	Subject string // a method
	Answers []Answer
}

// document returns the page docs/answers.md.
func document() measure.Page {
	return measure.Page{Suite: "answers", Parts: measure.Names(suites), Head: func(string) string { return pageHead }}
}

// sections returns the sections of all suites that have answers.
func (p Page) sections(now time.Time) map[string]string {
	sections := map[string]string{}
	for _, s := range suites {
		if of := p.of(s.name); len(of.Answers) > 0 {
			var b strings.Builder
			s.write(of, &b, now)
			sections[s.name] = b.String()
		}
	}
	return sections
}

// of returns the page with the answers of one suite only.
func (p Page) of(suite string) Page {
	p.Answers = slices.DeleteFunc(slices.Clone(p.Answers), func(a Answer) bool { return a.Suite != suite })
	return p
}

// writeConstraints writes the section of the suite of constraints.
func (p Page) writeConstraints(b *strings.Builder, now time.Time) {
	x := newIndex(p.Answers)
	cells := x.cells(p.Subject, 0)
	p.writeHead(b, now)
	p.writeSummary(b, cells)
	p.writeNoise(b, x)
	p.writeMissed(b, cells)
	p.writeAlgorithms(b, cells, x)
	p.writeConstrainedSpectral(b, x)
	p.writeConstants(b, x)
	p.writeCosts(b)
	p.writeSets(b, cells)
}

//nolint:lll // the paragraphs of a document
const pageHead = `# Answers

Results of ` + "`cleave run`" +
	` given data and supervision, with all options at their defaults: ordinary tables ([Ordinary tables](#ordinary-tables)), labels of some rows ([Known labels](#known-labels)), a range of the number of clusters ([How many clusters](#how-many-clusters)) and pairs of points ([Constraints](#constraints)), compared with scikit-learn as an experienced user would use it. Scores are adjusted Rand indices (ARI): 1 is the truth, 0 is chance.

` + "`make answers SUITE=tables|labels|range|constraints DATA=folder` repeats one of them and keeps the " +
	"other sections.\n"

//nolint:lll // the paragraphs of a document
const constraintsHead = `## Constraints

Results of ` + "`cleave run`" +
	` given data, the number of clusters and constraints, with all options at their defaults. Constraints are m random pairs, whose kinds follow from the true classes; smaller sets are prefixes of larger ones. Every number is a mean over draws of the constraints, on all points; a refused job counts 0. "Our best" is the best of our algorithms that a user might name, each with default options, and "best peer" the best of the peers; both are chosen with hindsight for each cell, which no user can do. A cell is a set with a number of constraints. Two numbers are equal if they differ by at most .02.

` + "`make answers DATA=folder` repeats it: sets of points (`data.csv`), graphs (`edges.csv`) and texts " +
	"(`*.tfidf.svm.gz`) with their `labels.csv`, one folder each, and generated ones.\n"

func (p Page) writeHead(b *strings.Builder, now time.Time) {
	b.WriteString(constraintsHead)
	seeds, asked := map[int]bool{}, false
	for _, a := range p.Answers {
		if a.Method == p.Subject {
			seeds[a.Seed] = true
		}
		asked = asked || isPeer(a.Method)
	}
	fmt.Fprintf(b, "\nMethod `%s`, %s, up to %d draws.\n", p.Subject, p.When(now), len(seeds))
	if !asked {
		b.WriteString("\nNo peers were asked: there was no Python with NumPy, SciPy and scikit-learn (`make " +
			"bench-peers` installs them).\n")
		return
	}
	b.WriteString("\nPeers, scikit-learn by its defaults:")
	b.WriteString(peersOf(Constraints) + ".\n")
}

// peersOf says what the peers of a suite do.
func peersOf(suite string) string {
	var list []string
	for _, other := range peers {
		if other.suite == suite {
			list = append(list, fmt.Sprintf(" `%s` (%s)", other.name, other.about))
		}
	}
	return strings.Join(list, ";")
}

// number formats a number with two digits, and no sign where they are 0.
func number(v float64) string { return strings.Replace(fmt.Sprintf("%.2f", v), "-0.00", "0.00", 1) }

// share returns the mean of a sum, or a dash.
func share(sum float64, count int) string {
	if count == 0 {
		return "-"
	}
	return number(sum / float64(count))
}

func (p Page) writeSummary(b *strings.Builder, cells []cell) {
	b.WriteString("\n### Summary\n\nMeans over the cells; for our best and the best peer, over those that have one. " +
		"*Fell* counts cells with less than the same set had with fewer constraints, by more than .02 and by " +
		"more than .05.\n")
	measure.Head(b, "", "cells", p.Subject, "our best", "best peer", "ahead / level / behind the best peer",
		"fell by .02", "by .05")
	for _, t := range tallies(cells) {
		measure.Row(b, t.name, fmt.Sprint(t.cells), share(t.ari, t.cells), share(t.own, t.owns), share(t.peer, t.peers),
			fmt.Sprintf("%d / %d / %d", t.ahead, t.level, t.behind), fmt.Sprint(t.fell), fmt.Sprint(t.fellFar))
	}
}

// writeNoise tells what wrong constraints do.
func (p Page) writeNoise(b *strings.Builder, x index) {
	var shares []float64
	for _, at := range x.places() {
		if at.noise > 0 && !slices.Contains(shares, at.noise) {
			shares = append(shares, at.noise)
		}
	}
	if len(shares) == 0 {
		return
	}
	slices.Sort(shares)
	b.WriteString("\n### Wrong constraints\n\nA share of the constraints says the opposite of the truth. *Below* " +
		"counts cells with less than the same set has without constraints, by more than .02 and by more than .05.\n")
	measure.Head(b, "wrong", "cells", "without constraints", "with them", "mean gain", "below by .02", "by .05")
	var worse []string
	for _, noise := range shares {
		var t tally
		for _, c := range x.cells(p.Subject, noise) {
			if math.IsNaN(c.unconstrained) {
				continue // nothing to compare with
			}
			t.add(c)
			if c.ari < c.unconstrained-margin {
				worse = append(worse, fmt.Sprintf("%s, m = %d: %s, without %s", c.set, c.m, number(c.ari),
					number(c.unconstrained)))
			}
		}
		measure.Row(b, fmt.Sprintf("%g", noise), fmt.Sprint(t.cells), share(t.unconstrained, t.cells),
			share(t.ari, t.cells),
			fmt.Sprintf("%+.2f", (t.ari-t.unconstrained)/float64(max(t.cells, 1))), fmt.Sprint(t.below),
			fmt.Sprint(t.belowFar))
	}
	if len(worse) > 0 {
		b.WriteString("\nBelow by more than .02: " + strings.Join(worse, "; ") + ".\n")
	}
}

// writeMissed lists the cells where something else has more.
func (p Page) writeMissed(b *strings.Builder, cells []cell) {
	missed := slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return c.missed() <= margin })
	slices.SortStableFunc(missed, func(a, b cell) int { return cmp.Compare(b.missed(), a.missed()) })
	fmt.Fprintf(b, "\n### What it does not achieve\n\nIn %d of %d cells, one of our named algorithms or a peer is "+
		"better by more than .02.\n", len(missed), len(cells))
	if len(missed) == 0 {
		return
	}
	measure.Head(b, "set", "m", p.Subject, "our best", "best peer", "behind by")
	for _, c := range missed {
		measure.Row(b, c.set, fmt.Sprint(c.m), number(c.ari), c.own.text(), c.peer.text(), number(c.missed()))
	}
}

func (s scored) text() string {
	if s.method == "" {
		return "-"
	}
	return number(s.ari) + " " + s.method
}
