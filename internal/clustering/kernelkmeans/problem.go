package kernelkmeans

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/catalog"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/text"
)

// Problem is a spec made exact for its data: every choice resolved, every entry of the matrix
// fixed to the last bit.
type Problem struct {
	// MaxLanes bounds how many restarts run side by side, where memory is short; 0: there is no bound.
	MaxLanes    int
	Matrix      kernel.MatrixSpec
	Objective   Objective
	Constraints *constraint.Set
	Warnings    []clustering.Notice
	Units       *dataset.Units // that points are in; nil: those of the data

	spec       clustering.Spec
	options    Options
	n          int
	weights    []float64 // a_i on the weight grid; nil: degrees (normalized cut) or all 1
	weightGrid kernel.Grid
}

// Rows is n.
func (p *Problem) Rows() int { return p.n }

// K is the number of clusters.
func (p *Problem) K() int { return p.spec.K }

// Prepare checks the spec against the data and resolves it.
func Prepare(data dataset.Dataset, spec clustering.Spec) (*Problem, error) {
	n := data.Rows()
	if err := clustering.Validate(n, spec); err != nil {
		return nil, err
	}
	data, units, notices, err := clustering.InUnits(data, spec.Scale)
	if err != nil {
		return nil, err
	}
	options := *spec.Algorithm.(*Options)
	p := &Problem{spec: spec, options: options, n: n, Objective: options.Objective, Units: units, Warnings: notices}
	if p.Objective == ObjectiveDefault {
		p.Objective = ObjectiveKernelKmeans
		if data.Kind() == dataset.KindGraph {
			p.Objective = ObjectiveNormalizedCut
		}
	}
	if err := p.prepareConstraints(); err != nil {
		return nil, err
	}
	if err := p.prepareWeights(); err != nil {
		return nil, err
	}
	if err := p.prepareMatrix(data); err != nil {
		return nil, err
	}
	return p, p.checkCut(data)
}

func (p *Problem) prepareConstraints() error {
	set, err := clustering.NewConstraintSet(p.n, p.spec, constraint.KulisWeight(p.n, p.spec.K))
	if err != nil {
		return err
	}
	p.Constraints = set
	if notice, conflicting := clustering.ConflictNotice(set); conflicting {
		p.Warnings = append(p.Warnings, notice)
	}
	return nil
}

// prepareWeights rounds the given weights to a grid 62 bits below their sum, which is exact for all but tiny ones.
func (p *Problem) prepareWeights() error {
	if len(p.options.Weights) == 0 {
		return nil
	}
	total := 0.0
	for _, a := range p.options.Weights {
		total += a
	}
	_, exponent := math.Frexp(total)
	if !(total <= clustering.MaxWeight && total >= 1/clustering.MaxWeight) {
		return fault.Invalid("BAD_WEIGHT", "the point weights add up to %g; scale them into %g..%g", total, 1/clustering.MaxWeight, clustering.MaxWeight)
	}
	p.weightGrid = kernel.Grid(exponent - 62)
	p.weights = make([]float64, p.n)
	for i, a := range p.options.Weights {
		p.weights[i] = math.Ldexp(math.RoundToEven(math.Ldexp(a, -int(p.weightGrid))), int(p.weightGrid))
		if p.weights[i] == 0 {
			return fault.Invalid("BAD_WEIGHT", "point %d has weight %g, too small beside the sum of all weights %g", i, a, total)
		}
	}
	return nil
}

func (p *Problem) prepareMatrix(data dataset.Dataset) error {
	m := &p.Matrix
	m.Rows, m.Function = p.n, p.options.Function
	m.Scale = p.weights
	m.ZeroDiagonal = p.isGraphObjective() && !p.options.KeepDiagonal
	switch data := data.(type) {
	case *dataset.Graph:
		m.Function, m.ZeroDiagonal = kernel.Adjacency, false // loops are the user's own
	case *dataset.Kernel:
		m.Function, m.Columns = kernel.Given, p.n
	case *dataset.Points:
		m.Columns = data.D
		if err := p.prepareKernel(data); err != nil {
			return err
		}
	}
	bound, err := kernel.FindBounds(*m, data)
	if err != nil {
		return err
	}
	sum := bound.RowSum
	if p.Objective == ObjectiveRatioCut {
		sum *= 2 // A - D
	}
	// Constraints share the grid but coarsen it only when they outweigh the data.
	m.Grid = kernel.GridFor(max(sum, heaviestRow(p.n, p.Constraints)))
	if p.spec.HalfPrecision {
		m.HalfScale = bound.HalfScale()
	}
	return nil
}

