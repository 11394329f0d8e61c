package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/text"
)

const (
	// hugeShare is the share of the points from which on one cluster has nearly all.
	hugeShare = 0.9
	// smallPart is the part of an even share below which a cluster is tiny.
	smallPart = 20
)

// clusters says which clusters look wrong: empty, of a single point, tiny, or with nearly everything.
func (e *explainer) clusters() (all []string) {
	sizes := e.r.GetClusterSizes()
	if len(sizes) < 2 {
		return nil
	}
	var empty, single, tiny []int
	total, largest := 0, 0
	for c, size := range sizes {
		total += int(size)
		if sizes[largest] < size {
			largest = c
		}
	}
	for c, size := range sizes {
		switch {
		case size == 0:
			empty = append(empty, c)
		case size == 1:
			single = append(single, c)
		case int(size)*smallPart*len(sizes) < total:
			tiny = append(tiny, c)
		}
	}
	all = append(all, fmt.Sprintf("The smallest has %s, the largest %d.", text.Plural(int(slices.Min(sizes)), "point"), slices.Max(sizes)))
	if len(empty) > 0 {
		all = append(all, fmt.Sprintf("%s without any point: %s.", are(len(empty)), e.named(empty)))
		e.suspect(emptyClusters)
	}
	if len(single) > 0 && total > 2*len(sizes) {
		all = append(all, fmt.Sprintf("%s of a single point, often one far away from all others: %s.", are(len(single)), e.named(single)))
		e.suspect(singlePoints)
	}
	if len(tiny) > 0 {
		all = append(all, fmt.Sprintf("%s far smaller than the others would lead to expect: %s.", are(len(tiny)), e.named(tiny)))
	}
	if share := float64(sizes[largest]) / float64(max(total, 1)); share > hugeShare {
		all = append(all, fmt.Sprintf("Cluster %s has %.0f %% of all points: the others are hardly more than outliers.", e.named([]int{largest}), 100*share))
		e.suspect(oneHuge)
	}
	if len(all) == 1 {
		all = append(all, "None looks wrong by its size.")
	}
	return append(all, e.sureness()...)
}

// named are the first of some clusters, with their classes.
func (e *explainer) named(clusters []int) string {
	var names []string
	for _, cluster := range clusters[:min(len(clusters), listed)] {
		name := strconv.Itoa(cluster)
		if cluster < len(e.Classes) && e.Classes[cluster] != "" {
			name += " (" + e.Classes[cluster] + ")"
		}
		names = append(names, name)
	}
	if more := len(clusters) - listed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), more)
	}
	return strings.Join(names, ", ")
}

// unsure is the confidence below which a point may as well be elsewhere.
const unsure = 0.7

// sureness says how many points the runs put elsewhere.
func (e *explainer) sureness() []string {
	var points []int32
	for i, c := range e.Confidence {
		if c < unsure {
			points = append(points, int32(i))
		}
	}
	if len(points) == 0 {
		return nil
	}
	slices.SortStableFunc(points, func(a, b int32) int { return cmp.Compare(e.Confidence[a], e.Confidence[b]) })
	var names []string
	for _, i := range points[:min(len(points), listed)] {
		names = append(names, fmt.Sprintf("%s (%.2f)", e.point(i), e.Confidence[i]))
	}
	if float64(len(points)) > manyShare*float64(len(e.Confidence)) {
		e.suspect(unsurePoints)
	}
	runs := "Restarts"
	if e.r.GetChoice() != nil {
		runs = "Restarts and folds"
	}
	return []string{fmt.Sprintf("%s do not agree on %s, least on %s.", runs, text.Plural(len(points), "point"), strings.Join(names, ", "))}
}

func are(count int) string {
	if count == 1 {
		return "1 cluster is"
	}
	return fmt.Sprintf("%d clusters are", count)
}
