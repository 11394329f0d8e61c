package krange

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/text"
)

const (
	// stable is the stability from which a number of clusters is stable.
	stable = 0.8
	// A larger number than the proposed one is plausible from this stability on, or if it is less stable by less than
	// rivalMargin.
	plausible   = 0.7
	rivalMargin = 0.3
	// certainStability is the stability of a proposal from which more stable smaller numbers raise no doubt.
	certainStability = 0.9
	// silhouetteShare is the share of the best silhouette among stable numbers that a number needs to be proposed, and
	// the share of the proposed one's silhouette that a larger number needs to be its rival.
	silhouetteShare = 0.8
	// peakShare replaces silhouetteShare for a larger number if the best silhouette is a peak, larger than those of all
	// smaller numbers. A maximum at the smallest number means little: a single cluster far from all others causes it.
	peakShare = 0.9
	// smallerRatio is how many times the proposed one's silhouette a smaller number needs to be plausible.
	smallerRatio = 1.1
	// largerRatio is the same for a larger number, whatever its stability.
	largerRatio = 0.95
	// modularityRatio is largerRatio for the modularity, which changes less with k.
	modularityRatio = 1.1
	// A proposal is clear if it has this stability, all larger numbers are less stable by clearFall, and none reaches
	// clearSilhouette of its silhouette.
	clearStability  = 0.95
	clearFall       = 1.0 / 3
	clearSilhouette = 0.9
	// clearErrors is by how many standard errors of the agreement with held-out constraints two numbers must differ.
	clearErrors = 2.0
	// goodAgreement is the agreement from which constraints and data describe the same clusters.
	goodAgreement = 0.5
)

// decide proposes a number by the agreement with held-out pairs, if there are any, or else by the stability. The text
// part describes the parts of the data that were clustered.
func decide(h *clustering.KSelection, pairs int, part string) {
	if h.Scores[0].Agreement != nil {
		decideByAgreement(h, pairs)
	} else {
		decideByStability(h, part)
	}
	if h.Proposed == h.Max && h.Confidence == clustering.Clear {
		h.Confidence = clustering.Likely
	}
	if h.Proposed == h.Max {
		h.Reason += "; it is the largest number in the range, so more may be better"
	}
}

// decideByAgreement proposes the number that agrees best with held-out constraints, the smallest of equals.
func decideByAgreement(h *clustering.KSelection, pairs int) {
	best := slices.MaxFunc(h.Scores, func(a, b clustering.KScore) int { return cmp.Compare(*a.Agreement, *b.Agreement) })
	top := *best.Agreement
	m := float64(pairs)
	deviation := math.Sqrt((1 - float64(top*top) + 1/m) / m) // 1/m keeps it above 0 if all are right
	h.Proposed = best.K
	for _, s := range h.Scores {
		if *s.Agreement >= top-float64(clearErrors*deviation) {
			h.Plausible = append(h.Plausible, s.K)
		}
	}
	switch {
	case len(h.Plausible) > 1:
		h.Confidence = clustering.Unsure
		h.Reason = fmt.Sprintf("%s agree equally well with held-out constraints (%d: %.2f)", text.Join(h.Plausible, "and"), best.K, top)
	case top < goodAgreement:
		h.Confidence = clustering.Likely
		h.Reason = fmt.Sprintf("%d agrees best with held-out constraints, but weakly (%.2f; 0 is chance)", best.K, top)
	default:
		h.Confidence = clustering.Clear
		h.Reason = fmt.Sprintf("%d agrees best with held-out constraints (%.2f)", best.K, top)
	}
}

// decideByStability proposes the largest stable number whose clusters are not much less separated than those of another
// stable number.
func decideByStability(h *clustering.KSelection, part string) {
	var candidates []clustering.KScore
	for _, s := range h.Scores {
		if stabilityOf(s) >= stable {
			candidates = append(candidates, s)
		}
	}
	top := slices.MaxFunc(h.Scores, func(a, b clustering.KScore) int { return cmp.Compare(stabilityOf(a), stabilityOf(b)) })
	if len(candidates) == 0 {
		h.Proposed, h.Confidence = top.K, clustering.Unsure
		for _, s := range h.Scores {
			if stabilityOf(s) >= stabilityOf(top)-(stable-plausible) {
				h.Plausible = append(h.Plausible, s.K)
			}
		}
		h.Reason = fmt.Sprintf("no number of clusters is stable in %s; %d comes closest: its weakest cluster keeps %.0f%% of its pairs (stable means %.0f%%)", part, top.K, 100*stabilityOf(top), 100*stable)
		if top.Stability == nil {
			h.Reason = fmt.Sprintf("it is unknown how stable the clusters are, because %s could not be clustered", part)
		}
		return
	}
	taken := candidates[0]
	for _, s := range candidates {
		best := bestSeparated(candidates, s)
		share := silhouetteShare
		if s.K > best.K && isPeak(h, best) {
			share = peakShare
		}
		if separation(s) >= float64(share*separation(best)) {
			taken = s
		}
	}
	h.Proposed = taken.K
	for _, s := range h.Scores {
		if s.K == taken.K || s.K < taken.K && smallerPlausible(s, taken) || s.K > taken.K && largerPlausible(s, taken) {
			h.Plausible = append(h.Plausible, s.K)
		}
	}
	if larger, ok := largerAndSeparated(h.Scores, taken); ok && !slices.Contains(h.Plausible, larger) {
		h.Plausible = append(h.Plausible, larger)
		slices.Sort(h.Plausible)
	}
	explainStability(h, taken, part)
}

