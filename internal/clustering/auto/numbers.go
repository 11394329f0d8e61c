package auto

import (
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
)

// numbersBySeeds returns new numbers for clusters that match the labels of seeds, matching the cluster and label that
// most seeds have in common first. Clusters without seeds get the remaining numbers.
func numbersBySeeds(k int, labels []int32, seeds []heldout.Seed) []int32 {
	count := make(map[[2]int32]int)
	for _, s := range seeds {
		count[[2]int32{labels[s.Point], s.Label}]++
	}
	common := make([][2]int32, 0, len(count)) // pairs of cluster and label
	for pair := range count {
		common = append(common, pair)
	}
	slices.SortFunc(common, func(a, b [2]int32) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return slices.Compare(a[:], b[:])
	})
	numbers, taken := clustering.Unassigned(k), make([]bool, k)
	for _, pair := range common {
		if cluster, label := pair[0], pair[1]; numbers[cluster] < 0 && !taken[label] {
			numbers[cluster], taken[label] = label, true
		}
	}
	for cluster, number := range numbers {
		if number < 0 {
			free := slices.Index(taken, false)
			numbers[cluster], taken[free] = int32(free), true
		}
	}
	return numbers
}

// renumber gives the clusters of a result new numbers.
func renumber(r *clustering.Result, numbers []int32) {
	r.Labels = slices.Clone(r.Labels)
	for i, c := range r.Labels {
		r.Labels[i] = numbers[c]
	}
	if r.Model == nil {
		return
	}
	model, d := *r.Model, r.Model.D
	model.Centroids = make([]float64, len(r.Model.Centroids))
	for c, number := range numbers {
		copy(model.Centroids[int(number)*d:], r.Model.Centroids[c*d:(c+1)*d])
	}
	r.Model = &model
}
