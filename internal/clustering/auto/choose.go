package auto

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/text"
)

const (
	// cutRatio is how many times the normalized cut of the eigenvectors that of k-means must exceed for the
	// eigenvectors to be preferred. Of mixtures of overlapping Gaussians, for which k-means is right, 5% exceed it.
	cutRatio = 1.2
	// minClusterSize is the mean cluster size below which nearest neighbors cannot separate clusters.
	minClusterSize = 50
	// enoughChecks is how many constraints must follow from others, with no contradiction, for all to be trusted. A
	// check involves three constraints or more, so if 10% were wrong, ten checks would pass in fewer than 10% of draws.
	enoughChecks = 10
	// A method replaces the answer without constraints if its advantage, in standard errors, exceeds leastAdvantage,
	// which 10% of equally good methods exceed by chance. The threshold is higher if constraints are few or contradict
	// each other. If they are trusted, it suffices that the method is not clearlyWorse.
	leastAdvantage       = 1.28
	leastAdvantageUnsure = 1.5
	leastAdvantageFew    = 2.0
	clearlyWorse         = -1.0
	// Constraints are wrong if, of minStrayAmong or more between separated clusters, at least minStrayShare are
	// must-links, after leastAdvantage standard errors are subtracted. Fewer than minStrayClusters clusters may all
	// overlap, so that must-links between them prove nothing. In 94 draws of correct constraints on sets of that many
	// classes there was no case; in 67 of 90 draws with 10% wrong ones there was.
	minStrayShare    = 0.04
	minStrayAmong    = 30
	minStrayClusters = 8
	// seedBonus / sqrt(m) is added to the agreement of a discriminant fitted to m seeds. In a fold it is fitted to
	// fewer seeds and does worse than it will with all of them; among methods that agree equally, it was best most
	// often.
	seedBonus = 1.5
	// From manySeeds seeds on, only discriminants are tried on dense points. No other method was chosen on any set.
	manySeeds = 200
)

