package auto

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/text"
)

// baseline is the answer without supervision, which methods that use the supervision must improve upon.
type baseline struct {
	space  *space
	reason text.Message       // why it is in this space
	spaces []clustering.Space // in which methods compete: those of the problem and, if it was fitted, the mixture
	// strayShare is the share of the constraints that seem wrong, because they join clusters that others separate.
	strayShare float64
}

func (b *baseline) labels() []int32 { return b.space.unconstrained.labels }

func (b *baseline) method() clustering.Method {
	return clustering.Method{Space: b.space.name, ConstraintUse: clustering.UseNone}
}

// findBaseline opens the spaces that may have the baseline and chooses among their answers.
func findBaseline(ctx context.Context, ss *spaces) (*baseline, error) {
	b, err := chooseBaseline(ctx, ss)
	if err != nil {
		return nil, err
	}
	b.strayShare = ss.p.strayShare(b.labels())
	return b, nil
}

func chooseBaseline(ctx context.Context, ss *spaces) (*baseline, error) {
	p := ss.p
	first, err := ss.open(ctx, p.spaces[0])
	if err != nil {
		return nil, err
	}
	b := &baseline{space: first, spaces: p.spaces}
	switch {
	case p.regime == manySeeds: // only classifiers compete, so no other space is opened
	case first.name == clustering.SpaceLevels:
		b.reason = reason("graphs are cut from coarse to fine")
	case first.name == clustering.SpaceGraph:
		if left := p.n - len(first.plain.kept); left > 0 {
			ss.journal.leftOut(left, p.n)
		}
		b.reason = reason("edges with negative weights cannot be cut, so eigenvectors of the graph are used")
	case first.name == clustering.SpaceNeighbors:
		b.reason = reason("sparse rows are compared by their nearest neighbors")
	case len(p.spaces) == 1 || !ofNeighbors(p.spaces[1]):
		b.reason = reason("finding nearest neighbors would take too long, so k-means is used")
	default:
		return chooseByCut(ctx, ss, first)
	}
	return b, nil
}

// chooseByCut prefers the eigenvectors of the neighbor graph to k-means if k-means cuts through that graph. Where it
// does not, a mixture may continue from k-means.
func chooseByCut(ctx context.Context, ss *spaces, first *space) (*baseline, error) {
	p := ss.p
	near, err := ss.open(ctx, p.spaces[1])
	if err != nil {
		return nil, err
	}
	// Neither is a lower bound: the k-means labels may have the smaller cut.
	own := normalizedCut(near.graph, first.unconstrained.labels, p.spec.K)
	spectral := normalizedCut(near.graph, near.unconstrained.labels, p.spec.K)
	b := &baseline{space: first, spaces: p.spaces}
	switch {
	case p.n < minClusterSize*p.spec.K:
		b.reason = reason("clusters of %s on average are too small for nearest neighbors to tell them apart, "+
			"so k-means is used", text.Plural(p.n/p.spec.K, "point"))
	case own > float64(cutRatio*spectral):
		if column := sharpColumn(near.graph, p.data); column >= 0 {
			b.reason = text.Message{
				text.Plain("nearest neighbors nearly always have the same value in column "), text.Column(column),
				text.Plain(", which has few values, so k-means is used"),
			}
			return b, nil
		}
		b.space = near
		b.reason = reason("k-means cuts through the nearest-neighbor graph: its normalized cut is %.3g, "+
			"versus %.3g for spectral clustering", own, spectral)
		return b, nil
	default:
		b.reason = reason("k-means does not cut through the nearest-neighbor graph: its normalized cut is %.3g, "+
			"versus %.3g for spectral clustering", own, spectral)
	}
	return b, b.tryMixture(ctx, ss)
}

// tryMixture replaces k-means by a mixture of Gaussians if that explains the rows better. K-means assumes that all
// clusters scatter equally in all directions; a mixture finds out, starting from the answer of k-means.
func (b *baseline) tryMixture(ctx context.Context, ss *spaces) error {
	if !ss.p.mixable() {
		return nil
	}
	s, err := ss.open(ctx, clustering.SpaceMixture)
	if err != nil || s.unconstrained == nil {
		return err
	}
	b.space = s
	b.spaces = append(slices.Clone(b.spaces), s.name)
	b.reason = append(b.reason,
		text.Plain("; a mixture of Gaussians continues from there, with a covariance for each cluster"))
	return nil
}

// strayShare estimates the share of wrong constraints by stray must-links, given an answer that has not seen the
// constraints. The share is 0 if chance, or clusters that overlap, could explain them.
func (p *Problem) strayShare(labels []int32) float64 {
	few := p.spec.K < minStrayClusters || len(p.supervision.Constraints) < heldout.EnoughPairs
	if few || len(p.supervision.Seeds) > 0 {
		return 0
	}
	stray, among := p.supervision.StrayMustLinks(labels)
	least := float64(stray) - float64(minAdvantage*math.Sqrt(float64(stray)))
	if among < minStrayAmong || !(least >= float64(minStrayShare*float64(among))) {
		return 0
	}
	return float64(stray) / float64(among)
}
