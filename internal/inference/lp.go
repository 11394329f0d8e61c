package inference

import (
	"math"
	"math/rand/v2"
)

// maxFactorEntries limits the memory of a factor to 512 MiB.
const maxFactorEntries = 1 << 26

// minSteps is about the smallest number of steps that a relaxation takes. If the work limit does not allow that many,
// the relaxation is not started.
const minSteps = 20

// provingGap is the distance from the bound, relative to the value of the relaxation, within which a labeling counts as
// optimal.
const provingGap = 1e-9

// solveLP solves the relaxation of a piece and rounds it. It runs the cheap ascent first, which often solves both; if
// not, and the relaxation is given up, the ascent's labels and bound are the result.
func (s *solver) solveLP(g *graph, prefer []int32) (outcome, Cause, error) {
	a, err := ascend(s.ctx, g, prefer, relativeGap)
	if err != nil {
		return outcome{}, "", err
	}
	if a.solved() {
		return outcome{labels: a.labels, bound: a.bound, exact: true, rounds: a.rounds}, "", nil
	}
	x := relax(g)
	width := make([]int32, x.points())
	for i := range width {
		width[i] = x.first[i+1] - x.first[i] - 1
	}
	e, ok, err := minimumDegree(s.ctx, g, width, s.limits.lpWork/minSteps, maxFactorEntries)
	if err != nil {
		return outcome{}, "", err
	}
	if !ok {
		return outcome{labels: a.labels, bound: a.bound}, OverWorkLimit, nil
	}
	optimum, err := newInterior(x, e, width).run(s.ctx, e.work, s.limits.lpWork)
	if err != nil {
		return outcome{}, "", err
	}
	bound := max(a.bound, g.constant+x.constant+float64(x.scale*optimum.bound))
	if !(optimum.gap() <= enoughGap) {
		cause := LostToRounding
		if float64(optimum.steps+1)*e.work > s.limits.lpWork {
			cause = OverWorkLimit
		}
		return outcome{labels: a.labels, bound: bound}, cause, nil
	}
	proof := bound + float64(provingGap*x.scale*optimum.magnitude()) + g.rounding()
	o := outcome{bound: bound, rounds: optimum.steps}
	least := math.Inf(1)
	candidate := a.labels
	for try := 0; ; try++ {
		if _, err := s.icm(g, candidate); err != nil {
			return outcome{}, "", err
		}
		if energy := g.energy(candidate); energy < least {
			o.labels, least = candidate, energy
		}
		if o.exact = least <= proof; o.exact || try == s.limits.roundings {
			return o, "", nil
		}
		candidate = x.round(optimum.share, g.k, s.rng)
	}
}

// round draws labels from shares (Kleinberg and Tardos 1999). It repeatedly draws a label and a threshold; every point
// without a label whose share of the label exceeds the threshold takes it. Points with similar shares mostly get
// the same label, which is what must-links ask for.
func (x *relaxation) round(y []float64, k int, rng *rand.Rand) []int32 {
	labels := make([]int32, x.points())
	open := make([]int32, x.points())
	share := make([]float64, x.points()*k)
	for i := range open {
		open[i] = int32(i)
		largest := x.first[i]
		for v := x.first[i]; v < x.first[i+1]; v++ {
			share[i*k+int(x.label[v])] = y[v]
			if y[v] > y[largest] {
				largest = v
			}
		}
		labels[i] = x.label[largest] // for points that never take a label below
	}
	for try := 0; len(open) > 0 && try < 1000*k; try++ {
		label := int32(rng.IntN(k))
		threshold := rng.Float64()
		left := open[:0]
		for _, i := range open {
			if share[int(i)*k+int(label)] > threshold {
				labels[i] = label
			} else {
				left = append(left, i)
			}
		}
		open = left
	}
	return labels
}
