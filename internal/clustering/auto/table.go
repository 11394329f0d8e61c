package auto

import (
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
)

// This file is the decision of auto: what competes, and what it takes to win. Each constant says what it was measured
// on; docs/design/tuning.md has the figures. Choose a new value on data sets set aside for that, then let `make
// answers` judge it on others.

// The spaces. They are listed in listSpaces, in the order of preference: without supervision, k-means runs in the first
// one unless the second, or the mixture, is better.
const (
	// DefaultNeighbors is the number of neighbors of a row in the nearest-neighbor graph. 7, 15 and 20 were no better.
	DefaultNeighbors = 10
	// defaultSparseNeighbors is the same for sparse rows, whose distances tell less: most of them share no column. On
	// eight collections of texts, 30 gives a mean ARI of .22, 10 gives .16.
	defaultSparseNeighbors = 30
	// longSearch is the longest time that finding neighbors may take, in seconds on usualThreads threads, as
	// searchSeconds judges by the shape of the data: what is tried must not depend on which workers are available.
	longSearch   = 60
	usualThreads = 2
	// maxEigenvalues is the maximum of n k for which eigenvectors of a given graph are computed. It bounds memory.
	maxEigenvalues = 1 << 23
	// A mixture is fitted in this process, so the number of its values, and the multiplications of an iteration, are
	// limited.
	maxMixtureValues = 1 << 22
	maxMixtureWork   = 1 << 27
	// Whitened rows are in the memory of this process, and their metric has columns x columns values.
	maxWhitenedValues  = 1 << 22
	maxWhitenedColumns = 128
)

// The baseline, which is the answer without supervision; see chooseBaseline.
//
//	k-means in the first space             is replaced by                  if
//	n >= minClusterSize k                  eigenvectors of the neighbor    k-means cuts more than cutRatio times as
//	                                       graph in the same units         much of the graph, and no column is sharp
//	the same, and they do not replace it;  a mixture that starts from it   it is the better model of the rows, by the
//	or n < minClusterSize k                                                Bayesian information criterion
const (
	// cutRatio is how many times larger the normalized cut of k-means must be than that of the eigenvectors for the
	// eigenvectors to be preferred. Of simulated mixtures for which k-means is right, 5 % exceed it.
	cutRatio = 1.2
	// minClusterSize is the mean cluster size below which nearest neighbors cannot separate clusters.
	minClusterSize = 50
	// fewValues is the maximum number of distinct values of a column of numbers that may split the neighbor graph, or
	// that has no density in a mixture.
	fewValues = 10
	// sharpEdges is the ratio of edges between rows with different values to those expected by chance below which a
	// neighbor graph follows a column. It is .00 to .11 in synthetic tables with columns that say nothing, and .23 or
	// more in columns of few values of ionosphere, letter-ijl and hepatitis.
	sharpEdges = 0.15
)

// regime is how a method is chosen. It depends on how much supervision there is.
type regime uint8

// The regimes. The first that applies is taken. docs/ALGORITHMS.md, "The table", says for each which methods compete
// and what replaces the baseline.
const (
	unguided  regime = iota + 1 // there is no supervision, or a single seed: the baseline is the answer
	oneKind                     // only must-links or only cannot-links, which cannot compare methods
	few                         // fewer than heldout.EnoughPairs pairs: the space is chosen first, then the use
	manySeeds                   // fromManySeeds or more, on dense points: only classifiers compete
	folds                       // more: the candidates compete on held-out pairs
)

const (
	// DefaultFolds is the number of folds of the constraints.
	DefaultFolds = 3
	// fromManySeeds is the number of seeds from which only classifiers compete on dense points. With so many, no other
	// method was chosen on any set, and trying classifiers alone takes a fifth of the time.
	fromManySeeds = 200
	// minAdvantageFew is the advantage over the best space so far that a space needs if there are few pairs. On 19 sets
	// with 20 pairs, 1.5 is no better, and .08 worse than no pairs on one set.
	minAdvantageFew = 2.0
)

// findRegime returns the regime of a problem.
func (p *Problem) findRegime() regime {
	must, cannot := p.supervision.CountPairs()
	switch {
	case len(p.supervision.TrainingConstraints(heldout.None)) == 0:
		return unguided
	case must == 0 || cannot == 0:
		// few seeds may leave a single one in each fold, so that there is no pair to hold out
		return oneKind
	case must+cannot < heldout.EnoughPairs:
		return few
	case len(p.supervision.Seeds) >= fromManySeeds && p.supervision.Contradictions == 0 && p.allClassesKnown() &&
		slices.ContainsFunc(p.spaces, p.discriminantIn):
		return manySeeds
	}
	return folds
}

