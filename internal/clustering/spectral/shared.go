package spectral

import (
	"reflect"
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// Shared is the eigenvectors of problems on the same data that differ in k and in constraints, run one after the other. They are found
// once, as many as the largest k needs, and a smaller one takes the first.
type Shared struct {
	maxK  int
	found []sharedPairs
}

// mostShared is how many eigenproblems are kept: that of all constraints, and those of three folds.
const mostShared = 4

type sharedPairs struct {
	of    eigenproblem
	pairs eigen.Eigenpairs
}

// eigenproblem tells the matrices of such problems apart.
type eigenproblem struct {
	matrix kernel.MatrixSpec
	roots  []float64 // which also tell what is left out
	pairs  []constraint.Pair
}

func (a eigenproblem) equals(b eigenproblem) bool {
	return slices.Equal(a.roots, b.roots) && slices.Equal(a.pairs, b.pairs) && reflect.DeepEqual(a.matrix, b.matrix)
}

// NewShared is for problems of at most so many clusters.
func NewShared(maxK int) *Shared { return &Shared{maxK: maxK} }

// Share makes a problem use, and add to, what others have found. Where constraints are entries of the matrix, whose weight depends on
// k, nothing is shared.
func (p *Problem) Share(s *Shared) {
	if p.options.Algorithm != Spectral || p.given.Len() == 0 {
		p.shared = s
	}
}

// mostClusters is the k that eigenvectors are looked for.
func (p *Problem) mostClusters() int {
	if p.shared == nil {
		return p.spec.K
	}
	return max(p.spec.K, p.shared.maxK)
}

// shareEigenpairs are the first eigenpairs of a problem, which a search finds unless they are known.
func (m *method) shareEigenpairs(pairs []constraint.Pair, count int, search func() (eigen.Eigenpairs, error)) (eigen.Eigenpairs, error) {
	s := m.shared
	if s == nil {
		return search()
	}
	of := eigenproblem{m.Matrix, m.roots, pairs}
	at := slices.IndexFunc(s.found, func(f sharedPairs) bool { return len(f.pairs.Vectors) >= count && f.of.equals(of) })
	if at < 0 {
		found, err := search()
		if err != nil {
			return found, err
		}
		if len(s.found) == mostShared {
			s.found = s.found[1:]
		}
		at, s.found = len(s.found), append(s.found, sharedPairs{of, found})
	}
	first := s.found[at].pairs
	first.Values, first.Vectors, first.Residuals = slices.Clone(first.Values[:count]), slices.Clone(first.Vectors[:count]), slices.Clone(first.Residuals[:count])
	return first, nil
}
