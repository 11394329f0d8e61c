package explain

import (
	"fmt"
	"slices"

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
		all = append(all, fmt.Sprintf("%s without any point: %s.", are(len(empty)), text.First(empty, listed)))
		e.suspect(emptyClusters)
	}
	if len(single) > 0 && total > 2*len(sizes) {
		all = append(all, fmt.Sprintf("%s of a single point, often one far away from all others: %s.", are(len(single)), text.First(single, listed)))
		e.suspect(singlePoints)
	}
	if len(tiny) > 0 {
		all = append(all, fmt.Sprintf("%s far smaller than the others would lead to expect: %s.", are(len(tiny)), text.First(tiny, listed)))
	}
	if share := float64(sizes[largest]) / float64(max(total, 1)); share > hugeShare {
		all = append(all, fmt.Sprintf("Cluster %d has %.0f %% of all points: the others are hardly more than outliers.", largest, 100*share))
		e.suspect(oneHuge)
	}
	if len(all) == 1 {
		all = append(all, "None looks wrong by its size.")
	}
	return all
}

func are(count int) string {
	if count == 1 {
		return "1 cluster is"
	}
	return fmt.Sprintf("%d clusters are", count)
}
