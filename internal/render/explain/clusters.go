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
	hugeShare = 0.9 // of the points: a larger cluster has nearly all
	smallPart = 20  // a cluster with less than this part of an even share is tiny
)

// clusters says which clusters look wrong: empty, tiny, or with nearly everything. A notice names those of a single
// point.
func (e *explainer) clusters() (all []string) {
	sizes := e.r.GetClusterSizes()
	if len(sizes) < 2 {
		return nil
	}
	var empty, tiny []int
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
		case int(size)*smallPart*len(sizes) < total:
			tiny = append(tiny, c)
		}
	}
	if smallest := text.Plural(int(slices.Min(sizes)), "point"); slices.Min(sizes) == slices.Max(sizes) {
		all = append(all, "Each cluster has "+smallest+".")
	} else {
		all = append(all, fmt.Sprintf("The smallest cluster has %s, the largest %d.", smallest, slices.Max(sizes)))
	}
	if len(empty) > 0 {
		all = append(all, fmt.Sprintf("%s no point: %s.", text.Count(len(empty), "cluster has", "clusters have"),
			e.named(empty)))
	}
	if len(tiny) > 0 {
		all = append(all, fmt.Sprintf("%s much smaller than the others: %s.", text.Count(len(tiny), "cluster is",
			"clusters are"), e.named(tiny)))
	}
	if share := float64(sizes[largest]) / float64(max(total, 1)); share > hugeShare {
		all = append(all,
			fmt.Sprintf("Cluster %s has %.0f%% of all points: the others contain little more than outliers.",
				e.named([]int{largest}), 100*share))
		e.oneHuge = true
	}
	if len(all) == 1 && !e.warned("SINGLETON_CLUSTERS") {
		all = append(all, "No cluster has a suspicious size.")
	}
	return append(all, e.confidence()...)
}

// named lists the first of some clusters, with their classes.
func (e *explainer) named(clusters []int) string {
	var names []string
	for _, cluster := range clusters {
		name := strconv.Itoa(cluster)
		if cluster < len(e.Classes) && e.Classes[cluster] != "" {
			name += " (" + e.Classes[cluster] + ")"
		}
		names = append(names, name)
	}
	return text.First(names, listed)
}

// lowConfidence is the confidence below which a point may as well be in another cluster.
const lowConfidence = 0.7

// confidence says how many points other runs put into other clusters, or a mixture is unsure about.
func (e *explainer) confidence() []string {
	var points []int32
	for i, c := range e.Confidence {
		if c < lowConfidence {
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
	e.unsurePoints = float64(len(points)) > manyShare*float64(len(e.Confidence))
	if e.r.GetRowScores().GetPosterior() {
		return []string{fmt.Sprintf("By the mixture of Gaussians, %s in a cluster with a probability below %g, "+
			"the lowest %s.",
			text.Count(len(points), "point is", "points are"), lowConfidence, strings.Join(names, ", "))}
	}
	runs := "Restarts"
	if e.r.GetChoice() != nil {
		runs = "Restarts and folds"
	}
	return []string{fmt.Sprintf("%s disagree about %s, above all about %s.", runs, text.Plural(len(points), "point"),
		strings.Join(names, ", "))}
}
