package inference

import (
	"math"
	"testing"
)

// literalRelaxation is Bilenko2004 (8)-(15) word for word, with all violation variables and both inequalities, solved
// by a dense simplex that has nothing in common with the solver under test.
func literalRelaxation(t *testing.T, p *terms) float64 {
	t.Helper()
	n := p.points()
	k := p.k
	tableau := &denseSimplex{}
	share := func(i int32, label int) int { return int(i)*k + label }
	violation := func(pair, label int) int { return n*k + pair*k + label }
	slack := func(row int) int { return n*k + len(p.pairs)*k + row - n }
	columns := n*k + 3*len(p.pairs)*k
	tableau.cost = make([]float64, columns)
	copy(tableau.cost, p.unary)
	for i := range int32(n) { // (9); all points start at label 0
		row := make([]float64, columns)
		for label := range k {
			row[share(i, label)] = 1
		}
		tableau.add(row, 1, share(i, 0))
	}
	for at, pair := range p.pairs {
		for label := range k {
			z := violation(at, label)
			i := share(pair.I, label)
			j := share(pair.J, label)
			first := make([]float64, columns)
			second := make([]float64, columns)
			slack1 := slack(len(tableau.rows))
			slack2 := slack(len(tableau.rows) + 1)
			if pair.MustLink {
				tableau.cost[z] = pair.Cost / 2 // (11)
				first[z], first[i], first[j], first[slack1] = -1, 1, -1, 1
				second[z], second[i], second[j], second[slack2] = -1, -1, 1, 1
				tableau.add(first, 0, slack1)  // (12)
				tableau.add(second, 0, slack2) // (13)
				continue
			}
			tableau.cost[z] = pair.Cost
			first[z], first[i], first[j], first[slack1] = 1, -1, -1, 1
			second[z], second[i], second[j], second[slack2] = -1, 1, 1, 1
			basic := slack2
			if label == 0 {
				basic = z // both points start here, so the pair is violated
			}
			tableau.add(first, 0, slack1) // (14)
			tableau.add(second, 1, basic) // (15)
		}
	}
	return tableau.minimize(t)
}

// denseSimplex is the tableau method with Bland's rule, which cannot cycle, from a given basis.
type denseSimplex struct {
	rows  [][]float64 // with the right-hand side as the last column
	basis []int
	cost  []float64
}

func (s *denseSimplex) add(row []float64, right float64, basic int) {
	s.rows = append(s.rows, append(row, right))
	s.basis = append(s.basis, basic)
}

func (s *denseSimplex) minimize(t *testing.T) float64 {
	t.Helper()
	reduced := append(append([]float64(nil), s.cost...), 0)
	s.rows = append(s.rows, reduced)
	for row, column := range s.basis {
		s.pivot(row, column)
	}
	right := len(s.cost)
	for range 100_000 {
		column := 0
		for column < right && reduced[column] > -1e-11 {
			column++
		}
		if column == right {
			return -reduced[right]
		}
		leaving := -1
		least := math.Inf(1)
		for row, basic := range s.basis {
			if s.rows[row][column] < 1e-11 {
				continue
			}
			ratio := s.rows[row][right] / s.rows[row][column]
			if ratio < least-1e-12 || ratio <= least+1e-12 && basic < s.basis[leaving] {
				leaving, least = row, min(least, ratio)
			}
		}
		if leaving < 0 {
			t.Fatal("the relaxation is not bounded")
		}
		s.basis[leaving] = column
		s.pivot(leaving, column)
	}
	t.Fatal("the simplex method does not end")
	return 0
}

func (s *denseSimplex) pivot(row, column int) {
	scale := s.rows[row][column]
	for c := range s.rows[row] {
		s.rows[row][c] /= scale
	}
	for r := range s.rows {
		factor := s.rows[r][column]
		if r == row || factor == 0 {
			continue
		}
		for c, x := range s.rows[row] {
			s.rows[r][c] -= factor * x
		}
	}
}
