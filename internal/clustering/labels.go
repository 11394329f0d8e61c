package clustering

// Unassigned returns n labels of -1, which means that the points have no labels yet.
func Unassigned(n int) []int32 {
	labels := make([]int32, n)
	for i := range labels {
		labels[i] = -1
	}
	return labels
}

// Ones returns n ones, the weights of points that all count the same.
func Ones(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = 1
	}
	return values
}
