package answers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cleave-project/cleave/tools/measure"
)

// The range of the number of clusters that is asked with.
const leastClusters, mostClusters = 2, 8

// rangeQuestions returns tables whose number of clusters is in the range.
func (s *study) rangeQuestions(ctx context.Context) ([]question, error) {
	var list []question
	for draw := range s.Seeds {
		sets, err := s.tables(ctx, draw)
		if err != nil {
			return nil, err
		}
		for _, set := range sets {
			if set.k >= leastClusters && set.k <= mostClusters {
				list = append(list, s.about(set, 0, draw)...)
			}
		}
	}
	return list, nil
}

// distinct returns how many clusters an answer has.
func distinct(labels []int64) int {
	seen := map[int64]bool{}
	for _, label := range labels {
		if label >= 0 {
			seen[label] = true
		}
	}
	return len(seen)
}

// right counts the runs of a method that found the number of clusters, and all of them.
func (x index) right(at place, method string) (right, all int) {
	for _, a := range x.answers[at][method] {
		if all++; a.Found == a.K {
			right++
		}
	}
	return right, all
}

// writeRange writes the section of the number of clusters.
func (p Page) writeRange(b *strings.Builder, now time.Time) {
	x := newIndex(p.Answers)
	cells := x.cells(p.Subject, 0)
	fmt.Fprintf(b, "## How many clusters\n\nThe tables above, with `--k %d..%d` instead of their number of clusters. "+
		"A number is right if it is the number of groups.\n", leastClusters, mostClusters)
	p.writeMeasured(b, now)
	b.WriteString("\nPeers:" + peersOf(Range) + ".\n")
	methods := p.columns(Range, x)
	names := []string{"", "tables"}
	for _, method := range methods {
		names = append(names, method+" right", method+" ARI")
	}
	measure.Head(b, append(names, "right where sure")...)
	for _, group := range []string{Made, Real} {
		in := slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return c.group != group })
		if len(in) == 0 {
			continue
		}
		line := []string{group + " tables", fmt.Sprint(len(in))}
		for _, method := range methods {
			right, all := 0, 0
			for _, c := range in {
				r, n := x.right(c.place, method)
				right, all = right+r, all+n
			}
			line = append(line, fmt.Sprintf("%d of %d", right, all), x.meanOver(in, method, "0"))
		}
		right, sure := 0, 0
		for _, c := range in {
			for _, a := range c.runs {
				if isSure(a) {
					if sure++; a.Found == a.K {
						right++
					}
				}
			}
		}
		measure.Row(b, append(line, fmt.Sprintf("%d of %d", right, sure))...)
	}
	measure.Head(b, append(append([]string{"table", "k"}, methods...), "method")...)
	for _, c := range cells {
		line := []string{c.set, fmt.Sprint(c.k)}
		for _, method := range methods {
			line = append(line, x.foundText(c.place, method))
		}
		measure.Row(b, append(line, strings.Join(c.chosen(), ", "))...)
	}
}

// isSure reports whether an answer calls its number of clusters clear.
func isSure(a Answer) bool { return slices.Contains(strings.Fields(a.Chosen), "clear") }

// foundText returns the numbers of clusters that a method found, draw by draw.
func (x index) foundText(at place, method string) string {
	var list []string
	for _, seed := range x.seeds(at, method) {
		if a := x.answers[at][method][seed]; a.Status == Answered {
			list = append(list, fmt.Sprint(a.Found))
		} else {
			list = append(list, Refused)
		}
	}
	return strings.Join(list, ", ")
}
