package constraint

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cleave-project/cleave/internal/invalid"
)

// countOfClasses returns the number of constraints that OfClasses would make, without a limit.
func countOfClasses(classes []int32) int64 {
	members := map[int32]int64{}
	for _, class := range classes {
		members[class]++
	}
	count := int64(0)
	for rank, size := range slices.Sorted(maps.Values(members)) { // it is the larger one in rank pairs of classes
		count += size - 1 + int64(rank)*size
	}
	return count
}

// OfClasses returns a small set of constraints that implies the classes of points: a must-link from each point of a
// class to the next, and for every two classes one cannot-link for each point of the larger one. classes[i] is the
// class of points[i]. It returns an error if there are more than MaxEntailed constraints, which grow with the number of
// classes times that of points, or that of allow, which gets their number before they are made.
func OfClasses(points, classes []int32, allow func(constraints int64) error) ([]Constraint, error) {
	count := countOfClasses(classes)
	if err := allow(count); err != nil {
		return nil, err
	}
	if count > MaxEntailed {
		return nil, invalid.New(invalid.TooManyOfClasses, "labels", len(points), "constraints", count,
			"limit", MaxEntailed)
	}
	members := map[int32][]int32{}
	var order []int32
	for at, class := range classes {
		if members[class] == nil {
			order = append(order, class)
		}
		members[class] = append(members[class], points[at])
	}
	slices.Sort(order)
	pairs := make([]Constraint, 0, count)
	for _, class := range order {
		mine := members[class]
		for at := 1; at < len(mine); at++ {
			pairs = append(pairs, Constraint{I: mine[at-1], J: mine[at], Kind: MustLink})
		}
		for _, other := range order {
			if theirs := members[other]; other > class {
				for at := range max(len(mine), len(theirs)) {
					pairs = append(pairs, Constraint{I: mine[at%len(mine)], J: theirs[at%len(theirs)],
						Kind: CannotLink})
				}
			}
		}
	}
	return pairs, nil
}

// SeededPoint is a point with the labels that it may have, in ascending order, and their probabilities, which sum to 1.
type SeededPoint struct {
	Point   int32
	Labels  []int32
	Chances []float64
}

// GatherSeeds groups seeds by point, in ascending order, and scales the probabilities of each point to sum to 1.
func GatherSeeds(given []Seed) []SeededPoint {
	sorted := slices.Clone(given)
	slices.SortStableFunc(sorted, func(a, b Seed) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Label, b.Label))
	})
	var seeds []SeededPoint
	for _, s := range sorted {
		chance := s.Probability
		if chance == 0 {
			chance = 1
		}
		last := len(seeds) - 1
		if last < 0 || seeds[last].Point != s.Index {
			seeds = append(seeds, SeededPoint{Point: s.Index})
			last++
		}
		merged := &seeds[last]
		if at := len(merged.Labels) - 1; at >= 0 && merged.Labels[at] == s.Label {
			if s.Probability != 0 { // a certain seed that is given twice stays certain
				merged.Chances[at] += chance
			}
			continue
		}
		merged.Labels = append(merged.Labels, s.Label)
		merged.Chances = append(merged.Chances, chance)
	}
	for at := range seeds {
		total := 0.0
		for _, chance := range seeds[at].Chances {
			total += chance
		}
		for i := range seeds[at].Chances {
			seeds[at].Chances[i] /= total
		}
	}
	return seeds
}
