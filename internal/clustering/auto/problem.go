package auto

import (
	"cmp"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/discriminant"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// Problem is a spec that was checked against its data. It does not change while it runs.
type Problem struct {
	Warnings []clustering.Notice

	spec        clustering.Spec
	options     Options
	data        dataset.Dataset
	n           int
	neighbors   int                // neighbors of each row in the nearest-neighbor graph
	folds       int                // number of folds of the supervision
	spaces      []clustering.Space // the representations of the data; see listSpaces
	given       *constraint.Set    // the user's constraints, without those that follow from seeds
	none        *constraint.Set    // no constraints
	supervision *heldout.Supervision
	known       *discriminant.Known // the rows of known class; nil if there are fewer than two classes
	regime      regime
	shared      *Shared // what problems of other k have found; may be nil
}

// Prepare checks a spec against the data.
func Prepare(data dataset.Dataset, spec clustering.Spec) (*Problem, error) {
	if err := clustering.Validate(data.Rows(), spec); err != nil {
		return nil, err
	}
	if g, ok := data.(*dataset.Graph); ok {
		if err := checkWeights(g); err != nil {
			return nil, err
		}
	}
	spec.Supervision.Entail = false // hard constraints include what they imply anyway
	o := spec.Algorithm.(*Options)
	p := &Problem{
		spec:      spec,
		options:   *o,
		data:      data,
		n:         data.Rows(),
		neighbors: cmp.Or(o.Neighbors, defaultNeighbors(data)),
		folds:     cmp.Or(o.Folds, DefaultFolds),
	}
	var err error
	p.given, err = clustering.NewConstraintSet(p.n, spec, constraint.UnitWeight)
	if err != nil {
		return nil, err
	}
	p.none, err = constraint.NewSet(p.n, nil, constraint.UnitWeight)
	if err != nil {
		return nil, err
	}
	p.supervision = heldout.New(p.given, spec.Supervision.Seeds, spec.K, p.folds, spec.Random(clustering.StreamFolds))
	p.known, err = p.findKnown(heldout.None)
	if err != nil {
		return nil, err
	}
	p.spaces, p.Warnings = p.listSpaces()
	p.regime = p.findRegime()
	if notice, conflicting := clustering.ConflictNotice(p.given); conflicting {
		p.Warnings = append(p.Warnings, notice)
	}
	return p, nil
}

// checkWeights returns an error if the weights of the edges add up to infinity, because cuts would not be numbers.
func checkWeights(g *dataset.Graph) error {
	total := 0.0
	for _, w := range g.Weight {
		total += math.Abs(w)
	}
	if math.IsInf(total, 1) {
		return invalid.New(invalid.EdgeWeightSum, "limit", math.MaxFloat64)
	}
	return nil
}

// Supervision returns the constraints and seeds of the problem, divided into folds.
func (p *Problem) Supervision() *heldout.Supervision { return p.supervision }

// supervised reports whether there are constraints or seeds.
func (p *Problem) supervised() bool { return p.given.Len()+len(p.spec.Supervision.Seeds) > 0 }

// points returns the data if it is dense points.
func (p *Problem) points() (points *dataset.Points, dense bool) {
	points, dense = p.data.(*dataset.Points)
	return points, dense
}

// Scale returns how the columns of dense points are scaled in a space.
func (p *Problem) Scale(space clustering.Space) clustering.Scale {
	switch {
	case space == clustering.SpaceStandardized || space == clustering.SpaceStandardizedNeighbors:
		return clustering.ScaleZscore
	case p.spec.Scale == clustering.ScaleMinMax || p.spec.Scale == clustering.ScaleRobust:
		return p.spec.Scale
	default:
		return clustering.ScaleNone
	}
}

// Units returns the units of the rows in a space, nil if unchanged.
func (p *Problem) Units(space clustering.Space) (*dataset.Units, error) {
	units, _, err := clustering.UnitsOf(p.data, p.Scale(space))
	return units, err
}

// Rows returns the problem of k-means on the rows of points in the units of a space.
func (p *Problem) Rows(space clustering.Space) (*kmeans.Problem, error) {
	return kmeans.Prepare(p.data, p.kmeansSpec(p.Scale(space)))
}

// kmeansSpec returns a spec of k-means with several starts.
func (p *Problem) kmeansSpec(scale clustering.Scale) clustering.Spec {
	return clustering.Spec{
		K:             p.spec.K,
		Seed:          p.spec.Seed,
		Restarts:      p.starts(),
		MaxIterations: p.spec.MaxIterations,
		Tolerance:     p.spec.Tolerance,
		Scale:         scale,
		Algorithm:     &kmeans.Options{Algorithm: kmeans.Kmeans, Race: p.spec.Restarts == 0},
	}
}

// starts returns the number of k-means++ starts of a fit.
func (p *Problem) starts() int { return cmp.Or(p.spec.Restarts, defaultStarts) }

// classifiable reports whether the data is dense points whose kernels can be computed in the units of a space.
func (p *Problem) classifiable(space clustering.Space) bool {
	points, dense := p.points()
	if !dense {
		return false
	}
	units, _ := clustering.UnitsOfPoints(points, p.Scale(space))
	for i, v := range points.Values {
		if units != nil {
			v = (v - units.Center[i%points.D]) / units.Scale[i%points.D]
		}
		if !(math.Abs(v) <= maxValue) {
			return false
		}
	}
	return true
}

// right reports for every held-out pair whether answers have it right. There is one answer per fold, or one for all.
func (p *Problem) right(answers ...*answer) []bool {
	labels := make([][]int32, len(answers))
	for i, a := range answers {
		labels[i] = a.labels
	}
	return p.supervision.Correct(labels...)
}

// trial counts what is right in a fold, or in all folds if fold is heldout.None.
func (p *Problem) trial(method clustering.Method, right []bool, fold int) clustering.Trial {
	return p.supervision.Trial(method, right, p.folds, fold)
}

// score returns the score of a method over all folds, by which pairs it and the baseline have right.
func (p *Problem) score(method clustering.Method, right, base []bool) clustering.MethodScore {
	return clustering.MethodScore{
		Trial:     p.trial(method, right, heldout.None),
		Advantage: p.supervision.Advantage(right, base),
	}
}

// scoreFirst returns the score of a method over the first folds.
func (p *Problem) scoreFirst(method clustering.Method, folds int, right, base []bool) clustering.MethodScore {
	first, places := p.supervision.FirstFolds(folds)
	own := choose.At(right, places)
	return clustering.MethodScore{
		Trial:     first.Trial(method, own, folds, heldout.None),
		Advantage: first.Advantage(own, choose.At(base, places)),
	}
}

// numbers returns the numbers in the result of the clusters of an answer.
func (p *Problem) numbers(labels []int32) []int32 {
	if len(p.supervision.Seeds) == 0 {
		return choose.All[int32](p.spec.K)
	}
	return numbersBySeeds(p.spec.K, labels, p.supervision.Seeds)
}

// noun returns what the user gave: "constraints", or "seeds" if there are only seeds.
func (p *Problem) noun() string {
	if len(p.spec.Supervision.Seeds) > 0 && p.given.Len() == 0 {
		return "seeds"
	}
	return "constraints"
}

// hasSpace reports whether a space is one of the problem.
func (p *Problem) hasSpace(name clustering.Space) bool { return slices.Contains(p.spaces, name) }
