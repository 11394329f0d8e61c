package embedding

import "math"

// forecast estimates the number of remaining steps of an eigensolver from its residuals so far. Once a search has found
// its subspace, residuals decrease by about the same factor in every step. So a line is fitted to their logarithms over
// the last half of the steps and extended to the tolerance. There is no estimate unless the line clearly decreases.
type forecast struct {
	tolerance float64
	products  int // the limit of products, which ends the search

	logs []float64 // base-2 logarithms of the residuals
}

// minSteps is the minimum number of steps to fit a line to.
const minSteps = 6

// minStandardErrors is how many standard errors the slope must be below 0.
const minStandardErrors = 3

// next records a step's largest residual and the number of products so far, and returns the estimate.
func (f *forecast) next(residual float64, products int) (stepsLeft int, known bool) {
	f.logs = append(f.logs, log2(residual))
	if residual <= f.tolerance {
		return 0, true
	}
	steps := len(f.logs)
	if steps < minSteps {
		return 0, false
	}
	last := f.logs[min(steps/2, steps-minSteps):]
	middle, slope, uncertainty := trend(last)
	if !(slope+float64(minStandardErrors*uncertainty) < 0) {
		return 0, false
	}
	end := float64(len(last)-1) / 2                // from the middle of the steps
	left := (log2(f.tolerance)-middle)/slope - end // exact, fused or not
	most := float64(max(0, f.products-products)) / (float64(max(1, products)) / float64(steps))
	return int(math.Ceil(max(1, min(left, most)))), true
}

// trend returns the least squares line through equally spaced values: its value in the middle, its slope, and the
// standard error of the slope.
func trend(values []float64) (middle, slope, uncertainty float64) {
	n := float64(len(values))
	for _, v := range values {
		middle += v / n
	}
	squares, products, rest := 0.0, 0.0, 0.0
	for i, v := range values {
		x := float64(i) - (n-1)/2 // exact, fused or not
		squares += float64(x * x)
		products += float64(x * (v - middle))
	}
	slope = products / squares
	for i, v := range values {
		x := float64(i) - (n-1)/2 // exact, fused or not
		off := v - middle - float64(slope*x)
		rest += float64(off * off)
	}
	return middle, slope, math.Sqrt(rest / (n - 2) / squares)
}

// log2 returns the base-2 logarithm to within 0.09, by linear interpolation between powers of two. Forecasts are among
// the events of a job, which must be the same on every machine; math.Log2 need not be.
func log2(v float64) float64 {
	if !(v > 0) {
		return -1075 // below the logarithm of every positive number
	}
	fraction, exponent := math.Frexp(v) // in [1/2, 1)
	return float64(exponent) - 2 + float64(2*fraction)
}
