package auto

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

const (
	// cutRatio is by how much more k-means must cut the graph of nearest neighbors than the graph's eigenvectors do for
	// these to be taken: of mixtures of overlapping gaussians, where k-means is right, one in twenty exceeds it.
	cutRatio = 1.2
	// minClusterSize is how large clusters must be, on average, for their neighbors to tell them apart.
	minClusterSize = 50
	// enoughChecks is how many constraints must follow from others, without one contradiction, for all to be trusted. A
	// check is about three constraints or more: if one in ten was wrong, ten checks would be passed in less than one draw
	// out of ten.
	enoughChecks = 10
	// A way replaces the answer without constraints if it is better by more than so many standard errors, which one in ten
	// that is no better exceeds by chance; where constraints contradict each other, or are few, by more; where they are
	// trusted, unless it is clearly worse.
	leastAdvantage       = 1.28
	leastAdvantageUnsure = 1.5
	leastAdvantageFew    = 2.0
	clearlyWorse         = -1.0
	// seedBonus is what a discriminant is ahead by where m seeds are given, over sqrt(m): fitted to a part of few seeds it has
	// less right than it will have with all of them, and of ways that agree alike it was the best more often.
	seedBonus = 1.5
)

// choose finds the way and its answer.
func (r *run) choose(ctx context.Context) (*answer, *clustering.Choice, error) {
	base, choice, err := r.chooseSpace(ctx)
	if err != nil {
		return nil, nil, err
	}
	must, cannot := r.supervision.Kinds()
	switch {
	case len(r.supervision.Shown(heldout.None)) == 0:
		return base.alone, choice, nil
	case must == 0 || cannot == 0: // a few seeds may be one in each fold, without a pair to hold out
		r.noticeOneKind(must, cannot)
		choice.Chosen.Use = r.firmUse(base)
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
	answers, err := r.fit(ctx, s, []task{{use: choice.Chosen.Use, fold: heldout.None}})
	if err != nil {
		return nil, nil, err
	}
	if note := answers[0].note; note != "" {
		choice.Reason += "; " + note
	}
	return answers[0], choice, nil
}

// chooseSpace chooses the space of the answer without constraints.
func (r *run) chooseSpace(ctx context.Context) (*space, *clustering.Choice, error) {
	names := r.names
	first, err := r.open(ctx, names[0])
	if err != nil {
		return nil, nil, err
	}
	choice := &clustering.Choice{Chosen: clustering.Way{Space: first.name, Use: clustering.UseNone}}
	switch first.name {
	case clustering.SpaceLevels:
		choice.Reason = "graphs are cut from coarse to fine"
		return first, choice, nil
	case clustering.SpaceGraph:
		if left := r.n - len(first.plain.kept); left > 0 {
			r.noticeLeftOut(left)
		}
		choice.Reason = "edges with negative weights cannot be cut, so eigenvectors of the graph are used"
		return first, choice, nil
	case clustering.SpaceNeighbors:
		choice.Reason = "sparse rows are compared by their nearest neighbors"
		return first, choice, nil
	}
	if len(names) == 1 || !ofNeighbors(names[1]) {
		choice.Reason = "finding nearest neighbors would take too long, so k-means is used"
		return first, choice, nil
	}
	near, err := r.open(ctx, names[1])
	if err != nil {
		return nil, nil, err
	}
	// Neither is a lower bound: the k-means labels may have the smaller cut.
	own, spectral := normalizedCut(near.graph, first.alone.labels, r.spec.K), normalizedCut(near.graph, near.alone.labels, r.spec.K)
	switch {
	case r.n < minClusterSize*r.spec.K:
		choice.Reason = fmt.Sprintf("clusters of %d points on average are too small for nearest neighbors to tell them apart, so k-means is used", r.n/r.spec.K)
	case own > float64(cutRatio*spectral):
		if column := sharpColumn(near.graph, r.data); column >= 0 {
			choice.Reason = fmt.Sprintf("nearest neighbors nearly always share the value of column %d, which has few values, so k-means is used", column)
			return first, choice, nil
		}
		choice.Chosen.Space = near.name
		choice.Reason = fmt.Sprintf("k-means cuts through the nearest-neighbor graph: its normalized cut is %.3g, that of spectral clustering %.3g", own, spectral)
		return near, choice, nil
	default:
		choice.Reason = fmt.Sprintf("k-means cuts the nearest-neighbor graph about as little as spectral clustering does: its normalized cut is %.3g, that of spectral clustering %.3g", own, spectral)
	}
	return first, choice, nil
}

// firmUse is how constraints enter where ways are not compared.
func (r *run) firmUse(s *space) clustering.Use {
	if s.levels != nil || r.supervision.Contradictions > 0 {
		return clustering.UseSoft
	}
	return clustering.UseHard
}

// chooseByFew compares the spaces' answers without constraints by all pairs. In the best space constraints are
// used, unless folds tell that they make the answer worse.
func (r *run) chooseByFew(ctx context.Context, base *space, choice *clustering.Choice) error {
	best := r.right(base.alone)
	for _, name := range r.names {
		s, err := r.open(ctx, name)
		if err != nil {
			return err
		}
		right := r.right(s.alone)
		tried := r.tried(clustering.Way{Space: name, Use: clustering.UseNone}, right, best)
		choice.Trials = append(choice.Trials, tried)
		r.o.Trial(tried.Trial)
		if tried.Advantage > leastAdvantageFew {
			base, best = s, right
			choice.Reason = fmt.Sprintf("without being shown the constraints it agrees with them by %.2f, which is %.2g standard errors better than the usual choice", tried.Agreement(), tried.Advantage)
		}
	}
	r.noticeFew(len(r.supervision.Pairs))
	uses := []clustering.Use{r.firmUse(base)}
	if base.plain != nil && base.graph != nil && r.spec.K > 1 {
		uses = append(uses, clustering.UseCuts)
	}
	rights, err := r.crossValidate(ctx, base, uses, nil)
	if err != nil {
		return err
	}
	var tried clustering.TriedWay
	for at := range uses {
		one := r.tried(rights[at].way, rights[at].right, best)
		choice.Trials = append(choice.Trials, one)
		if at == 0 || one.Agreement() > tried.Agreement() {
			tried = one
		}
	}
	choice.Chosen = tried.Way
	if tried.Advantage < clearlyWorse {
		choice.Chosen.Use = clustering.UseNone
		choice.Reason += fmt.Sprintf("; constraints are ignored, because an answer fitted to some of them agrees less with the others (%.2f)", tried.Agreement())
	}
	return nil
}

// chooseByFolds compares the ways by how well they agree with the constraints that they were not shown.
func (r *run) chooseByFolds(ctx context.Context, base *space, choice *clustering.Choice) error {
	baseRight := r.right(base.alone)
	tried, err := r.tryWays(ctx, baseRight)
	if err != nil {
		return err
	}
	var rights []wayRight                // of those that were fitted to all folds
	var best, taken *clustering.TriedWay // of all ways, and of those that may replace the answer without constraints
	var usual *clustering.TriedWay       // the one that is taken where none may: it hardly differs
	for _, one := range tried {
		if one.folds < r.folds {
			choice.Trials = append(choice.Trials, r.triedFirst(one, baseRight))
			continue
		}
		rights = append(rights, one)
		tried := r.tried(one.way, one.right, baseRight)
		choice.Trials = append(choice.Trials, tried)
		if one.way == (clustering.Way{Space: clustering.SpaceLevels, Use: clustering.UseSoft}) {
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
		choice.Chosen = usual.Way
		choice.Reason = fmt.Sprintf("no other method agrees clearly better with held-out constraints (this one by %.2f, ignoring them by %.2f); %s", usual.Agreement(), without, choice.Reason)
	case taken == nil:
		choice.Reason = fmt.Sprintf("ignoring the constraints agrees as well with held-out ones (%.2f) as using them; %s", without, choice.Reason)
	case len(r.supervision.Seeds) > 0:
		choice.Chosen = taken.Way
		choice.Reason = r.seedReason(taken, choice.Trials, without)
	case r.trusted():
		choice.Chosen = taken.Way
		choice.Reason = fmt.Sprintf("it agrees best with held-out constraints (%.2f); %d constraints follow from others and none contradicts them, so all are taken as certain", taken.Agreement(), r.supervision.Checked)
	default:
		choice.Chosen = taken.Way
		choice.Reason = fmt.Sprintf("it agrees with held-out constraints by %.2f, ignoring them by %.2f: %.2g standard errors better", taken.Agreement(), without, taken.Advantage)
	}
	r.noticeTrials(best, rights)
	return nil
}

// seedReason says why a way is taken where seeds are given.
func (r *run) seedReason(taken *clustering.TriedWay, trials []clustering.TriedWay, without float64) string {
	best := taken.Agreement()
	for _, other := range trials {
		best = max(best, other.Agreement())
	}
	if best > taken.Agreement() {
		return fmt.Sprintf("a classifier agrees with held-out labels by %.2f, the best other method by %.2f; with %d labels the classifier is expected to overtake it once fitted to all of them",
			taken.Agreement(), best, len(r.supervision.Seeds))
	}
	return fmt.Sprintf("it agrees best with held-out labels (%.2f; ignoring them %.2f)", taken.Agreement(), without)
}

// better tells whether a way agrees better than another, which may be nil. Of equals those that use constraints win.
func (r *run) better(a, b *clustering.TriedWay) bool {
	if b == nil {
		return true
	}
	own, other := r.merit(a), r.merit(b)
	return own > other || own == other && b.Use == clustering.UseNone
}

// merit is the agreement of a way with held-out supervision, and what discriminants are ahead by.
func (r *run) merit(w *clustering.TriedWay) float64 {
	if seeds := len(r.supervision.Seeds); seeds > 0 && w.Use == clustering.UseDiscriminant {
		return w.Agreement() + seedBonus/math.Sqrt(float64(seeds))
	}
	return w.Agreement()
}

// mayReplace tells whether a way is good enough to replace the answer without constraints.
func (r *run) mayReplace(w clustering.TriedWay) bool {
	_, dense := r.data.(*dataset.Points)
	switch {
	case len(r.supervision.Seeds) > 0 && r.supervision.Contradictions == 0 && dense:
		return true // seeds are certain
	case r.trusted() && (w.Use == clustering.UseHard || w.Use == clustering.UseMetric): // the others take no constraint for certain, or make more of it
		return w.Advantage >= clearlyWorse
	case r.supervision.Contradictions > 0:
		return w.Advantage > leastAdvantageUnsure
	}
	return w.Advantage > leastAdvantage
}

// mayBeUsual tells whether soft constraints on levels are good enough to be taken where no way may replace the answer without
// constraints.
func (r *run) mayBeUsual(w clustering.TriedWay) bool {
	if r.supervision.Contradictions > 0 {
		return w.Advantage >= 0
	}
	return w.Advantage >= clearlyWorse
}

// trusted tells whether the constraints vouch for each other.
func (r *run) trusted() bool {
	return r.supervision.Contradictions == 0 && r.supervision.Checked >= enoughChecks
}

// ways are the uses of constraints that folds compare in each space. Where constraints contradict each other some of
// them are wrong; then none is taken for certain. Where they vouch for each other, all are. Cuts, which compare
// constraints by themselves, are tried in the first graph.
func (r *run) ways() map[clustering.Space][]clustering.Use {
	ways := map[clustering.Space][]clustering.Use{}
	_, dense := r.data.(*dataset.Points)
	for _, name := range r.names {
		if r.spec.K > 1 && (name == clustering.SpaceGraph || ofNeighbors(name)) {
			ways[name] = append(ways[name], clustering.UseCuts)
			break
		}
	}
	if (len(r.supervision.Seeds) > 0 || r.supervision.Contradictions == 0) && r.allGroupsKnown() {
		r.addKnownUses(ways)
	}
	for at, name := range r.names {
		if name == clustering.SpaceLevels {
			ways[name] = append(ways[name], clustering.UseNone, clustering.UseSoft)
			continue
		}
		if !r.trusted() {
			ways[name] = append(ways[name], clustering.UseNone, clustering.UseSoft)
		}
		if r.supervision.Contradictions == 0 {
			ways[name] = append(ways[name], clustering.UseHard)
			if dense && at == 0 && r.opened[name].rows.learnable() {
				ways[name] = append(ways[name], clustering.UseMetric)
			}
		}
	}
	return ways
}

// addKnownUses adds the uses that start from known groups: a discriminant in the spaces of rows, and spreading in every
// graph; of a given graph, once. Groups that pairs tell are few, and their discriminant is tried in standardized columns only,
// where there are any.
func (r *run) addKnownUses(ways map[clustering.Space][]clustering.Use) {
	given := false
	everywhere := len(r.supervision.Seeds) > 0 || !slices.Contains(r.names, clustering.SpaceStandardized)
	for _, name := range r.names {
		switch {
		case ofNeighbors(name):
			ways[name] = append(ways[name], clustering.UseSpread)
		case r.classifiable(name) && (everywhere || name == clustering.SpaceStandardized):
			ways[name] = append(ways[name], clustering.UseDiscriminant)
		case (name == clustering.SpaceLevels || name == clustering.SpaceGraph) && !given:
			ways[name] = append(ways[name], clustering.UseSpread)
			given = true
		}
	}
}