// usualUse returns how constraints are used in a space if uses are not compared. A mixture has no soft constraints.
func (p *Problem) usualUse(name clustering.Space) clustering.ConstraintUse {
	switch {
	case name != clustering.SpaceLevels && p.trust() != contradicted && p.options.Enforce != EnforceNever:
		return clustering.UseHard
	case name == clustering.SpaceMixture:
		return clustering.UseNone
	}
	return clustering.UseSoft
}

// trust is how far constraints can be trusted. Some follow from others, which confirms or contradicts all of them.
// Seeds confirm nothing, because they cannot contradict each other, but constraints can contradict them.
type trust uint8

const (
	contradicted trust = iota // a constraint contradicts others, so some are certainly wrong
	unchecked                 // fewer than enoughChecks follow from others, without a contradiction
	confirmed                 // enoughChecks or more follow from others, without a contradiction: all are certain
)

// enoughChecks is how many constraints must follow from others for all to be trusted. If 10 % were wrong, so many
// checks would pass in fewer than 10 % of draws.
const enoughChecks = 10

// trust returns how far the constraints can be trusted.
func (p *Problem) trust() trust {
	switch {
	case p.supervision.Contradictions > 0:
		return contradicted
	case p.supervision.Checked >= enoughChecks:
		return confirmed
	}
	return unchecked
}

// candidate is a use of the supervision. It competes in every space that suits it.
type candidate struct {
	use   clustering.ConstraintUse
	suits func(ss *spaces, name clustering.Space) bool
	// fromClasses is set if the use starts from rows of known class, so that each cluster needs one.
	fromClasses bool
	// screened is set if a fit starts several times. A brief fit, from one start, can then show that it is hopeless.
	// Other uses are fast, or get a bonus, so that a brief fit could not rule them out.
	screened bool
	bonus    float64 // divided by the root of the number of seeds, it is added to the agreement
	bars     bars
}

// bar reports whether an advantage over the baseline suffices to replace it.
type bar func(advantage float64) bool

// bars has the bar of a use by how far constraints can be trusted. With nil, the use does not compete.
type bars [confirmed + 1]bar

func above(least float64) bar   { return func(advantage float64) bool { return advantage > least } }
func atLeast(least float64) bar { return func(advantage float64) bool { return advantage >= least } }
func always(float64) bool       { return true }

// Advantages over the baseline, in standard errors. On 18 sets with ten draws each, correct pairs and one in ten wrong,
// 1 is .003 better than 1.28 and more often below the answer without pairs, 1.5 and 2 are worse by .003 and .01.
const (
	minAdvantage       = 1.28 // 10 % of equally good methods exceed it by chance
	minAdvantageUnsure = 1.5
	clearlyWorse       = -1.0
)

// candidates lists the uses of the supervision in the order in which a space tries them. Among methods that agree
// equally, the first wins. The bars of tolerant uses do not depend on constraints being right; doubtful ones are left
// out if constraints confirm each other, trusting ones if constraints contradict each other.
func candidates() []candidate {
	tolerant := bars{
		contradicted: above(minAdvantageUnsure),
		unchecked:    above(minAdvantage),
		confirmed:    above(minAdvantage),
	}
	doubtful := bars{
		contradicted: above(minAdvantageUnsure),
		unchecked:    above(minAdvantage),
	}
	trusting := bars{
		unchecked: above(minAdvantage),
		confirmed: atLeast(clearlyWorse),
	}
	return []candidate{
		{use: clustering.UseCuts, suits: cutsIn, bars: tolerant},
		{use: clustering.UseDiscriminant, suits: discriminantIn, bars: tolerant, fromClasses: true, bonus: seedBonus},
		{use: clustering.UseSpread, suits: spreadIn, bars: tolerant, fromClasses: true},
		{use: clustering.UseNone, suits: isLevels, bars: tolerant},
		{use: clustering.UseNone, suits: isNotLevels, bars: doubtful},
		{use: clustering.UseSoft, suits: isLevels, bars: tolerant, screened: true},
		{use: clustering.UseSoft, suits: softIn, bars: doubtful, screened: true},
		{use: clustering.UseHard, suits: isNotLevels, bars: trusting, screened: true},
		{use: clustering.UseMetric, suits: metricIn, bars: trusting, screened: true},
		{use: clustering.UseWhitened, suits: whitenedIn, bars: trusting, screened: true},
	}
}

