package spectral

import (
	"reflect"
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// Shared holds the eigenvectors of problems on the same data that differ in k and in constraints. They are computed
// once, as many as the largest k needs, and smaller problems use the first ones. It is not safe for concurrent use.
type Shared struct {
	maxK  int
	found []sharedPairs
}

// maxShared is the number of eigenproblems that are kept: that of all constraints, and those of three folds.
const maxShared = 4

// sharedPairs are eigenpairs that runs with the same problem share.
type sharedPairs struct {
	problem eigenproblem
	pairs   eigen.Eigenpairs
}

// eigenproblem identifies the matrix of such a problem.
type eigenproblem struct {
	matrix kernel.MatrixSpec
	roots  []float64 // these also identify what is left out
	pairs  []constraint.Pair
}

func (a eigenproblem) equals(b eigenproblem) bool {
	return slices.Equal(a.roots, b.roots) && slices.Equal(a.pairs, b.pairs) && reflect.DeepEqual(a.matrix, b.matrix)
}

// NewShared returns an empty Shared for problems of at most maxK clusters.
func NewShared(maxK int) *Shared { return &Shared{maxK: maxK} }

// Share makes a problem use, and add to, what others have found. It does nothing if constraints are entries of the
// matrix, because their weights depend on k.
func (p *Problem) Share(s *Shared) {
	if p.options.Algorithm != Spectral || p.given.Len() == 0 {
		p.shared = s
	}
}

// maxClusters returns the k that eigenvectors are computed for.
func (p *Problem) maxClusters() int {
	if p.shared == nil {
		return p.spec.K
	}
	return max(p.spec.K, p.shared.maxK)
}

// shareEigenpairs returns the first count eigenpairs of a problem. It calls search unless they are already known.
func (m *method) shareEigenpairs(pairs []constraint.Pair, count int,
	search func() (eigen.Eigenpairs, error)) (eigen.Eigenpairs, error) {
	s := m.shared
	if s == nil {
		return search()
	}
	problem := eigenproblem{m.Matrix, m.roots, pairs}
	at := slices.IndexFunc(s.found, func(f sharedPairs) bool {
		return len(f.pairs.Vectors) >= count && f.problem.equals(problem)
	})
	if at < 0 {
		found, err := search()
		if err != nil {
			return found, err
		}
		if len(s.found) == maxShared {
			s.found = s.found[1:]
		}
		at = len(s.found)
		s.found = append(s.found, sharedPairs{problem, found})
	}
	return s.found[at].pairs.First(count), nil
}
