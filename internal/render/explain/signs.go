package explain

import (
	"cmp"
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// signs are what may be wrong with an answer. Paragraphs describe them, and the advice depends on them.
type signs struct {
	lowAccuracy  bool                    // the chosen method hardly predicts held-out supervision
	manyViolated bool                    // constraints
	violated     []constraint.Constraint // the heaviest first; nil if they are not known
	atFault      []pointAtFault          // the points with the most violated constraints first

	empty, tiny []int   // clusters
	huge        int     // the cluster with nearly all points, or -1
	hugeShare   float64 // its share of the points

	unsure     []int32 // points of low confidence, the lowest first
	manyUnsure bool
}

// pointAtFault is a point in several violated constraints.
type pointAtFault struct {
	point         int32
	violated, all int // constraints
}

const (
	lowHeldOut    = 0.5 // a method with a lower held-out accuracy says little
	manyShare     = 0.1 // of the constraints, or of the points: more are many
	minHugeShare  = 0.9 // of the points: a larger cluster has nearly all
	smallPart     = 20  // a cluster with less than this part of an even share is tiny
	lowConfidence = 0.7 // a point with a lower one may as well be in another cluster
)

// signsOf finds the signs in an answer.
func signsOf(f Facts) signs {
	s := signs{huge: -1}
	if taken, _ := compared(f.Result.GetChoice()); taken != nil {
		s.lowAccuracy = taken.GetAgreement() < lowHeldOut
	}
	if c := f.Result.GetConstraints(); c.GetSatisfied() < c.GetTotal() {
		s.manyViolated = float64(c.GetTotal()-c.GetSatisfied()) > manyShare*float64(c.GetTotal())
		if !f.ConstraintsUnknown {
			s.violated = violated(f)
			s.atFault = pointsAtFault(f.Constraints, s.violated)
		}
	}
	if sizes := f.Result.GetClusterSizes(); len(sizes) > 1 {
		s.findClusters(sizes)
		s.unsure = unsure(f.Confidence)
		s.manyUnsure = float64(len(s.unsure)) > manyShare*float64(len(f.Confidence))
	}
	return s
}

// compared returns the scores of the method that auto chose, and of the best other one. Each is nil if there is none.
func compared(c *cleavev1.Choice) (taken, next *cleavev1.MethodScore) {
	for _, t := range c.GetTried() {
		switch {
		case SameMethod(t.GetMethod(), c.GetChosen()):
			taken = t
		case next == nil || t.GetAgreement() > next.GetAgreement():
			next = t
		}
	}
	return taken, next
}

// violated returns the constraints that the labels violate, the heaviest first.
func violated(f Facts) (all []constraint.Constraint) {
	for _, c := range f.Constraints {
		if int(max(c.I, c.J)) >= len(f.Labels) {
			continue
		}
		if together := f.Labels[c.I] == f.Labels[c.J]; together != (c.Kind == constraint.MustLink) {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b constraint.Constraint) int { return cmp.Compare(weight(b), weight(a)) })
	return all
}

func weight(c constraint.Constraint) float64 {
	if c.Weighted {
		return c.Weight
	}
	return 1
}

// pointsAtFault returns points with at least three violated constraints that are more than half of all they have.
func pointsAtFault(constraints, violated []constraint.Constraint) (points []pointAtFault) {
	wrong, all := map[int32]int{}, map[int32]int{}
	for _, c := range violated {
		wrong[c.I]++
		wrong[c.J]++
	}
	for _, c := range constraints {
		all[c.I]++
		all[c.J]++
	}
	for point, count := range wrong {
		if count >= 3 && 2*count > all[point] {
			points = append(points, pointAtFault{point, count, all[point]})
		}
	}
	slices.SortFunc(points, func(a, b pointAtFault) int {
		return cmp.Or(cmp.Compare(b.violated, a.violated), cmp.Compare(a.point, b.point))
	})
	return points
}

// findClusters finds clusters that are empty, tiny or huge.
func (s *signs) findClusters(sizes []uint32) {
	total := 0
	for _, size := range sizes {
		total += int(size)
	}
	for c, size := range sizes {
		switch {
		case size == 0:
			s.empty = append(s.empty, c)
		case int(size)*smallPart*len(sizes) < total:
			s.tiny = append(s.tiny, c)
		}
		if share := float64(size) / float64(max(total, 1)); share > minHugeShare {
			s.huge, s.hugeShare = c, share
		}
	}
}

// unsure returns the points of low confidence, the lowest first.
func unsure(confidence []float64) (points []int32) {
	for i, c := range confidence {
		if c < lowConfidence {
			points = append(points, int32(i))
		}
	}
	slices.SortStableFunc(points, func(a, b int32) int { return cmp.Compare(confidence[a], confidence[b]) })
	return points
}