const (
	// seedBonus / sqrt(m) is added to the agreement of a classifier fitted to m seeds. In a fold it is fitted to fewer
	// seeds and gets less right than it will with all of them. On 25 sets half of it is worse by .007 with 5 % of the
	// labels and by .002 with 20 %.
	seedBonus = 1.5
	// longFit is the number of rows x columns x clusters from which a fit takes long. A method that is then more than
	// hopeless standard errors behind the best one after a fold of at least enoughInFold pairs is not fitted to the
	// other folds. About 2 % of equally good methods fall so far behind. If the answer of its space without
	// constraints is more than hopelessSpace behind, being behind in the fold suffices.
	longFit       = 1 << 20
	hopeless      = 2.0
	hopelessSpace = 3.0
	enoughInFold  = 100
)

// competitor is a method that competes: a candidate in a space.
type competitor struct {
	method   clustering.Method
	screened bool
	bonus    float64 // is added to its agreement
	bar      bar     // is what its advantage over the baseline must reach
}

// competitors returns the methods that compete, those of a space together, in the order of the table.
func competitors(ss *spaces, names []clustering.Space) [][]competitor {
	p := ss.p
	known := (len(p.supervision.Seeds) > 0 || p.trust() != contradicted) && p.allClassesKnown()
	var all [][]competitor
	for _, name := range names {
		var own []competitor
		for _, c := range candidates() {
			switch {
			case c.bars[p.trust()] == nil,
				c.fromClasses && !known,
				p.regime == manySeeds && c.use != clustering.UseDiscriminant:
			case c.suits(ss, name):
				own = append(own, p.competitor(name, c))
			}
		}
		if len(own) > 0 {
			all = append(all, own)
		}
	}
	return all
}

// competitor returns a candidate in a space.
func (p *Problem) competitor(name clustering.Space, c candidate) competitor {
	one := competitor{
		method:   clustering.Method{Space: name, ConstraintUse: c.use},
		screened: c.screened && name != clustering.SpaceMixture,
		bar:      c.bars[p.trust()],
	}
	seeds := len(p.supervision.Seeds)
	if seeds > 0 {
		one.bonus = c.bonus / math.Sqrt(float64(seeds))
	}
	_, dense := p.points()
	if seeds > 0 && dense && p.trust() != contradicted { // seeds are certain
		one.bar = always
	}
	return one
}

// The spaces that suit a use.

func isLevels(_ *spaces, name clustering.Space) bool    { return name == clustering.SpaceLevels }
func isNotLevels(_ *spaces, name clustering.Space) bool { return name != clustering.SpaceLevels }

// softIn reports whether soft constraints are tried in rows or eigenvectors. A mixture has none.
func softIn(_ *spaces, name clustering.Space) bool {
	return name != clustering.SpaceLevels && name != clustering.SpaceMixture
}

// cutsIn reports whether a space is the first one of eigenvectors of a graph. Cuts weigh constraints themselves.
func cutsIn(ss *spaces, name clustering.Space) bool {
	first := slices.IndexFunc(ss.p.spaces, ofVectors)
	return ss.p.spec.K > 1 && first >= 0 && name == ss.p.spaces[first]
}

// spreadIn reports whether a space is a neighbor graph, or the first one of a given graph.
func spreadIn(ss *spaces, name clustering.Space) bool {
	ofGraph := name == clustering.SpaceLevels || name == clustering.SpaceGraph
	return ofNeighbors(name) || ofGraph && name == ss.p.spaces[0]
}

// metricIn reports whether a space is the first one of dense points, if a metric can be learned there.
func metricIn(ss *spaces, name clustering.Space) bool {
	_, dense := ss.p.points()
	return dense && name == ss.p.spaces[0] && ss.opened[name].rows.learnable()
}

// whitenedIn reports whether a space is standardized rows, or unchanged ones if those are the only rows. There must be
// several columns, and not too many.
func whitenedIn(ss *spaces, name clustering.Space) bool {
	points, dense := ss.p.points()
	if !dense || ss.p.spec.K < 2 {
		return false
	}
	if points.D < 2 || points.D > maxWhitenedColumns || points.N*points.D > maxWhitenedValues {
		return false
	}
	standardized := ss.p.hasSpace(clustering.SpaceStandardized)
	return name == clustering.SpaceStandardized || name == clustering.SpaceRows && !standardized
}

func discriminantIn(ss *spaces, name clustering.Space) bool { return ss.p.discriminantIn(name) }

// discriminantIn reports whether classifiers are tried in a space: in rows. If columns are in unlike units, or if there
// are no seeds and therefore few known classes, they are tried in standardized rows only, if there are any.
func (p *Problem) discriminantIn(name clustering.Space) bool {
	switch name {
	case clustering.SpaceStandardized:
	case clustering.SpaceRows:
		alike := len(p.supervision.Seeds) > 0 && p.spaces[0] == clustering.SpaceRows
		if !alike && p.hasSpace(clustering.SpaceStandardized) {
			return false
		}
	default:
		return false
	}
	return p.classifiable(name)
}
