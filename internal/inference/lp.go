package inference

import "math/rand/v2"

// The room that a factor may take: 512 MiB.
const roomForFactor = 1 << 26

// A relaxation takes about this many steps at least; one whose steps are dearer is not begun.
const fewestSteps = 20

// A labelling this near to the bound is optimal, relative to the value of the relaxation.
const provingGap = 1e-9

// roundedLP solves the relaxation of a piece and rounds it. When it gives up it says why, and the
// bound is still one: that of the last step, or what each point costs at least.
func (s *solver) roundedLP(g *graph) (outcome, Cause, error) {
	x := relax(g)
	bound := g.constant + x.constant
	width := make([]int32, x.points())
	for i := range width {
		width[i] = x.first[i+1] - x.first[i] - 1
	}
	e, ok := minimumDegree(g, width, s.options.LPWork/fewestSteps, roomForFactor)
	if !ok {
		return outcome{bound: bound}, OverWorkLimit, nil
	}
	optimum, err := newInterior(x, e, width).run(s.ctx, e.work, s.options.LPWork)
	if err != nil {
		return outcome{}, "", err
	}
	bound += float64(x.scale * optimum.bound)
	if optimum.gap() > enoughGap {
		cause := LostToRounding
		if float64(optimum.steps+1)*e.work > s.options.LPWork {
			cause = OverWorkLimit
		}
		return outcome{bound: bound}, cause, nil
	}
	o := outcome{bound: bound, by: LP, rounds: optimum.steps}
	proof := bound + float64(provingGap*x.scale*max(1, optimum.value)) + g.rounding()
	least := 0.0
	for try := range s.options.Roundings {
		labels := x.round(optimum.y, g.k, s.rng)
		if _, err := icm(s.ctx, g, labels, s.rng); err != nil {
			return outcome{}, "", err
		}
		if energy := g.energy(labels); try == 0 || energy < least {
			o.labels, least = labels, energy
		}
		if o.exact = least <= proof; o.exact {
			break
		}
	}
	return o, "", nil
}

// round draws labels from shares (Kleinberg and Tardos 1999): a random label and a random threshold at a
// time, and every point that is still without a label and has more than the threshold of it takes it.
// Points with alike shares get alike labels, which is what must-links ask for.
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
		labels[i] = x.label[largest] // for those that luck leaves out
	}
	for try := 0; len(open) > 0 && try < 1000*k; try++ {
		label, threshold := int32(rng.IntN(k)), rng.Float64()
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
