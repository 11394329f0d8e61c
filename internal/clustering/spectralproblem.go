package clustering

import (
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// SpectralProblem is a spec of the spectral family made exact for its data. The affinity is that of the
// cuts of kernel k-means (Kulis2009 Table 3), and so is what is reported of the labels.
type SpectralProblem struct {
	*Problem
	options Spectral
	data    dataset.Dataset // for single affinities
	beliefs *symmetric      // Q of ConstrainedSpectral
	// Constraints as they are given, also where they are not part of the matrix.
	given *constraint.Set
}

// PrepareSpectral checks a spec of the spectral family against the data and resolves it.
func PrepareSpectral(data dataset.Dataset, spec Spec) (*SpectralProblem, error) {
	if err := Validate(data.Kind(), data.Rows(), spec); err != nil {
		return nil, err
	}
	o := *spec.Spectral
	p := &SpectralProblem{options: o, data: data}
	base := spec
	base.Spectral = nil
	base.Restarts, base.MaxIterations = 1, 0
	base.KernelKmeans = &KernelKmeans{
		Objective: ObjectiveNormalizedCut, Function: o.Function, Rho: o.Rho, Gamma: o.Gamma, Coef0: o.Coef0, Degree: o.Degree, KeepDiag: o.KeepDiag,
	}
	weight := constraint.UnitWeight
	if o.Algorithm == SpectralClustering {
		weight = constraint.KulisWeight(data.Rows(), spec.K)
		if o.Objective == ObjectiveRatioAssociation {
			base.KernelKmeans.Objective = ObjectiveRatioAssociation
		}
	} else {
		base.Constraints, base.Entail = nil, false // they are no part of the matrix
	}
	var err error
	if p.Problem, err = Prepare(data, base); err != nil {
		return nil, err
	}
	if p.given, err = newSet(p.n, spec, weight); err != nil {
		return nil, err
	}
	if notice, conflicting := conflicts(p.given); conflicting && o.Algorithm != SpectralClustering {
		p.Warnings = append(p.Warnings, notice)
	}
	if o.Algorithm == ConstrainedSpectral {
		p.beliefs, err = p.beliefMatrix()
	}
	return p, err
}

// beliefMatrix is Q: +weight for must-links, -weight for cannot-links, or the beliefs as they are given.
func (p *SpectralProblem) beliefMatrix() (*symmetric, error) {
	q := newSymmetric(p.n)
	if len(p.options.Beliefs) == 0 {
		for _, pair := range p.given.Pairs() {
			sign := 1.0
			if pair.Kind == constraint.CannotLink {
				sign = -1
			}
			q.add(pair.I, pair.J, sign*pair.Weight)
		}
		q.finish()
		return q, nil
	}
	const field = "spec.constrained_spectral.beliefs"
	for at, b := range p.options.Beliefs {
		if b.I < 0 || b.J < 0 || int(max(b.I, b.J)) >= p.n {
			return nil, fault.Invalid("INDEX_OUT_OF_RANGE", "belief %d is about %d and %d; rows are 0..%d", at, b.I, b.J, p.n-1).OnField(field)
		}
		if math.IsNaN(b.Value) || math.IsInf(b.Value, 0) {
			return nil, fault.Invalid("BAD_BELIEF", "belief %d about %d and %d is %v; beliefs are finite numbers", at, b.I, b.J, b.Value).OnField(field)
		}
		q.add(b.I, b.J, b.Value)
	}
	if i, j, twice := q.finish(); twice {
		return nil, fault.Invalid("REPEATED_BELIEF", "the pair %d, %d has two beliefs; give each unordered pair once", i, j).OnField(field)
	}
	return q, nil
}

// symmetric is a sparse symmetric matrix that the coordinator multiplies with itself.
type symmetric struct {
	n       int
	entries []entry
	start   []int
	column  []int32
	value   []float64
}

type entry struct {
	i, j  int32
	value float64
}

func newSymmetric(n int) *symmetric { return &symmetric{n: n} }

// add puts an entry at (i, j) and (j, i).
func (s *symmetric) add(i, j int32, value float64) {
	s.entries = append(s.entries, entry{i, j, value})
	if i != j {
		s.entries = append(s.entries, entry{j, i, value})
	}
}

// finish sorts the entries into rows and tells a place that has two of them.
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
		s.start[r+1] += s.start[r]
	}
	s.entries = nil
	return i, j, twice
}

// row is the entries of a row.
func (s *symmetric) row(i int) ([]int32, []float64) {
	return s.column[s.start[i]:s.start[i+1]], s.value[s.start[i]:s.start[i+1]]
}

// sum is 1'Q1, and nonZeros the number of stored entries, ordered pairs.
func (s *symmetric) sum() float64 {
	total := 0.0
	for _, v := range s.value {
		total += v
	}
	return total
}

func (s *symmetric) nonZeros() int { return len(s.value) }

// quadratic is x'Qx.
func (s *symmetric) quadratic(x []float64) float64 {
	total := 0.0
	for i := range s.n {
		columns, values := s.row(i)
		for at, j := range columns {
			total += float64(values[at] * float64(x[i]*x[j]))
		}
	}
	return total
}

// multiply adds scale_i Q_ij scale_j x_j to every row of dst.
func (s *symmetric) multiply(dst, x, scale []float64) {
	for i := range s.n {
		columns, values := s.row(i)
		sum := 0.0
		for at, j := range columns {
			sum += float64(float64(values[at]*scale[j]) * x[j])
		}
		dst[i] += float64(scale[i] * sum)
	}
}
