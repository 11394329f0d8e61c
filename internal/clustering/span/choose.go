package span

import (
	"context"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
	"github.com/cleave-project/cleave/internal/parallel"
)

// Problem is the input of Choose: the eigenvectors to choose from, and the pairs to choose by.
type Problem struct {
	K          int
	Vectors    [][]float64 // eigenvectors of Lbar with the smallest eigenvalues; the first is D^1/2 1 / |D^1/2 1|
	Costs      []float64   // those eigenvalues
	Pairs      []constraint.Pair
	Random     *rand.Rand
	Starts     int  // k-means starts on the coordinates; 0 means embedding.DefaultRestarts
	Iterations int  // of each start; 0 means embedding.DefaultIterations
	Sample     int  // points that are labeled when candidates are compared; 0 means maxSample
	Quick      bool // sum in a faster order, which changes the last bits
	// Paper labels all points by a rule of Wang2014 with some of the pairs. It returns nil if the rule allows no cut.
	// If Paper itself is nil, those rules are not tried.
	Paper func(ctx context.Context, rule clustering.CutRule, pairs []constraint.Pair) ([]int32, error)
}

// Answer is the chosen candidate with its labels. Rules of the paper have no coordinates.
type Answer struct {
	Chosen     clustering.CutCandidate
	Candidates []clustering.CutCandidate
	Labels     []int32
	Runs       []clustering.Labeling // the labels of all starts, including Labels
	Embedding  *clustering.Embedding // nil for a rule of the paper
}

// chooser compares coordinates by how well labels found from them agree with held-out pairs.
type chooser struct {
	*Problem
	*basis
	*links
	folds []fold
	pool  *parallel.Pool
	seeds []uint64 // for the labels of every fold, and for the final ones
	// The points whose labels are compared, and their rows of V. A nil sample means all points.
	sample  []int32
	columns [][]float64
}

// Choose chooses coordinates by the pairs and labels all points by them.
func Choose(ctx context.Context, p *Problem) (*Answer, error) {
	c := &chooser{Problem: p, basis: newBasis(p.Vectors, p.Costs, p.K), pool: parallel.NewPool(parallel.Threads(ctx))}
	c.quick, c.links = p.Quick, c.newLinks(p.Pairs)
	plain := newTrial(clustering.CutUnconstrained, p.K, c.losses(c.unconstrained(), choose.All[int](len(c.all))),
		c.links)
	plain.fit = func(int) *mat.Dense { return c.unconstrained() }
	trials := []*trial{plain}
	best := plain
	if c.canCompare() {
		c.folds = newFolds(c.links, c.n, p.Random)
		others, err := c.candidates(ctx, plain)
		if err != nil {
			return nil, err
		}
		trials = append(trials, others...)
	}
	for range len(c.folds) + 1 {
		c.seeds = append(c.seeds, p.Random.Uint64())
	}
	finalists := slices.DeleteFunc(slices.Clone(trials), func(t *trial) bool {
		return t != plain && !t.beats(plain, c.links)
	})
	if len(finalists) > 1 {
		if err := c.compare(ctx, finalists); err != nil {
			return nil, err
		}
		for _, t := range finalists {
			if t.better(best) {
				best = t
			}
		}
	}
	answer := &Answer{}
	for _, t := range trials {
		answer.Candidates = append(answer.Candidates, t.CutCandidate)
	}
	return answer, c.finish(ctx, best, plain, answer)
}

// canCompare reports whether pairs can be held out. Must-links alone do not suffice: coinciding points satisfy them
// all.
func (c *chooser) canCompare() bool {
	return c.K > 1 && len(c.all) > 1 && slices.ContainsFunc(c.all, func(l link) bool { return !l.must })
}

