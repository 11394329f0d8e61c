package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/text"
)

// clusters says which clusters look wrong: empty, tiny, or with nearly everything. A notice names those of a single
// point.
func (e *explainer) clusters() (all []string) {
	sizes := e.r.GetClusterSizes()
	if len(sizes) < 2 {
		return nil
	}
	signs := e.signs
	if smallest := text.Plural(int(slices.Min(sizes)), "point"); slices.Min(sizes) == slices.Max(sizes) {
		all = append(all, "Each cluster has "+smallest+".")
	} else {
		all = append(all, fmt.Sprintf("The smallest cluster has %s, the largest %d.", smallest, slices.Max(sizes)))
	}
	if len(signs.empty) > 0 {
		all = append(all, fmt.Sprintf("%s no point: %s.", text.Count(len(signs.empty), "cluster has", "clusters have"),
			e.named(signs.empty)))
	}
	if len(signs.tiny) > 0 {
		all = append(all, fmt.Sprintf("%s much smaller than the others: %s.", text.Count(len(signs.tiny), "cluster is",
			"clusters are"), e.named(signs.tiny)))
	}
	if signs.huge >= 0 {
		all = append(all,
			fmt.Sprintf("Cluster %s has %.0f%% of all points: the others contain little more than outliers.",
				e.named([]int{signs.huge}), 100*signs.hugeShare))
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

// confidence says how many points other runs put into other clusters, or a mixture is unsure about.
func (e *explainer) confidence() []string {
	points := e.signs.unsure
	if len(points) == 0 {
		return nil
	}
	var names []string
	for _, i := range points[:min(len(points), listed)] {
		names = append(names, fmt.Sprintf("%s (%.2f)", e.point(i), e.Confidence[i]))
	}
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
