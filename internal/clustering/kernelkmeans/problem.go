package kernelkmeans

import (
	"math"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Problem is a spec with every choice resolved for its data, and every entry of the matrix fixed to the last bit.
type Problem struct {
	// MaxLanes bounds the number of concurrent restarts, to save memory; 0 means no bound.
	MaxLanes    int
	Matrix      kernel.MatrixSpec
	Objective   Objective
	Constraints *constraint.Set
	Warnings    []clustering.Notice
	Units       *dataset.Units // units of the points; nil if they are those of the data

	spec              clustering.Spec
	options           Options
	plan              clustering.StartPlan
	n                 int
	weights           []float64 // a_i on the weight grid; nil means degrees (normalized cut) or all 1
	weightGrid        kernel.Grid
	maxConstraintUnit float64                   // upper bound of the unit of constraint weights, with Spec.Choose
	unconstrained     *clustering.Unconstrained // nil if not known
	graph             *dataset.Graph            // nil if the data is not a graph
	unit              int                       // exponent: the matrix is 2^unit times the weights of the graph
}

// Rows returns n.
func (p *Problem) Rows() int { return p.n }

// K returns the number of clusters.
func (p *Problem) K() int { return p.spec.K }

// Prepare checks a spec against the data and resolves it. The error is an *invalid.Error if the spec or the data is
// invalid.
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
	if err := p.prepareWeights(); err != nil {
		return nil, err
	}
	p.graph, _ = data.(*dataset.Graph)
	if spec.Initialization.Start == clustering.StartMultilevel && p.graph == nil {
		return nil, invalid.New(invalid.MultilevelNeedsGraph)
	}
	p.setUnit()
	if err := p.prepareConstraints(); err != nil {
		return nil, err
	}
	if err := p.prepareMatrix(data); err != nil {
		return nil, err
	}
	p.plan = p.planStarts()
	if p.options.RiseOpen && p.StartsMultilevel() {
		p.options.OnRise = riseConverges
	}
	return p, p.checkCut()
}

// prepareConstraints sets the constraints, whose weights are in the unit of the objective unless the weight is
// chosen by held-out pairs.
func (p *Problem) prepareConstraints() error {
	spec, weight := p.spec, constraint.UnitWeight
	if !p.spec.Choose {
		spec.Supervision.Constraints = p.inUnit(spec.Supervision.Constraints)
		weight = constraint.KulisWeight(p.n, p.spec.K)
	}
	set, err := clustering.NewConstraintSet(p.n, spec, weight)
	if err != nil {
		return err
	}
	if p.spec.Choose {
		set = set.WithBalancedWeights()
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
		return invalid.New(invalid.PointWeightSum, "total", total, "least", 1/clustering.MaxWeight,
			"limit", clustering.MaxWeight)
	}
	p.weightGrid = kernel.Grid(exponent - 62)
	p.weights = make([]float64, p.n)
	for i, a := range p.options.Weights {
		p.weights[i] = math.Ldexp(math.RoundToEven(math.Ldexp(a, -int(p.weightGrid))), int(p.weightGrid))
		if p.weights[i] == 0 {
			return invalid.New(invalid.PointWeightTooSmall, "point", i, "weight", a, "total", total)
		}
	}
	return nil
}

// prepareMatrix decides which matrix is built: its function, the scales of its rows, and its diagonal.
func (p *Problem) prepareMatrix(data dataset.Dataset) error {
	m := &p.Matrix
	m.Rows, m.Function = p.n, p.options.Function
	m.Scale = p.scale()
	m.ZeroDiagonal = p.isGraphObjective() && !p.options.KeepDiagonal
	switch data := data.(type) {
	case *dataset.Graph:
		m.Function, m.ZeroDiagonal = kernel.Adjacency, false // keep loops that the user gave
	case *dataset.Kernel:
		m.Function, m.Columns = kernel.Given, p.n
	case *dataset.Points:
		m.Columns = data.D
		if err := p.prepareKernel(data); err != nil {
			return err
		}
	case *dataset.SparsePoints:
		m.Columns, m.Entries = data.D, max(1, int64(data.NonZeros()))
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
	heaviest := heaviestRow(p.n, p.Constraints)
	if p.spec.Choose && heaviest > 0 { // their unit is not known yet
		p.maxConstraintUnit = min(2*sum, clustering.MaxWeight/heaviest)
		heaviest *= p.maxConstraintUnit
	}
	m.Grid = kernel.GridFor(max(sum, heaviest))
	if p.options.HalfPrecision {
		m.HalfScale = bound.HalfScale()
	}
	return nil
}

// prepareKernel resolves the kernel function and its parameters. Dense points are centered if that changes only the
// rounding, so that no bits are wasted on a common offset. Sparse points would not stay sparse.
func (p *Problem) prepareKernel(points dataset.Dataset) error {
	m := &p.Matrix
	if m.Function == 0 {
		m.Function = kernel.Gaussian
	}
	named, _ := catalog.FindKernel(m.Function.String())
	if named.Has("rho") {
		m.Rho = p.options.Rho
		if m.Rho == 0 {
			median, isWidth := MedianDistance(points, p.Random(clustering.StreamRho))
			if !isWidth {
				return invalid.New(invalid.NoKernelWidth, "median", median, "algorithm", p.options.Name())
			}
			m.Rho = median
		}
	}
	if named.Has("gamma") { // only one of these kernels uses the degree, but it is set for both
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
	if dense, isDense := points.(*dataset.Points); isDense &&
		(named.ShiftInvariant || m.Function == kernel.Linear && p.Objective == ObjectiveKernelKmeans) {
		m.Mean = kernel.ColumnMeans(dense)
	}
	return nil
}

// checkCut rejects graphs that cannot be cut, before any tile is built.
func (p *Problem) checkCut() error {
	if p.graph == nil || !p.isCut() {
		return nil
	}
	for i := range p.n {
		neighbors, weights := p.graph.Row(i)
		for at, w := range weights {
			if w < 0 {
				return p.negativeEdge(i, neighbors[at], w)
			}
		}
	}
	return nil
}

// negativeEdge returns the error of an edge with a negative weight. Some algorithms have objectives that allow it.
func (p *Problem) negativeEdge(i int, j int32, weight float64) error {
	switch p.options.MatrixOf {
	case "", "spectral":
		return invalid.New(invalid.NegativeEdge, "i", i, "j", j, "weight", weight, "objective", p.Objective)
	}
	return invalid.New(invalid.NegativeEdgeOfCut, "i", i, "j", j, "weight", weight, "objective", p.Objective)
}

// Landmarkable reports whether landmarks could replace the matrix; see package landmark.
func (p *Problem) Landmarkable() bool {
	return p.Objective == ObjectiveKernelKmeans && p.Matrix.Function.OfPoints() && p.Matrix.Entries == 0 &&
		p.weights == nil && p.spec.Choose
}

func (p *Problem) isGraphObjective() bool { return p.Objective != ObjectiveKernelKmeans }

func (p *Problem) isCut() bool {
	return p.Objective == ObjectiveRatioCut || p.Objective == ObjectiveNormalizedCut
}

// Source returns the source of a stream.
func (p *Problem) Source(stream uint64) *rand.PCG {
	return p.spec.Source(stream)
}

// Random returns the generator of a stream.
func (p *Problem) Random(stream uint64) *rand.Rand {
	return p.spec.Random(stream)
}
