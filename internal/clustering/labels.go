package clustering

// Unassigned are the labels of n points that have none yet.
func Unassigned(n int) []int32 {
	labels := make([]int32, n)
	for i := range labels {
		labels[i] = -1
	}
	return labels
}

// Ones are n ones.
func Ones(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = 1
	}
	return values
}
