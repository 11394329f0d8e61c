package answers

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/cleave-project/cleave/tools/measure"
)

// labelShares are how many of the labels are given, in percent.
var labelShares = []int{5, 20}

// labelQuestions are sets with labels of a part of their rows: those of the folder and of scikit-learn, generated and
// made ones. Tables whose rows have names are left out: their labels go by these, which is not of interest here.
func (s *study) labelQuestions(ctx context.Context) ([]question, error) {
	found, err := s.found()
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(set *set) bool { return strings.HasSuffix(set.name, "-lcc") })
	found = append(found, s.bundled(found)...)
	made := slices.DeleteFunc(s.madeSets(0), func(set *set) bool {
		return slices.Contains([]string{"id", "texts", "totals-row"}, set.name)
	})
	sets, err := s.made(ctx, slices.Concat(found, generated(s.Cleave, s.temp), made))
	if err != nil {
		return nil, err
	}
	shares := s.Numbers
	if len(shares) == 0 {
		shares = labelShares
	}
	var list []question
	for draw := range s.Seeds {
		for _, set := range sets {
			for _, share := range shares {
				list = append(list, s.about(set, share, draw)...)
			}
		}
	}
	return list, nil
}

// seeds draws so many percent of the points of known class, at least one of each class and k in all.
func (s *set) seeds(percent, draw int) []int32 {
	name := fnv.New64a()
	fmt.Fprintf(name, "%s %d", s.name, percent)
	rng := rand.New(rand.NewPCG(name.Sum64(), uint64(draw)))
	order := slices.Clone(s.known)
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	count := min(max(s.k, len(order)*percent/100), len(order))
	seen := map[int64]bool{}
	for _, i := range order[:count] {
		seen[s.truth[i]] = true
	}
	given := slices.Clone(order[:count])
	for _, i := range order[count:] {
		if !seen[s.truth[i]] {
			seen[s.truth[i]] = true
			given = append(given, i)
		}
	}
	slices.Sort(given)
	return given
}

// classes are the classes of all points, counted from 0 on; negative where they are not known.
func (s *set) classes() []int64 {
	var names []int64
	for _, i := range s.known {
		names = append(names, s.truth[i])
	}
	slices.Sort(names)
	names = slices.Compact(names)
	list := make([]int64, s.n)
	for i, class := range s.truth {
		at, known := slices.BinarySearch(names, class)
		if list[i] = int64(at); !known || class < 0 {
			list[i] = -1
		}
	}
	return list
}

// writeSeeds writes the labels of some points.
func writeSeeds(w io.Writer, s *set, given []int32) error {
	classes := s.classes()
	if _, err := io.WriteString(w, "index,label\n"); err != nil {
		return err
	}
	for _, i := range given {
		if _, err := fmt.Fprintf(w, "%d,%d\n", i, classes[i]); err != nil {
			return err
		}
	}
	return nil
}

// kept are the shares of the given labels that an answer has too, and of the pairs of them that are together in both or
// apart in both.
func kept(answer, classes []int64, given []int32) (labels, pairs float64) {
	same, agree, all := 0, 0, 0
	for at, i := range given {
		if answer[i] == classes[i] {
			same++
		}
		for _, j := range given[:at] {
			if all++; (answer[i] == answer[j]) == (classes[i] == classes[j]) {
				agree++
			}
		}
	}
	return float64(same) / float64(max(len(given), 1)), float64(agree) / float64(max(all, 1))
}

// without are the members of an ascending list that another ascending list lacks.
func without(list, other []int32) []int32 {
	var rest []int32
	for _, i := range list {
		if _, is := slices.BinarySearch(other, i); !is {
			rest = append(rest, i)
		}
	}
	return rest
}

// writeLabels writes the section of known labels.
func (p Page) writeLabels(b *strings.Builder, now time.Time) {
	x := newIndex(p.Answers)
	cells := x.cells(p.Subject, 0)
	b.WriteString("## Known labels\n\nThe labels of some rows are given as seeds (`--seeds`), drawn at random, at " +
		"least one of each class. ARI on the other rows: a mean over draws. *Best peer* is the best with hindsight, " +
		"set by set. *Seeds kept* is the share of the given labels that the answer agrees with, *pairs kept* the " +
		"share of their pairs that are together or apart as given.\n")
	p.writeMeasured(b, now)
	b.WriteString("\nPeers are scikit-learn, tables prepared as above:" + peersOf(Labels) + ".\n")
	methods := p.columns(Labels, x)
	measure.Head(b, append(append([]string{"labels", "sets", "of"}, methods...), "best peer", "behind it by .02",
		"by .10", "seeds kept", "pairs kept")...)
	for _, percent := range x.percents() {
		for _, group := range []string{Real, Made + " and " + Generated, "all"} {
			in := slices.DeleteFunc(slices.Clone(cells), func(c cell) bool {
				return c.m != percent || group != "all" && (c.group == Real) != (group == Real)
			})
			if len(in) == 0 {
				continue
			}
			line := []string{fmt.Sprintf("%d%%", percent), fmt.Sprint(len(in)), group}
			for _, method := range methods {
				line = append(line, x.meanOver(in, method, fmt.Sprint(percent)))
			}
			var t tally
			behind, seeds, pairs, answered := 0, 0.0, 0.0, 0
			for _, c := range in {
				t.add(c)
				if c.ari < c.peer.ari-0.1 {
					behind++
				}
				for _, a := range c.runs {
					if a.Status == Answered {
						seeds, pairs, answered = seeds+a.Kept, pairs+a.KeptPairs, answered+1
					}
				}
			}
			measure.Row(b, append(line, share(t.peer, t.peers), fmt.Sprint(t.behind), fmt.Sprint(behind),
				share(seeds, answered), share(pairs, answered))...)
		}
	}
	b.WriteString("\nSet by set, the farthest behind first:\n")
	measure.Head(b, append(append([]string{"set", "data", "labels"}, methods...), "seeds kept", "method")...)
	for _, c := range byBehind(cells) {
		line := []string{c.set, c.kind, fmt.Sprintf("%d%%", c.m), c.text()}
		for _, method := range methods[1:] {
			line = append(line, optional(x.mean(c.place, method, nil)))
		}
		seeds := 0.0
		for _, a := range c.runs {
			seeds += a.Kept
		}
		measure.Row(b, append(line, share(seeds, len(c.runs)), strings.Join(c.chosen(), ", "))...)
	}
}

// percents are the shares of the labels that were given.
func (x index) percents() []int {
	var list []int
	for at := range x.answers {
		list = append(list, at.m)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
