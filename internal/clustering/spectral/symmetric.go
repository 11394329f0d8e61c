package spectral

import (
	"cmp"
	"runtime"
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/parallel"
)

// symmetric is a sparse symmetric matrix in compressed rows.
type symmetric struct {
	n      int
	rows   []int32 // rows that have entries
	start  []int
	column []int32
	value  []float64
}

// newSymmetric returns the matrix that has each value at (i, j) and (j, i). Values at the same place add up.
func newSymmetric(n int, values []constraint.Belief) *symmetric {
	entries := slices.Clone(values)
	for _, v := range values {
		if v.I != v.J {
			entries = append(entries, constraint.Belief{I: v.J, J: v.I, Value: v.Value})
		}
	}
	slices.SortStableFunc(entries, func(a, b constraint.Belief) int { return cmp.Or(cmp.Compare(a.I, b.I), cmp.Compare(a.J, b.J)) })
	s := &symmetric{n: n, start: make([]int, n+1)}
	for _, e := range entries {
		if s.start[e.I+1]++; s.start[e.I+1] == 1 {
			s.rows = append(s.rows, e.I)
		}
		s.column, s.value = append(s.column, e.J), append(s.value, e.Value)
	}
	for i := range n {
		s.start[i+1] += s.start[i]
	}
	return s
}

// row returns the columns and values of a row.
func (s *symmetric) row(i int) ([]int32, []float64) {
	return s.column[s.start[i]:s.start[i+1]], s.value[s.start[i]:s.start[i+1]]
}

// multiply adds scale_i S_ij scale_j x_j to every row of dst, for each of several x. Threads share the rows.
func (s *symmetric) multiply(dst, x [][]float64, scale []float64) {
	const entriesPerThread = 1 << 14 // fewer are not worth a thread
	threads := min(runtime.GOMAXPROCS(0), 1+len(s.value)*len(x)/entriesPerThread)
	parallel.Ranges(len(s.rows), max(1, (len(s.rows)+threads-1)/threads), func(from, to int) {
		for _, i := range s.rows[from:to] {
			columns, values := s.row(int(i))
			for v := range x {
				sum := 0.0
				for at, j := range columns {
					sum += float64(float64(values[at]*scale[j]) * x[v][j])
				}
				dst[v][i] += float64(scale[i] * sum)
			}
		}
	})
}
