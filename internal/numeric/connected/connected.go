// Package connected divides graphs into their connected parts.
package connected

import "slices"

// Parts returns the parts of a graph of n vertices that edges connect, in the order of their first vertices. It looks
// only for parts that contain one of the given vertices. The vertices of a part ascend. The slice that neighbors
// returns is used only until its next call.
func Parts(n int, vertices []int32, neighbors func(v int32) []int32) (parts [][]int32) {
	seen := make([]bool, n)
	for _, first := range vertices {
		if seen[first] {
			continue
		}
		seen[first] = true
		part := []int32{first}
		for at := 0; at < len(part); at++ {
			for _, u := range neighbors(part[at]) {
				if !seen[u] {
					seen[u] = true
					part = append(part, u)
				}
			}
		}
		slices.Sort(part)
		parts = append(parts, part)
	}
	return parts
}
