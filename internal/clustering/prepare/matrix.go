package prepare

import (
	"cmp"
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/planning"
)

// Matrix is a job on a matrix: kernel k-means, or spectral clustering, whose eigensolver multiplies the matrix with
// vectors.
type Matrix struct {
	Problem *kernelkmeans.Problem
	Run     func(ctx context.Context, x kernelkmeans.Executor, o clustering.Observer) (*clustering.Result, error)

	spec clustering.Spec
	cut  *spectral.Problem // nil for kernel k-means
}

// Objective returns the name of what is minimized or maximized.
func (m *Matrix) Objective() string { return m.Problem.Objective.String() }

// Need returns what the job needs, given the size of its data set.
func (m *Matrix) Need(bytes int64) planning.Workload {
	need := planning.Workload{DatasetBytes: bytes, Scaled: m.Problem.Units != nil, K: m.spec.K}
	if m.cut != nil {
		m.addCut(&need)
	} else {
		m.addSweeps(&need)
	}
	return need
}

// addSweeps adds what kernel k-means needs.
func (m *Matrix) addSweeps(need *planning.Workload) {
	p := m.Problem
	need.Lanes = p.Lanes()
	need.Restarts = p.Runs()
	need.Matrix = &planning.Matrix{
		Spec:          p.Matrix,
		Products:      p.VectorsPerProduct(),
		Block:         p.Candidates(),
		SparseEntries: 2 * int64(p.Constraints.Len()),
		Shift:         m.spec.Algorithm.(*kernelkmeans.Options).SigmaAuto,
		Landmarkable:  p.Landmarkable(),
	}
	switch p.Objective {
	case kernelkmeans.ObjectiveRatioCut:
		need.Matrix.Degrees = true
		need.Matrix.SparseEntries += int64(p.Rows()) // the negative degrees
	case kernelkmeans.ObjectiveNormalizedCut:
		need.Matrix.Degrees = true
	}
	if p.StartsSpectral() {
		need.Eigen = &planning.Eigensolver{Pairs: m.spec.K, OnlyForStart: true, Columns: m.spec.K,
			Restarts: embedding.DefaultRestarts}
	}
	if p.StartsMultilevel() {
		g := p.Graph()
		need.Levels = &planning.Levels{Vertices: g.N, Entries: int64(len(g.Column)), K: m.spec.K, Fits: p.Runs(),
			Copied: p.Constraints.Len() > 0}
	}
}

// addCut adds what spectral clustering needs.
func (m *Matrix) addCut(need *planning.Workload) {
	need.Matrix = &planning.Matrix{
		Spec:          m.cut.Matrix,
		Products:      m.cut.VectorsPerProduct(),
		SparseEntries: m.cut.SparseEntries(),
		Degrees:       true,
	}
	restarts := m.spec.Algorithm.(*spectral.Options).Eigenvectors.KmeansRestarts
	need.Eigen = &planning.Eigensolver{
		Pairs:         m.cut.Eigenpairs(),
		Generalized:   m.cut.Generalized(),
		Dense:         m.cut.SolvesDense(),
		SparseEntries: m.cut.CoordinatorEntries(),
		Columns:       m.cut.EmbeddingColumns(),
		Restarts:      cmp.Or(restarts, embedding.DefaultRestarts),
	}
}
