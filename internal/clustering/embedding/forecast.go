package embedding

import "math"

// forecast tells from the residuals of an eigensolver so far how many steps are left. Once a search has
// found its subspace its residuals come down by about the same factor in every step. So the line of
// their logarithms over the last half of the steps is drawn on to the tolerance; where that half does
// not come down for certain, nothing is said.
type forecast struct {
	tolerance float64
	products  int // that end the search in any case

	logs []float64 // to the base 2, of the residuals
}

// Before so many steps there is no line.
const fewestSteps = 6

// surely is how many standard errors a slope must be below 0.
const surely = 3

// next hears of a step: its largest residual, and the products up to then.
func (f *forecast) next(residual float64, products int) (stepsLeft int, known bool) {
	f.logs = append(f.logs, log2(residual))
	if residual <= f.tolerance {
		return 0, true
	}
	steps := len(f.logs)
	if steps < fewestSteps {
		return 0, false
	}
	last := f.logs[min(steps/2, steps-fewestSteps):]
	middle, slope, uncertainty := trend(last)
	if !(slope+float64(surely*uncertainty) < 0) {
		return 0, false
	}
	end := float64(len(last)-1) / 2 // from the middle of the steps
	left := (log2(f.tolerance)-middle)/slope - end
	most := float64(max(0, f.products-products)) / (float64(max(1, products)) / float64(steps))
	return int(math.Ceil(max(1, min(left, most)))), true
}

// trend is the least squares line through values one step apart: its value in their middle, its slope, and
// the standard error of that.
func trend(values []float64) (middle, slope, uncertainty float64) {
	n := float64(len(values))
	for _, v := range values {
		middle += v / n
	}
	squares, products, rest := 0.0, 0.0, 0.0
	for at, v := range values {
		x := float64(at) - (n-1)/2
		squares += float64(x * x)
		products += float64(x * (v - middle))
	}
	slope = products / squares
	for at, v := range values {
		x := float64(at) - (n-1)/2
		off := v - middle - float64(slope*x)
		rest += float64(off * off)
	}
	return middle, slope, math.Sqrt(rest / (n - 2) / squares)
}

// log2 is the logarithm to within 0.09: straight between powers of two. A forecast is part of the events
// of a job, which are the same on every machine; a library's logarithm need not be.
func log2(v float64) float64 {
	if !(v > 0) {
		return -1075 // below all that is above 0
	}
	fraction, exponent := math.Frexp(v) // in [1/2, 1)
	return float64(exponent) - 2 + float64(2*fraction)
}
