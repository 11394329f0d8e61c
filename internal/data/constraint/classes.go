package constraint

import "slices"

// OfClasses are constraints that follow from the classes of points, as few as tell them all: a must-link from each point of a class
// to the next, and for every two classes a cannot-link for each point of the larger one. The classes are those of the points, in
// order.
func OfClasses(points, classes []int32) []Constraint {
	members := map[int32][]int32{}
	var order []int32
	for at, class := range classes {
		if members[class] == nil {
			order = append(order, class)
		}
		members[class] = append(members[class], points[at])
	}
	slices.Sort(order)
	var pairs []Constraint
	for _, class := range order {
		mine := members[class]
		for at := 1; at < len(mine); at++ {
			pairs = append(pairs, Constraint{I: mine[at-1], J: mine[at], Kind: MustLink})
		}
		for _, other := range order {
			if theirs := members[other]; other > class {
				for at := range max(len(mine), len(theirs)) {
					pairs = append(pairs, Constraint{I: mine[at%len(mine)], J: theirs[at%len(theirs)], Kind: CannotLink})
				}
			}
		}
	}
	return pairs
}
