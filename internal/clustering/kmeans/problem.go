package kmeans

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/text"
)

// Problem is a spec with every choice resolved for its data, so that it determines the answer to the last bit.
type Problem struct {
	Vectors     *vector.RowSpec
	Constraints *constraint.Set
	Warnings    []clustering.Notice
	Units       *dataset.Units // units of the rows; nil if they are those of the data
	// MaxLanes bounds the number of concurrent restarts, to save memory; 0 means no bound.
	MaxLanes int
	// OnlyBest means that the labels of restarts that do not win are not needed.
	OnlyBest bool

	spec     clustering.Spec
	options  Options
	plan     clustering.StartPlan
	n, d     int
	data     dataset.Dataset          // in Units
	source   *vector.Source           // for rows that methods read themselves: constrained points, seeds
	seeds    []constraint.SeededPoint // ascending by point
	links    []metric.Link            // one per constraint, with rows if the penalty needs distances
	colored  *colored                 // only for COP-KMeans
	blocks   *blocks                  // only for PC-KMeans with Contract
	ranges   []float64                // of the features, if a penalty needs them; set by begin
	draws    *sync.Map                // shared by all problems on the same rows; see drawKey
	sampled  []float64                // where the run without constraints begins; nil if that is not given
	raceRows int                      // that starts race on; 0 if they do not

	unconstrained *clustering.Unconstrained // set by begin if the plan asks for it
}

// Rows returns n.
func (p *Problem) Rows() int { return p.n }

// Columns returns the number of features.
func (p *Problem) Columns() int { return p.d }

// K returns the number of clusters.
func (p *Problem) K() int { return p.spec.K }

// Prepare checks a spec against the data and resolves it. The error is an *invalid.Error if the spec or the data is
// invalid.
func Prepare(data dataset.Dataset, spec clustering.Spec) (*Problem, error) {
	if err := clustering.Validate(data.Rows(), spec); err != nil {
		return nil, err
	}
	data, units, notices, err := clustering.InUnits(data, spec.Scale)
	if err != nil {
		return nil, err
	}
	rows, err := vector.NewRowSpec(data, preparations[spec.Algorithm.(*Options).withDefaults().Distortion])
	if err != nil {
		return nil, err
	}
	p, err := NewProblem(data, rows, units, spec)
	if err != nil {
		return nil, err
	}
	p.Warnings = slices.Concat(notices, p.Warnings)
	return p, nil
}

// NewProblem returns a problem on rows that are already prepared, or that are features of the data. The data must be
// in the given units.
func NewProblem(data dataset.Dataset, rows *vector.RowSpec, units *dataset.Units,
	spec clustering.Spec) (*Problem, error) {
	source, err := vector.NewSource(rows, data)
	if err != nil {
		return nil, err
	}
	p := &Problem{n: rows.Rows, data: data, Units: units, Vectors: rows, source: source, draws: &sync.Map{}}
	return p, p.resolve(spec)
}

// WithSpec returns another problem on the same rows without reading them again. Its distortion must prepare rows in
// the same way.
func (p *Problem) WithSpec(spec clustering.Spec) (*Problem, error) {
	if err := clustering.Validate(p.n, spec); err != nil {
		return nil, err
	}
	if d := spec.Algorithm.(*Options).withDefaults().Distortion; preparations[d] != p.Vectors.Preparation {
		return nil, fmt.Errorf("kmeans: rows were prepared for another distortion than %v", d)
	}
	other := &Problem{n: p.n, data: p.data, Units: p.Units, Vectors: p.Vectors, source: p.source, draws: p.draws}
	return other, other.resolve(spec)
}

