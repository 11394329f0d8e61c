package auto

import (
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// candidate is a use of the supervision. It competes in every space that suits it.
type candidate struct {
	use clustering.ConstraintUse
	// fromClasses is set if the use starts from rows of known class, so that each cluster needs one.
	fromClasses bool
	// certain is set if the use takes constraints as certain. It is not tried if they contradict each other. If they
	// confirm each other, it need not be clearly better than the baseline.
	certain bool
	// screened is set if a fit starts several times. A brief fit, from one start, can then show that it is hopeless.
	// Unscreened uses are either fast or get a bonus (seedBonus), so that a brief fit could not rule them out.
	screened bool
	suits    func(r *run, name clustering.Space) bool
}

// candidates lists the uses of the supervision in the order in which a space tries them. Among methods that agree
// equally, the first wins.
func candidates() []candidate {
	return []candidate{
		{use: clustering.UseCuts, suits: (*run).cutsIn},
		{use: clustering.UseDiscriminant, fromClasses: true, suits: func(r *run, name clustering.Space) bool { return r.discriminantIn(name) }},
		{use: clustering.UseSpread, fromClasses: true, suits: (*run).spreadsIn},
		{use: clustering.UseNone, suits: func(r *run, name clustering.Space) bool { return name == clustering.SpaceLevels || !r.trusted() }},
		{use: clustering.UseSoft, screened: true, suits: (*run).softIn},
		{use: clustering.UseHard, certain: true, screened: true, suits: func(_ *run, name clustering.Space) bool { return name != clustering.SpaceLevels }},
		{use: clustering.UseMetric, certain: true, screened: true, suits: (*run).metricIn},
		{use: clustering.UseWhitened, certain: true, screened: true, suits: (*run).whitenedIn},
	}
}

// candidateOf returns the candidate of a use.
func candidateOf(use clustering.ConstraintUse) candidate {
	all := candidates()
	return all[slices.IndexFunc(all, func(c candidate) bool { return c.use == use })]
}

// batch is the uses that compete in a space and are fitted together.
type batch struct {
	space clustering.Space
	uses  []clustering.ConstraintUse
}

// methods returns the methods that compete, one batch for each space.
func (r *run) methods() []batch {
	contradicted := r.supervision.Contradictions > 0
	fromClasses := r.discriminants || (len(r.supervision.Seeds) > 0 || !contradicted) && r.allClassesKnown()
	var batches []batch
	for _, name := range r.openable {
		b := batch{space: name}
		for _, c := range candidates() {
			switch {
			case r.discriminants && c.use != clustering.UseDiscriminant, c.fromClasses && !fromClasses, c.certain && contradicted:
			case c.suits(r, name):
				b.uses = append(b.uses, c.use)
			}
		}
		if len(b.uses) > 0 {
			batches = append(batches, b)
		}
	}
	return batches
}

// trusted reports whether enough constraints confirm each other and none contradicts another. All are then hard.
func (r *run) trusted() bool {
	return r.supervision.Contradictions == 0 && r.supervision.Checked >= enoughChecks
}

// cutsIn reports whether a space is the first one of eigenvectors. Cuts weigh constraints themselves.
func (r *run) cutsIn(name clustering.Space) bool {
	first := slices.IndexFunc(r.openable, func(s clustering.Space) bool { return s == clustering.SpaceGraph || ofNeighbors(s) })
	return r.spec.K > 1 && first >= 0 && name == r.openable[first]
}

// spreadsIn reports whether a space is a neighbor graph, or the first one of a given graph.
func (r *run) spreadsIn(name clustering.Space) bool {
	return ofNeighbors(name) || name == r.openable[0] && (name == clustering.SpaceLevels || name == clustering.SpaceGraph)
}

// softIn reports whether soft constraints are tried in a space. A mixture has none.
func (r *run) softIn(name clustering.Space) bool {
	return name == clustering.SpaceLevels || !r.trusted() && name != clustering.SpaceMixture
}

// metricIn reports whether a metric is learned in a space: in the first one of dense points.
func (r *run) metricIn(name clustering.Space) bool {
	_, dense := r.data.(*dataset.Points)
	return dense && name == r.openable[0] && r.opened[name].rows.learnable()
}

// whitenedIn reports whether whitening is tried in a space: in standardized rows, or in unchanged ones if those are
// the only rows. There must be several columns, and not too many.
func (r *run) whitenedIn(name clustering.Space) bool {
	points, dense := r.data.(*dataset.Points)
	if !dense || points.D < 2 || points.D > maxWhitenedColumns || r.n*points.D > maxWhitenedValues || r.spec.K < 2 {
		return false
	}
	return name == clustering.SpaceStandardized || name == clustering.SpaceRows && !slices.Contains(r.openable, clustering.SpaceStandardized)
}

// discriminantIn reports whether a discriminant is tried in a space: in rows. If columns are in unlike units, or if
// there are no seeds and therefore few known classes, it is tried in standardized rows only, if there are any.
func (p *Problem) discriminantIn(name clustering.Space) bool {
	switch name {
	case clustering.SpaceStandardized:
	case clustering.SpaceRows:
		alike := len(p.supervision.Seeds) > 0 && p.spaces[0] == clustering.SpaceRows
		if !alike && slices.Contains(p.spaces, clustering.SpaceStandardized) {
			return false
		}
	default:
		return false
	}
	return p.classifiable(name)
}

// onlyDiscriminants reports whether there are so many seeds that no other methods are tried.
func (p *Problem) onlyDiscriminants() bool {
	must, cannot := p.supervision.CountPairs()
	return len(p.supervision.Seeds) >= manySeeds && p.supervision.Contradictions == 0 && must > 0 && cannot > 0 &&
		p.allClassesKnown() && slices.ContainsFunc(p.spaces, p.discriminantIn)
}

// classifiable reports whether the data is dense points whose kernels can be computed in the units of a space.
func (p *Problem) classifiable(space clustering.Space) bool {
	points, dense := p.data.(*dataset.Points)
	if !dense {
		return false
	}
	units, err := p.Units(space)
	if err != nil {
		return false
	}
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

// mayReplace reports whether a method is good enough to replace the baseline.
func (r *run) mayReplace(score clustering.MethodScore) bool {
	_, dense := r.data.(*dataset.Points)
	switch {
	case len(r.supervision.Seeds) > 0 && r.supervision.Contradictions == 0 && dense:
		return true // seeds are certain
	case r.trusted() && candidateOf(score.ConstraintUse).certain: // it takes constraints as certain, and infers nothing else from them
		return score.Advantage >= clearlyWorse
	case r.supervision.Contradictions > 0:
		return score.Advantage > minAdvantageUnsure
	}
	return score.Advantage > minAdvantage
}

// mayBeFallback reports whether soft constraints on levels, which hardly differ from the baseline, are good enough if
// no method may replace it.
func (r *run) mayBeFallback(score clustering.MethodScore) bool {
	switch {
	case r.strayShare > 0:
		return false
	case r.supervision.Contradictions > 0:
		return score.Advantage >= 0
	}
	return score.Advantage >= clearlyWorse
}

// better reports whether a has more merit than b, which may be nil. Of equals, a method that uses constraints wins.
func (r *run) better(a, b *clustering.MethodScore) bool {
	if b == nil {
		return true
	}
	own, other := r.merit(a), r.merit(b)
	return own > other || own == other && b.ConstraintUse == clustering.UseNone
}

// merit returns the agreement of a method with held-out supervision, plus the bonus of its use.
func (r *run) merit(score *clustering.MethodScore) float64 {
	return score.Agreement() + r.bonus(score.ConstraintUse)
}

// bonus returns what is added to the agreement of a use: see seedBonus.
func (r *run) bonus(use clustering.ConstraintUse) float64 {
	if seeds := len(r.supervision.Seeds); seeds > 0 && use == clustering.UseDiscriminant {
		return seedBonus / math.Sqrt(float64(seeds))
	}
	return 0
}