// choose chooses a method and returns its answer.
func (r *run) choose(ctx context.Context) (*answer, *clustering.Choice, error) {
	base, choice, err := r.chooseSpace(ctx)
	if err != nil {
		return nil, nil, err
	}
	r.unaided = base.unconstrained.labels
	r.findStrays(r.unaided)
	must, cannot := r.supervision.Kinds()
	switch {
	case len(r.supervision.Shown(heldout.None)) == 0:
		return base.unconstrained, choice, nil
	case must == 0 || cannot == 0: // a few seeds may leave a single one in each fold, so that there is no pair to hold out
		r.noticeOneKind(must, cannot)
		choice.Chosen.ConstraintUse = r.defaultUse(base)
	case must+cannot < heldout.EnoughPairs:
		err = r.chooseByFew(ctx, base, choice)
	default:
		err = r.chooseByFolds(ctx, base, choice)
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := r.open(ctx, choice.Chosen.Space)
	if err != nil {
		return nil, nil, err
	}
	answers, err := r.fit(ctx, s, []task{{use: choice.Chosen.ConstraintUse, fold: heldout.None}})
	if err != nil {
		return nil, nil, err
	}
	if note := answers[0].note; note != "" {
		choice.Reason = append(choice.Reason, text.Plain("; %s", note))
	}
	return answers[0], choice, nil
}

// chooseSpace chooses the space that is used without constraints.
func (r *run) chooseSpace(ctx context.Context) (*space, *clustering.Choice, error) {
	first, err := r.open(ctx, r.spaces[0])
	if err != nil {
		return nil, nil, err
	}
	choice := &clustering.Choice{Chosen: clustering.Method{Space: first.name, ConstraintUse: clustering.UseNone}}
	if r.discriminants { // which do without the answer in other spaces
		return first, choice, nil
	}
	switch first.name {
	case clustering.SpaceLevels:
		choice.Reason = reason("graphs are cut from coarse to fine")
		return first, choice, nil
	case clustering.SpaceGraph:
		if left := r.n - len(first.plain.kept); left > 0 {
			r.noticeLeftOut(left)
		}
		choice.Reason = reason("edges with negative weights cannot be cut, so eigenvectors of the graph are used")
		return first, choice, nil
	case clustering.SpaceNeighbors:
		choice.Reason = reason("sparse rows are compared by their nearest neighbors")
		return first, choice, nil
	}
	if len(r.spaces) == 1 || !ofNeighbors(r.spaces[1]) {
		choice.Reason = reason("finding nearest neighbors would take too long, so k-means is used")
		return first, choice, nil
	}
	near, err := r.open(ctx, r.spaces[1])
	if err != nil {
		return nil, nil, err
	}
	// Neither is a lower bound: the k-means labels may have the smaller cut.
	own, spectral := normalizedCut(near.graph, first.unconstrained.labels, r.spec.K), normalizedCut(near.graph, near.unconstrained.labels, r.spec.K)
	switch {
	case r.n < minClusterSize*r.spec.K:
		choice.Reason = reason("clusters of %s on average are too small for nearest neighbors to tell them apart, so k-means is used", text.Count(r.n/r.spec.K, "point", "points"))
	case own > float64(cutRatio*spectral):
		if column := sharpColumn(near.graph, r.data); column >= 0 {
			choice.Reason = text.Message{text.Plain("nearest neighbors nearly always have the same value in column "), text.Column(column), text.Plain(", which has few values, so k-means is used")}
			return first, choice, nil
		}
		choice.Chosen.Space = near.name
		choice.Reason = reason("k-means cuts through the nearest-neighbor graph: its normalized cut is %.3g, that of spectral clustering %.3g", own, spectral)
		return near, choice, nil
	default:
		choice.Reason = reason("k-means cuts the nearest-neighbor graph about as little as spectral clustering does: its normalized cut is %.3g, that of spectral clustering %.3g", own, spectral)
	}
	return r.chooseMixture(ctx, first, choice)
}

// defaultUse returns how constraints are used if methods are not compared. A mixture has no soft constraints.
func (r *run) defaultUse(s *space) clustering.ConstraintUse {
	switch {
	case s.levels == nil && r.supervision.Contradictions == 0 && r.options.Enforce != EnforceNever:
		return clustering.UseHard
	case s.name == clustering.SpaceMixture:
		return clustering.UseNone
	}
	return clustering.UseSoft
}

// chooseByFew chooses a method if there are few constraints. It compares the answers without constraints in all spaces
// by all pairs. In the best space, it uses the constraints unless cross-validation shows that they make the answer
// worse. If that space is the mixture, k-means with hard constraints replaces it if it agrees better with held-out ones.
func (r *run) chooseByFew(ctx context.Context, base *space, choice *clustering.Choice) error {
	best := r.right(base.unconstrained)
	for _, name := range r.spaces {
		s, err := r.open(ctx, name)
		if err != nil {
			return err
		}
		right := r.right(s.unconstrained)
		tried := r.tried(clustering.Method{Space: name, ConstraintUse: clustering.UseNone}, right, best)
		choice.Tried = append(choice.Tried, tried)
		r.o.Observe(clustering.MethodTried{Trial: tried.Trial})
		if tried.Advantage > leastAdvantageFew {
			base, best = s, right
			choice.Reason = reason("without being shown the constraints it agrees with them by %.2f, which is %.2g standard errors better than the usual choice", tried.Agreement(), tried.Advantage)
		}
	}
	r.noticeFew(len(r.supervision.Pairs))
	uses := []clustering.ConstraintUse{r.defaultUse(base)}
	if base.plain != nil && base.graph != nil && r.spec.K > 1 {
		uses = append(uses, clustering.UseCuts)
	}
	outcomes, err := r.crossValidate(ctx, base, uses, nil)
	if err != nil {
		return err
	}
	if base.name == clustering.SpaceMixture && r.supervision.Contradictions == 0 { // with few rows, k-means follows constraints better
		ofRows, err := r.crossValidate(ctx, r.opened[r.spaces[0]], uses, nil)
		if err != nil {
			return err
		}
		outcomes = append(outcomes, ofRows...)
	}
	var tried clustering.MethodScore
	for at, outcome := range outcomes {
		one := r.tried(outcome.method, outcome.right, best)
		choice.Tried = append(choice.Tried, one)
		if at == 0 || one.Agreement() > tried.Agreement() {
			tried = one
		}
	}
	choice.Chosen = tried.Method
	if tried.Advantage < clearlyWorse {
		choice.Chosen = clustering.Method{Space: base.name, ConstraintUse: clustering.UseNone}
		choice.Reason = append(choice.Reason, text.Plain("; constraints are ignored, because an answer fitted to some of them agrees less with the others (%.2f)", tried.Agreement()))
	}
	return nil
}

// chooseByFolds chooses the method that agrees best with held-out constraints.
func (r *run) chooseByFolds(ctx context.Context, base *space, choice *clustering.Choice) error {
	baseRight := r.right(base.unconstrained)
	if len(r.supervision.Seeds) == 0 && !slices.Contains(baseRight, false) { // no method could agree better
		choice.Tried = append(choice.Tried, r.tried(choice.Chosen, baseRight, baseRight))
		choice.Reason = append(reason("without being shown the constraints it satisfies all of them; "), choice.Reason...)
		return nil
	}
	tried, err := r.tryMethods(ctx, baseRight)
	if err != nil {
		return err
	}
	var outcomes []outcome                  // of the methods that were fitted to all folds
	var best, taken *clustering.MethodScore // best of all methods, and best of those that may replace the answer without constraints
	var usual *clustering.MethodScore       // fallback if no method may replace it
	for _, one := range tried {
		if one.folds < r.folds {
			choice.Tried = append(choice.Tried, r.triedFirst(one, baseRight))
			continue
		}
		outcomes = append(outcomes, one)
		tried := r.tried(one.method, one.right, baseRight)
		choice.Tried = append(choice.Tried, tried)
		if one.method == (clustering.Method{Space: clustering.SpaceLevels, ConstraintUse: clustering.UseSoft}) {
			usual = &tried
		}
		if r.better(&tried, best) {
			best = &tried
		}
		if r.mayReplace(tried) && r.better(&tried, taken) {
			taken = &tried
		}
	}
	without := r.trial(choice.Chosen, baseRight, heldout.None).Agreement()
	switch {
	case taken == nil && usual != nil && r.mayBeUsual(*usual):
		choice.Chosen = usual.Method
		choice.Reason = append(reason("no other method agrees clearly better with held-out constraints (this one by %.2f, ignoring them by %.2f); ", usual.Agreement(), without), choice.Reason...)
	case taken == nil:
		choice.Reason = append(reason("ignoring the constraints agrees as well with held-out ones (%.2f) as using them; ", without), choice.Reason...)
	case len(r.supervision.Seeds) > 0:
		choice.Reason = r.seedReason(taken, choice.Tried, without)
	case r.trusted():
		choice.Reason = reason("it agrees best with held-out constraints (%.2f); %d constraints follow from others and none contradicts them, so all are taken as certain", taken.Agreement(), r.supervision.Checked)
	default:
		choice.Reason = reason("it agrees with held-out constraints by %.2f, ignoring them by %.2f: %.2g standard errors better", taken.Agreement(), without, taken.Advantage)
	}
	if taken != nil {
		choice.Chosen = taken.Method
	}
	r.noticeTrials(best, outcomes)
	return nil
}

// reason returns a message that refers to no row or column.
func reason(format string, args ...any) text.Message {
	return text.Message{text.Plain(format, args...)}
}

// seedReason explains the choice of a method if there are seeds.
func (r *run) seedReason(taken *clustering.MethodScore, trials []clustering.MethodScore, without float64) text.Message {
	best := taken.Agreement()
	for _, other := range trials {
		best = max(best, other.Agreement())
	}
	if best > taken.Agreement() {
		return reason("a classifier agrees with held-out labels by %.2f, the best other method by %.2f; with %d labels the classifier is expected to overtake it once fitted to all of them",
			taken.Agreement(), best, len(r.supervision.Seeds))
	}
	return reason("it agrees best with held-out labels (%.2f; ignoring them %.2f)", taken.Agreement(), without)
}

// better reports whether a has more merit than b, which may be nil. Of equals, a method that uses constraints wins.
func (r *run) better(a, b *clustering.MethodScore) bool {
	if b == nil {
		return true
	}
	own, other := r.merit(a), r.merit(b)
	return own > other || own == other && b.ConstraintUse == clustering.UseNone
}

// merit returns the agreement of a method with held-out supervision, plus the bonus of a discriminant.
func (r *run) merit(w *clustering.MethodScore) float64 {
	return w.Agreement() + r.bonus(w.ConstraintUse)
}

func (r *run) bonus(use clustering.ConstraintUse) float64 {
	if seeds := len(r.supervision.Seeds); seeds > 0 && use == clustering.UseDiscriminant {
		return seedBonus / math.Sqrt(float64(seeds))
	}
	return 0
}

// mostMerit returns the merit of a method that has all held-out supervision right.
func (r *run) mostMerit(uses []clustering.ConstraintUse) float64 {
	most := 0.0
	for _, use := range uses {
		most = max(most, 1+r.bonus(use))
	}
	return most
}

// mayReplace reports whether a method is good enough to replace the answer without constraints.
func (r *run) mayReplace(w clustering.MethodScore) bool {
	_, dense := r.data.(*dataset.Points)
	switch {
	case len(r.supervision.Seeds) > 0 && r.supervision.Contradictions == 0 && dense:
		return true // seeds are certain
	case r.trusted() && (w.ConstraintUse == clustering.UseHard || w.ConstraintUse == clustering.UseMetric || w.ConstraintUse == clustering.UseWhitened): // other methods do not treat constraints as certain, or infer more from them
		return w.Advantage >= clearlyWorse
	case r.supervision.Contradictions > 0:
		return w.Advantage > leastAdvantageUnsure
	}
	return w.Advantage > leastAdvantage
}

// mayBeUsual reports whether soft constraints on levels are good enough to be used if no method may replace the answer
// without constraints.
func (r *run) mayBeUsual(w clustering.MethodScore) bool {
	switch {
	case r.strayShare > 0:
		return false
	case r.supervision.Contradictions > 0:
		return w.Advantage >= 0
	}
	return w.Advantage >= clearlyWorse
}

// trusted reports whether enough constraints confirm each other and none contradicts another.
func (r *run) trusted() bool {
	return r.supervision.Contradictions == 0 && r.supervision.Checked >= enoughChecks
}

// findStrays estimates the share of wrong constraints by stray must-links, given an answer that has not seen the
// constraints. The share stays 0 if chance, or clusters that overlap, could explain them.
func (r *run) findStrays(labels []int32) {
	if len(r.supervision.Seeds) > 0 || r.spec.K < minStrayClusters || len(r.supervision.Constraints) < heldout.EnoughPairs {
		return
	}
	stray, among := r.supervision.StrayMustLinks(labels)
	if least := float64(stray) - float64(leastAdvantage*math.Sqrt(float64(stray))); among >= minStrayAmong && least >= float64(minStrayShare*float64(among)) {
		r.strayShare = float64(stray) / float64(among)
	}
}

// methods returns the uses of constraints to compare in each space. If constraints contradict each other, some of them
// are wrong, so none is hard; if they are trusted, all are hard. UseCuts weighs constraints itself and is tried in the
// first graph.
func (r *run) methods() map[clustering.Space][]clustering.ConstraintUse {
	methods := map[clustering.Space][]clustering.ConstraintUse{}
	_, dense := r.data.(*dataset.Points)
	if r.discriminants {
		r.addDiscriminants(methods)
		return methods
	}
	for _, name := range r.spaces {
		if r.spec.K > 1 && (name == clustering.SpaceGraph || ofNeighbors(name)) {
			methods[name] = append(methods[name], clustering.UseCuts)
			break
		}
	}
	if (len(r.supervision.Seeds) > 0 || r.supervision.Contradictions == 0) && r.allGroupsKnown() {
		r.addKnownUses(methods)
	}
	for at, name := range r.spaces {
		if name == clustering.SpaceLevels {
			methods[name] = append(methods[name], clustering.UseNone, clustering.UseSoft)
			continue
		}
		if !r.trusted() {
			methods[name] = append(methods[name], clustering.UseNone)
			if name != clustering.SpaceMixture { // which has no soft constraints
				methods[name] = append(methods[name], clustering.UseSoft)
			}
		}
		if r.supervision.Contradictions == 0 {
			methods[name] = append(methods[name], clustering.UseHard)
			if dense && at == 0 && r.opened[name].rows.learnable() {
				methods[name] = append(methods[name], clustering.UseMetric)
			}
			if r.whitenable(name) {
				methods[name] = append(methods[name], clustering.UseWhitened)
			}
		}
	}
	return methods
}

// onlyDiscriminants reports whether there are so many seeds that no other methods are tried.
func (p *Problem) onlyDiscriminants() bool {
	if must, cannot := p.supervision.Kinds(); len(p.supervision.Seeds) < manySeeds || p.supervision.Contradictions > 0 || must == 0 || cannot == 0 || !p.allGroupsKnown() {
		return false
	}
	methods := map[clustering.Space][]clustering.ConstraintUse{}
	p.addDiscriminants(methods)
	return len(methods) > 0
}

// addKnownUses adds the uses that start from known groups: discriminants, and spreading in every neighbor graph or once
// in a given graph.
func (r *run) addKnownUses(methods map[clustering.Space][]clustering.ConstraintUse) {
	r.addDiscriminants(methods)
	given := false
	for _, name := range r.spaces {
		switch {
		case ofNeighbors(name):
			methods[name] = append(methods[name], clustering.UseSpread)
		case (name == clustering.SpaceLevels || name == clustering.SpaceGraph) && !given:
			methods[name] = append(methods[name], clustering.UseSpread)
			given = true
		}
	}
}

// addDiscriminants adds a discriminant in the spaces of rows. If columns are in unlike units, or if there are no seeds
// and therefore few known groups, it is tried in standardized columns only, if there are any.
func (p *Problem) addDiscriminants(methods map[clustering.Space][]clustering.ConstraintUse) {
	everywhere := len(p.supervision.Seeds) > 0 && p.spaces[0] == clustering.SpaceRows || !slices.Contains(p.spaces, clustering.SpaceStandardized)
	for _, name := range p.spaces {
		isRows := name == clustering.SpaceRows || name == clustering.SpaceStandardized
		if isRows && p.classifiable(name) && (everywhere || name == clustering.SpaceStandardized) {
			methods[name] = append(methods[name], clustering.UseDiscriminant)
		}
	}
}