// resolve does the part of Prepare that depends on the spec.
func (p *Problem) resolve(spec clustering.Spec) error {
	p.spec, p.options = spec, spec.Algorithm.(*Options).withDefaults()
	p.d = p.Vectors.Columns
	if err := p.prepareConstraints(); err != nil {
		return err
	}
	if err := p.prepareCentroids(); err != nil {
		return err
	}
	p.prepareSeeds()
	p.raceRows = p.planRace()
	p.plan = p.planStarts(p.options.FromSample || p.raceRows > 0)
	if p.options.Metric == metric.Full && p.d > metric.MaxFullFeatures {
		return invalid.New(invalid.FullMetricColumns, "columns", p.d, "limit", metric.MaxFullFeatures,
			"algorithm", p.spec.Algorithm.Name())
	}
	if size := 8 * int64(p.d) * int64(p.d) * int64(partition.TileCount(p.n)); p.options.Metric == metric.Full &&
		size > maxScatterBytes {
		return invalid.New(invalid.ScatterBytes, "columns", p.d, "bytes", size, "rows", p.n, "limit", maxScatterBytes,
			"algorithm", p.spec.Algorithm.Name())
	}
	return p.prepareLinks()
}

var preparations = map[metric.Distortion]vector.Preparation{
	metric.SquaredEuclidean: vector.Plain,
	metric.Cosine:           vector.Unit,
	metric.KL:               vector.Probability,
	metric.IDivergence:      vector.NonNegative,
}

// prepareConstraints sets the constraints. COP-KMeans refuses constraints that no assignment satisfies; the other
// algorithms only warn about conflicts.
func (p *Problem) prepareConstraints() error {
	set, err := clustering.NewConstraintSet(p.n, p.spec, constraint.UnitWeight)
	if err != nil {
		return err
	}
	p.Constraints = set
	if p.options.Contract {
		p.blocks = newBlocks(set)
	}
	if p.options.Algorithm == CopKmeans {
		return p.checkFeasible()
	}
	if notice, conflicting := clustering.ConflictNotice(set); conflicting {
		p.Warnings = append(p.Warnings, notice)
	}
	return nil
}

// maxScatterBytes bounds the scatter matrices of all tiles, which are kept until they are added up in tile order.
const maxScatterBytes = 1 << 31

// maxLinkBytes bounds the memory of the rows of constrained points, which are stored densely.
const maxLinkBytes = 1 << 31

// prepareLinks reads the rows of constrained points, each once.
func (p *Problem) prepareLinks() error {
	if !p.options.Algorithm.constrained() {
		return nil
	}
	pairs := p.Constraints.Pairs()
	rows := map[int32][]float64{}
	p.links = make([]metric.Link, len(pairs))
	for i, pair := range pairs {
		p.links[i] = metric.Link{MustLink: pair.Kind == constraint.MustLink, Weight: pair.Weight}
		if p.options.Penalty == metric.Potts {
			continue
		}
		for _, point := range []int32{pair.I, pair.J} {
			if rows[point] != nil {
				continue
			}
			if bytes := 8 * int64(len(rows)+1) * int64(p.d); bytes > maxLinkBytes {
				return invalid.New(invalid.LinkBytes, "penalty", p.options.Penalty, "columns", p.d, "limit",
					maxLinkBytes,
					"algorithm", p.spec.Algorithm.Name())
			}
			rows[point] = make([]float64, p.d)
			if err := p.row(rows[point], point); err != nil {
				return err
			}
			// Each of two rows may be 0 where the other is not; prepared rows are above 0, so that divergences are
			// finite.
			if p.options.Distortion == metric.IDivergence {
				if err := p.options.Distortion.Prepare(int(point), rows[point]); err != nil {
					return err
				}
			}
		}
		p.links[i].X, p.links[i].Y = rows[pair.I], rows[pair.J]
	}
	return nil
}

// prepareSeeds gathers the seeds and warns about clusters without one.
func (p *Problem) prepareSeeds() {
	p.seeds = constraint.GatherSeeds(p.spec.Supervision.Seeds)
	if named := p.seededClusters(); named > 0 && named < p.spec.K {
		p.Warnings = append(p.Warnings, clustering.Notice{Code: "INCOMPLETE_SEEDS", Message: fmt.Sprintf(
			"the seeds name %d of %d clusters; the others start at points that are drawn by k-means++",
			named, p.spec.K)})
	}
}

// seededClusters returns how many clusters have seeds.
func (p *Problem) seededClusters() int {
	named := map[int32]bool{}
	for _, s := range p.spec.Supervision.Seeds {
		named[s.Label] = true
	}
	return len(named)
}