// smallerPlausible reports whether a number smaller than the proposed one is plausible.
func smallerPlausible(s, taken clustering.KScore) bool {
	separatedMore := sameSpace(s, taken) && separation(s) > float64(smallerRatio*separation(taken))
	return stabilityOf(s) >= stable && (separatedMore || stabilityOf(taken) < certainStability && stabilityOf(s) > stabilityOf(taken))
}

// largerPlausible reports whether a larger number is plausible: it is stable, or it is nearly stable or nearly as
// stable as the proposed one and its clusters are not much less separated.
func largerPlausible(s, taken clustering.KScore) bool {
	almost := stabilityOf(s) >= plausible || stabilityOf(s) > stabilityOf(taken)-rivalMargin
	separatedLess := sameSpace(s, taken) && separation(s) < float64(silhouetteShare*separation(taken))
	return stabilityOf(s) >= stable || almost && !separatedLess
}

// largerAndSeparated returns the larger number with the best separated clusters if they are about as well separated as
// those of the proposed one. Then separation suggests more clusters than stability does.
func largerAndSeparated(all []clustering.KScore, taken clustering.KScore) (k int, ok bool) {
	share := largerRatio
	if taken.Silhouette == nil {
		share = modularityRatio
	}
	most := float64(share * separation(taken))
	for _, s := range all {
		if s.K > taken.K && sameSpace(s, taken) && separation(s) > most {
			k, ok, most = s.K, true, separation(s)
		}
	}
	return k, ok
}

// explainStability sets the reason and the confidence of a proposal.
func explainStability(h *clustering.KSelection, taken clustering.KScore, part string) {
	reason := reappears(taken, part)
	if len(h.Plausible) > 1 {
		h.Confidence = clustering.Unsure
		others := slices.DeleteFunc(slices.Clone(h.Plausible), func(k int) bool { return k == taken.K })
		h.Reason = fmt.Sprintf("%s, but %s may fit too; compare the results", reason, text.Or(others))
		return
	}
	h.Confidence = clustering.Clear
	largerStability := -1.0
	for _, s := range h.Scores {
		if s.K > taken.K {
			largerStability = max(largerStability, stabilityOf(s))
			if taken.Silhouette != nil && sameSpace(s, taken) && separation(s) > float64(clearSilhouette*separation(taken)) {
				h.Confidence = clustering.Likely
			}
		}
	}
	if stabilityOf(taken) < clearStability || largerStability > stabilityOf(taken)-clearFall {
		h.Confidence = clustering.Likely
	}
	h.Reason = reason
	switch {
	case largerStability >= plausible:
		h.Reason += fmt.Sprintf("; larger numbers are less stable (%.2f at most) and less separated", largerStability)
	case largerStability >= 0:
		h.Reason += fmt.Sprintf("; larger numbers do not (%.2f at most)", largerStability)
	}
}

// reappears describes how stable a number is.
func reappears(s clustering.KScore, part string) string {
	return fmt.Sprintf("%d clusters reappear in %s (stability %.2f)", s.K, part, stabilityOf(s))
}

// stabilityOf returns the stability of a number, -1 if unknown.
func stabilityOf(s clustering.KScore) float64 {
	if s.Stability == nil {
		return -1
	}
	return *s.Stability
}

// separation returns how well separated the clusters of a number are: their silhouette, or the modularity in a graph.
func separation(s clustering.KScore) float64 {
	switch {
	case s.Silhouette != nil:
		return *s.Silhouette
	case s.Modularity != nil:
		return *s.Modularity
	}
	return 0
}

// sameSpace reports whether two numbers were clustered in the same kind of space, so that their silhouettes are
// comparable.
func sameSpace(a, b clustering.KScore) bool { return a.Space == b.Space }

// bestSeparated returns the number with the best separated clusters among those comparable with s, the smallest of
// equals.
func bestSeparated(all []clustering.KScore, s clustering.KScore) clustering.KScore {
	best := s
	for _, other := range all {
		if sameSpace(other, s) && (separation(other) > separation(best) || other.K < best.K && separation(other) >= separation(best)) {
			best = other
		}
	}
	return best
}

// isPeak reports whether the silhouette of best exceeds that of all smaller comparable numbers and best is not the
// first.
func isPeak(h *clustering.KSelection, best clustering.KScore) bool {
	return best.Silhouette != nil && best.K != h.Min && !slices.ContainsFunc(h.Scores, func(s clustering.KScore) bool {
		return s.K < best.K && sameSpace(s, best) && separation(s) >= separation(best)
	})
}
