package picture

// evenSample returns at most limit of the indices 0..n-1, evenly spaced, including the first and the last.
func evenSample(n, limit int) []int {
	if n <= limit || limit < 2 {
		chosen := make([]int, min(n, max(limit, 0)))
		for at := range chosen {
			chosen[at] = at
		}
		return chosen
	}
	chosen := make([]int, limit)
	for at := range chosen {
		chosen[at] = int(int64(at) * int64(n-1) / int64(limit-1))
	}
	return chosen
}
