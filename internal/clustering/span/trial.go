package span

import (
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
)

// trial is a candidate and its loss on every link when that was held out.
type trial struct {
	clustering.CutCandidate
	losses []float64
	// fit returns the factors fitted to the known links of a fold, or to all links (allLinks). It is nil for the rules
	// of the paper, whose losses are violations.
	fit func(fold int) factors
}

func newTrial(rule clustering.CutRule, width int, losses []float64, l *links) *trial {
	return &trial{CutCandidate: clustering.CutCandidate{Rule: rule, Width: width, Loss: l.mean(losses)}, losses: losses}
}

// mean returns the mean of values, one per link, weighted by the weights of links.
func (l *links) mean(values []float64) float64 {
	sum, weights := 0.0, 0.0
	for at, v := range values {
		sum += float64(l.all[at].weight * v)
		weights += l.all[at].weight
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// beats reports whether the losses are smaller than those of another trial by more than two standard errors,
//
//	sum(other - loss) > 2 sqrt(m) std(other - loss)
//
// because otherwise chance among a hundred fits would decide.
func (t *trial) beats(other *trial, l *links) bool {
	m := float64(len(t.losses))
	sum, differences := 0.0, make([]float64, len(t.losses))
	for at, v := range t.losses {
		differences[at] = float64(l.all[at].weight * (other.losses[at] - v))
		sum += differences[at]
	}
	mean, square := sum/m, 0.0
	for _, d := range differences {
		square += float64((d - mean) * (d - mean))
	}
	return sum > 2*math.Sqrt(m)*math.Sqrt(square/m)
}

// better reports whether its labels violated fewer held-out links. If equally many, the loss decides.
func (t *trial) better(other *trial) bool {
	if *t.Violated != *other.Violated {
		return *t.Violated < *other.Violated
	}
	return t.Loss < other.Loss
}

// violations returns 1 for each of some links that the labels violate, otherwise 0. Labels are indexed as links.points.
func (l *links) violations(labels func(point int) int32, of []int) []float64 {
	values := make([]float64, len(of))
	for at, which := range of {
		pair := l.all[which]
		if (labels(pair.i) == labels(pair.j)) != pair.must {
			values[at] = 1
		}
	}
	return values
}
