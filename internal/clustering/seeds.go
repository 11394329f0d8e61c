package clustering

import "slices"

// seed is a point and the labels that it may have, with their chances, which add up to 1.
type seed struct {
	point   int32
	labels  []int32
	chances []float64
}

// gatherSeeds brings the seeds of each point together, points ascending, and scales their chances.
func gatherSeeds(given []Seed) []seed {
	sorted := slices.Clone(given)
	slices.SortStableFunc(sorted, func(a, b Seed) int {
		if a.Index != b.Index {
			return int(a.Index) - int(b.Index)
		}
		return int(a.Label) - int(b.Label)
	})
	var seeds []seed
	for _, s := range sorted {
		chance := s.Probability
		if chance == 0 {
			chance = 1
		}
		last := len(seeds) - 1
		if last < 0 || seeds[last].point != s.Index {
			seeds = append(seeds, seed{point: s.Index})
			last++
		}
		of := &seeds[last]
		if at := len(of.labels) - 1; at >= 0 && of.labels[at] == s.Label {
			if s.Probability != 0 { // said again: certain stays certain
				of.chances[at] += chance
			}
			continue
		}
		of.labels, of.chances = append(of.labels, s.Label), append(of.chances, chance)
	}
	for at := range seeds {
		total := 0.0
		for _, chance := range seeds[at].chances {
			total += chance
		}
		for i := range seeds[at].chances {
			seeds[at].chances[i] /= total
		}
	}
	return seeds
}