// heldLabels returns the labels that points have before the first assignment: those of certain seeds in
// Constrained-KMeans, otherwise none.
func (p *Problem) heldLabels() []int32 {
	labels := clustering.Unassigned(p.n)
	if p.options.Algorithm == ConstrainedKmeans {
		for _, s := range p.seeds {
			if len(s.Labels) == 1 {
				labels[s.Point] = s.Labels[0]
			}
		}
	}
	return labels
}

// prepareCentroids checks the initial centroids and prepares them like rows.
func (p *Problem) prepareCentroids() error {
	given := p.options.InitialCentroids
	if p.spec.Initialization.Start != clustering.StartCentroids {
		return nil
	}
	if len(given) != p.spec.K*p.d {
		return invalid.New(invalid.CentroidCount, "values", len(given), "k", p.spec.K, "columns", p.d,
			"needed", p.spec.K*p.d)
	}
	scaled, err := p.Units.Apply(&dataset.Points{N: p.spec.K, D: p.d, Values: slices.Clone(given)})
	if err != nil {
		return fmt.Errorf("the centroids to start from: %w", err)
	}
	p.options.InitialCentroids = scaled.(*dataset.Points).Values
	for i, v := range p.options.InitialCentroids {
		if !(math.Abs(v) <= metric.MaxValue) {
			return invalid.New(invalid.CentroidValue, "cluster", i/p.d, "value", given[i], "column", i%p.d,
				"limit", metric.MaxValue)
		}
	}
	p.options.InitialCentroids = centered(p.options.InitialCentroids, p.Vectors.Mean)
	for c := range p.spec.K {
		if p.options.Distortion == metric.SquaredEuclidean {
			break
		}
		if err := p.options.Distortion.Prepare(c, p.options.InitialCentroids[c*p.d:(c+1)*p.d]); err != nil {
			return invalid.New(invalid.CentroidUnusable, "cluster", c, "why", err)
		}
	}
	return nil
}

// inDataCoordinates undoes the centering and the units of rows. Other preparations cannot be undone.
func (p *Problem) inDataCoordinates(centroids []float64) []float64 {
	moved := slices.Clone(centroids)
	for i := range moved {
		if p.Vectors.Mean != nil {
			moved[i] += p.Vectors.Mean[i%p.d]
		}
	}
	if p.options.Distortion != metric.SquaredEuclidean || p.Vectors.Features != nil {
		return moved
	}
	return p.Units.Undo(moved)
}

// centered returns points, row by row, less the mean of the rows, which may be nil.
func centered(points, mean []float64) []float64 {
	moved := slices.Clone(points)
	for i := range moved {
		if mean != nil {
			moved[i] -= mean[i%len(mean)]
		}
	}
	return moved
}

// row writes one prepared row to dst.
func (p *Problem) row(dst []float64, i int32) error { return p.source.Row(dst, int(i)) }

// needsRanges reports whether a penalty needs the ranges of the features.
func (p *Problem) needsRanges() bool {
	return p.options.Algorithm.constrained() && p.options.Penalty == metric.Bilenko2004 &&
		p.options.Distortion == metric.SquaredEuclidean
}

// withinTolerance reports whether the objective decreased so little that the run stops.
func (p *Problem) withinTolerance(previous, value float64) bool {
	return p.spec.Tolerance > 0 && previous-value <= p.spec.Tolerance*math.Abs(previous)
}

// startKind resolves the default start.
func (p *Problem) startKind() clustering.Start {
	if p.spec.Initialization.Start != clustering.StartDefault {
		return p.spec.Initialization.Start
	}
	algorithm, _ := catalog.FindAlgorithm(p.options.Algorithm.String())
	return text.Named[clustering.Start](algorithm.Starts[0])
}

// newMethod returns the stepper of a restart.
func (p *Problem) newMethod(x *lane, restart int) clustering.Stepper {
	source := p.spec.Source(uint64(restart))
	run := state{p: p, x: x, restart: restart, source: source, rng: rand.New(source)}
	switch {
	case p.options.Algorithm.hasParts():
		return newHMRF(run)
	case p.options.Algorithm == CopKmeans:
		return newCop(run)
	}
	return newKmeans(run)
}