// prepareKernel resolves the kernel function and the parameters that it has. Points are centered where that
// changes nothing but the rounding: no bits then go to a common offset.
func (p *Problem) prepareKernel(points *dataset.Points) (err error) {
	m := &p.Matrix
	if m.Function == 0 {
		m.Function = kernel.Gaussian
	}
	named, _ := catalog.FindKernel(m.Function.String())
	if named.Has("rho") {
		if m.Rho = p.options.Rho; m.Rho == 0 {
			if m.Rho, err = MedianDistance(points, p.Random(clustering.StreamRho), p.options.field("kernel.rho")); err != nil {
				return err
			}
		}
	}
	if named.Has("gamma") { // of these kernels only one uses the degree; it is set for both
		m.Gamma, m.Coef0, m.Degree = 1, 0, 2
		if p.options.Gamma != nil {
			m.Gamma = *p.options.Gamma
		}
		if p.options.Coef0 != nil {
			m.Coef0 = *p.options.Coef0
		}
		if p.options.Degree != 0 {
			m.Degree = p.options.Degree
		}
	}
	if named.ShiftInvariant || m.Function == kernel.Linear && p.Objective == ObjectiveKernelKmeans {
		m.Mean = columnMeans(points)
	}
	return nil
}

// checkCut refuses graphs that cannot be cut, before any tile is built.
func (p *Problem) checkCut(data dataset.Dataset) error {
	graph, isGraph := data.(*dataset.Graph)
	if !isGraph || !p.isCut() {
		return nil
	}
	degrees := make([]float64, p.n)
	for i := range p.n {
		neighbors, weights := graph.Row(i)
		for at, w := range weights {
			if w < 0 {
				return fault.Invalid("NEGATIVE_AFFINITY", "edge %d-%d has weight %g; %v needs weights of at least 0%s", i, neighbors[at], w, p.Objective,
					map[string]string{"": " (ratio-association and kernel-kmeans allow any)", "spectral": " (ratio-association allows any)"}[p.options.MatrixOf])
			}
			degrees[i] += w
		}
	}
	return p.checkDegrees(degrees)
}

// checkDegrees refuses isolated vertices: normalized cut divides by every degree.
func (p *Problem) checkDegrees(degrees []float64) error {
	if p.Objective != ObjectiveNormalizedCut {
		return nil
	}
	var isolated []int
	for i, d := range degrees {
		if !(d > 0) {
			isolated = append(isolated, i)
		}
	}
	if len(isolated) == 0 {
		return nil
	}
	who := map[bool]string{true: "this vertex has", false: "these vertices have"}[len(isolated) == 1]
	remedy := "remove such vertices"
	if p.Matrix.Function != kernel.Adjacency {
		who = map[bool]string{true: "this point, whose affinities are 0, has", false: "these points, whose affinities are 0, have"}[len(isolated) == 1]
		remedy = "remove such points"
	}
	if p.Matrix.Rho > 0 {
		remedy = fmt.Sprintf("take a wider kernel than rho = %.4g, ", p.Matrix.Rho) + remedy
	}
	remedy += map[string]string{"": ", or choose ratio-cut or ratio-association", "spectral": ", or choose ratio-association"}[p.options.MatrixOf]
	return fault.Invalid("ISOLATED_VERTEX", "normalized cut needs a positive degree, but %s degree 0: %s; %s", who, text.First(isolated, 10), remedy)
}

func (p *Problem) isGraphObjective() bool { return p.Objective != ObjectiveKernelKmeans }

func (p *Problem) isCut() bool {
	return p.Objective == ObjectiveRatioCut || p.Objective == ObjectiveNormalizedCut
}

// Random is the generator for one purpose.
func (p *Problem) Random(stream uint64) *rand.Rand {
	return p.spec.Random(stream)
}
