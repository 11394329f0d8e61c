package spectral

import (
	"runtime"
	"slices"

	"github.com/cleave-project/cleave/internal/numeric/parallel"
)

// symmetric is a sparse symmetric matrix. Call finish after the last add.
type symmetric struct {
	n       int
	entries []entry
	rows    []int32 // rows that have entries
	start   []int
	column  []int32
	value   []float64
}

// entry is a value at row i and column j. Entries at the same place add up.
type entry struct {
	i, j  int32
	value float64
}

func newSymmetric(n int) *symmetric { return &symmetric{n: n} }

// add adds an entry at (i, j) and (j, i).
func (s *symmetric) add(i, j int32, value float64) {
	s.entries = append(s.entries, entry{i, j, value})
	if i != j {
		s.entries = append(s.entries, entry{j, i, value})
	}
}

// finish sorts the entries into rows. It reports a position with two entries, if there is one.
func (s *symmetric) finish() (i, j int32, twice bool) {
	slices.SortStableFunc(s.entries, func(a, b entry) int {
		if a.i != b.i {
			return int(a.i) - int(b.i)
		}
		return int(a.j) - int(b.j)
	})
	s.start = make([]int, s.n+1)
	for at, e := range s.entries {
		if at > 0 && s.entries[at-1].i == e.i && s.entries[at-1].j == e.j {
			i, j, twice = e.i, e.j, true
		}
		s.start[e.i+1]++
		s.column, s.value = append(s.column, e.j), append(s.value, e.value)
	}
	for r := range s.n {
		if s.start[r+1] > 0 {
			s.rows = append(s.rows, int32(r))
		}
		s.start[r+1] += s.start[r]
	}
	s.entries = nil
	return i, j, twice
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