// candidates returns the best pencil, the best completion if it helps, and the rules of the paper if there are any.
func (c *chooser) candidates(ctx context.Context, plain *trial) ([]*trial, error) {
	best, err := c.bestPencil(ctx)
	if err != nil {
		return nil, err
	}
	found := []*trial{best}
	completed, err := c.bestCompletion(ctx, plain)
	if err != nil {
		return nil, err
	}
	if completed != nil {
		found = append(found, completed)
	}
	if c.Paper == nil {
		return found, nil
	}
	for _, rule := range []clustering.CutRule{clustering.CutPaper, clustering.CutStrict} {
		t, err := c.paperTrial(ctx, rule, plain)
		if err != nil {
			return nil, err
		}
		found = append(found, t)
	}
	return found, nil
}

// bestPencil returns the pencil with the best width and theta on held-out links.
func (c *chooser) bestPencil(ctx context.Context) (*trial, error) {
	matrices := make([]*mat.SymDense, len(c.folds))
	err := c.pool.Run(ctx, len(c.folds), func(at int) error {
		matrices[at] = c.pairMatrix(c.links, c.folds[at].known)
		return nil
	})
	if err != nil {
		return nil, err
	}
	widths := c.widths()
	losses := make([][]float64, len(widths)*len(thetas)) // of every link
	for at := range losses {
		losses[at] = make([]float64, len(c.all))
	}
	err = c.pool.Run(ctx, len(c.folds)*len(widths), func(task int) error {
		fold, width := task%len(c.folds), task/len(c.folds)
		p := c.newPencil(widths[width], matrices[fold])
		held := c.folds[fold].held
		for at, theta := range thetas {
			missed := clustering.Ones(len(held)) // if theta is not usable
			if f := p.factors(theta); f != nil {
				missed = c.losses(f, held)
			}
			scatter(losses[width*len(thetas)+at], missed, held)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var best *trial
	for at := range losses {
		t := newTrial(clustering.CutPencil, widths[at/len(thetas)], losses[at], c.links)
		if best != nil && best.Loss <= t.Loss {
			continue
		}
		theta := thetas[at%len(thetas)]
		best, t.Theta = t, &theta
		t.fit = func(fold int) *mat.Dense {
			return c.newPencil(t.Width, c.pairMatrix(c.links, c.known(fold))).factors(theta)
		}
	}
	return best, nil
}

// maxLeftOut is the maximum number of links that are left out one by one.
const maxLeftOut = 600

// bestCompletion chooses width and rho by leaving out links one by one, and tries that completion on every fold. It
// returns nil if none has a smaller loss than the coordinates without constraints.
func (c *chooser) bestCompletion(ctx context.Context, plain *trial) (*trial, error) {
	sampled := choose.All[int](len(c.all))
	if len(sampled) > maxLeftOut {
		sampled = c.Random.Perm(len(sampled))[:maxLeftOut]
		slices.Sort(sampled)
	}
	sum := func(loss func(at int) float64) (total float64) {
		for at, which := range sampled {
			total += float64(c.all[which].weight * loss(at))
		}
		return total
	}
	widths := c.widths()
	losses := make([][][]float64, len(widths))
	err := c.pool.Run(ctx, len(widths), func(at int) error {
		losses[at] = c.newCompletion(c.links, widths[at]).leftOut(sampled)
		return nil
	})
	if err != nil {
		return nil, err
	}
	least := sum(func(at int) float64 { return plain.losses[sampled[at]] })
	width, rho := 0, 0.0
	for w := range widths {
		for r := range rhos {
			if total := sum(func(at int) float64 { return losses[w][r][at] }); total < least {
				least, width, rho = total, widths[w], rhos[r]
			}
		}
	}
	if width == 0 {
		return nil, nil
	}
	c.half() // compute it before threads share it
	completion := c.newCompletion(c.links, width)
	completion.cacheKernels(c.folds)
	heldOut := make([]float64, len(c.all))
	fits := make([]*mat.Dense, len(c.folds))
	err = c.pool.Run(ctx, len(c.folds), func(fold int) error {
		held := c.folds[fold].held
		fits[fold] = completion.factors(rho, c.folds[fold].known)
		scatter(heldOut, c.losses(fits[fold], held), held)
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := newTrial(clustering.CutCompletion, width, heldOut, c.links)
	t.Rho = &rho
	t.fit = func(fold int) *mat.Dense {
		if fold != allLinks {
			return fits[fold]
		}
		return completion.factors(rho, c.known(fold))
	}
	return t, nil
}

// paperTrial fits a rule of the paper on every fold. The loss is the share of violated links; a fold without an answer
// violates all. Each fit takes long, so it stops once the rule cannot beat the coordinates without constraints even
// with no further violation.
func (c *chooser) paperTrial(ctx context.Context, rule clustering.CutRule, plain *trial) (*trial, error) {
	heldOut := clustering.Ones(len(c.all))
	limit, lost, tried := 0.0, 0.0, 0.0
	for which, v := range plain.losses {
		limit += float64(c.all[which].weight * v)
	}
	for _, fold := range c.folds {
		found, err := c.Paper(ctx, rule, choose.At(c.Pairs, fold.known))
		if err != nil {
			return nil, err
		}
		if found != nil {
			scatter(heldOut, c.violations(func(point int) int32 { return found[c.links.points[point]] }, fold.held),
				fold.held)
		}
		for _, which := range fold.held {
			lost += float64(c.all[which].weight * heldOut[which])
			tried += c.all[which].weight
		}
		if lost >= limit {
			break
		}
	}
	t := newTrial(rule, 0, heldOut, c.links)
	if tried > 0 { // no link may be held out before the rule is given up
		t.Loss = lost / tried
	}
	return t, nil
}

// scatter stores the values of some links at their indices.
func scatter(all, values []float64, subset []int) {
	for i, which := range subset {
		all[which] = values[i]
	}
}

// fold holds the held-out links, and those that a fit may use.
type fold struct{ held, known []int }

// allLinks is passed in place of a fold if nothing is held out.
const allLinks = -1

// known returns the links that a fit may use.
func (c *chooser) known(fold int) []int {
	if fold == allLinks {
		return choose.All[int](len(c.all))
	}
	return c.folds[fold].known
}

// maxFolds is the maximum number of folds.
const maxFolds = 5

// newFolds assigns links to folds at random. If the links cover few points, as links between labeled points do, the
// known links imply the held-out ones, which then say nothing about points without links. In that case it holds out
// points, and known links have none of them.
func newFolds(l *links, n int, rng *rand.Rand) []fold {
	if l.repeatPoints(n) {
		return foldsOfPoints(l, rng)
	}
	m := len(l.all)
	folds := make([]fold, min(maxFolds, m))
	foldOf := make([]int, m)
	for i, which := range rng.Perm(m) {
		foldOf[which] = i % len(folds)
	}
	for which, own := range foldOf {
		for f := range folds {
			if f == own {
				folds[f].held = append(folds[f].held, which)
			} else {
				folds[f].known = append(folds[f].known, which)
			}
		}
	}
	return folds
}

// repeatPoints reports whether the links have less than half as many distinct points as m random pairs would have, n (1
// - exp(-2m/n)).
func (l *links) repeatPoints(n int) bool {
	expected := float64(n) * (1 - elementary.Exp(-2*float64(len(l.all))/float64(n)))
	return float64(len(l.points)) < expected/2
}

// foldsOfPoints holds out the links of some points, each link once: with its first or its second point in turn.
func foldsOfPoints(l *links, rng *rand.Rand) []fold {
	folds := make([]fold, min(maxFolds, len(l.points)))
	foldOf := make([]int, len(l.points))
	for i, point := range rng.Perm(len(l.points)) {
		foldOf[point] = i % len(folds)
	}
	for which, pair := range l.all {
		own := foldOf[pair.i]
		if which%2 == 1 {
			own = foldOf[pair.j]
		}
		for f := range folds {
			switch f {
			case own:
				folds[f].held = append(folds[f].held, which)
			case foldOf[pair.i], foldOf[pair.j]:
			default:
				folds[f].known = append(folds[f].known, which)
			}
		}
	}
	return folds
}
