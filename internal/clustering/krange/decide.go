package krange

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/text"
)

// The constants of the proposal, in the order of the questions that they answer. They were chosen on synthetic groups,
// and judged on sets that were not used for that; see docs/design/tuning.md. A separation is a silhouette or, in a
// graph, a modularity.

// Which number agrees best with held-out constraints, and how certain is that?
const (
	// clearErrors is by how many standard errors of the agreement two numbers must differ.
	clearErrors = 2.0
	// goodAgreement is the agreement from which constraints and data describe the same clusters.
	goodAgreement = 0.5
)

// Which number is proposed by its stability? The largest whose stability is at least stable and whose separation is at
// least silhouetteShare of the best among these. The share is peakShare for a number above the best one if that is a
// peak: larger than those of all smaller numbers. A maximum at the smallest number means little: a single cluster far
// from all others causes it.
const (
	stable          = 0.8
	silhouetteShare = 0.8
	peakShare       = 0.9
)

// Which other numbers are plausible? See rivals, which has a row for each of these.
const (
	certainStability = 0.9  // of a proposal, from which more stable smaller numbers raise no doubt
	smallerRatio     = 1.1  // of the separation of a smaller number to the proposed one's
	plausible        = 0.7  // the stability of a larger number
	rivalMargin      = 0.3  // by how much less stable a larger number may be than the proposed one
	largerRatio      = 0.95 // of the silhouette of a larger number to the proposed one's
	modularityRatio  = 1.1  // the same for the modularity, which changes less with k
)

// Is a proposal without plausible others clear? If its stability is at least clearStability, all larger numbers are
// less stable by clearFall, and none has more than clearSilhouette of its silhouette.
const (
	clearStability  = 0.95
	clearFall       = 1.0 / 3
	clearSilhouette = 0.9
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
	best := slices.MaxFunc(h.Scores, func(a, b clustering.KScore) int {
		return cmp.Compare(*a.Agreement, *b.Agreement)
	})
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
		h.Reason = fmt.Sprintf("%s agree equally well with held-out constraints (%d: %.2f)",
			text.Join(h.Plausible, "and"), best.K, top)
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
	if len(candidates) == 0 {
		takeMostStable(h, part)
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
	h.Plausible = plausibleBeside(h.Scores, taken)
	explainStability(h, taken, part)
}

// takeMostStable proposes the most stable number if none is stable.
func takeMostStable(h *clustering.KSelection, part string) {
	top := slices.MaxFunc(h.Scores, func(a, b clustering.KScore) int {
		return cmp.Compare(stabilityOf(a), stabilityOf(b))
	})
	h.Proposed = top.K
	h.Confidence = clustering.Unsure
	for _, s := range h.Scores {
		if stabilityOf(s) >= stabilityOf(top)-(stable-plausible) {
			h.Plausible = append(h.Plausible, s.K)
		}
	}
	if top.Stability == nil {
		h.Reason = fmt.Sprintf("it is unknown how stable the clusters are, because %s could not be clustered", part)
		return
	}
	h.Reason = fmt.Sprintf("no number of clusters is stable in %s; %d comes closest: "+
		"its weakest cluster keeps %.0f%% of its pairs (stable means %.0f%%)",
		part, top.K, 100*stabilityOf(top), 100*stable)
}

// rival is a reason why another number than the proposed one is plausible.
type rival struct {
	larger bool // whether it is a reason for larger numbers, or else for smaller ones
	holds  func(s, taken clustering.KScore) bool
}

// rivals lists the reasons why a number is plausible beside the one that is taken. Separations count only if they can
// be compared.
func rivals() []rival {
	return []rival{
		{larger: true, holds: func(s, _ clustering.KScore) bool { return stabilityOf(s) >= stable }},
		{larger: true, holds: func(s, taken clustering.KScore) bool {
			almost := stabilityOf(s) >= plausible || stabilityOf(s) > stabilityOf(taken)-rivalMargin
			separatedLess := sameSpace(s, taken) && separation(s) < float64(silhouetteShare*separation(taken))
			return almost && !separatedLess
		}},
		{larger: false, holds: func(s, taken clustering.KScore) bool {
			separatedMore := sameSpace(s, taken) && separation(s) > float64(smallerRatio*separation(taken))
			return stabilityOf(s) >= stable && separatedMore
		}},
		{larger: false, holds: func(s, taken clustering.KScore) bool {
			moreStable := stabilityOf(taken) < certainStability && stabilityOf(s) > stabilityOf(taken)
			return stabilityOf(s) >= stable && moreStable
		}},
	}
}

// plausibleBeside returns the plausible numbers, ascending, including the one that is taken. Among them is the larger
// number with the best separated clusters if separation suggests more clusters than stability does.
func plausibleBeside(all []clustering.KScore, taken clustering.KScore) []int {
	separated, found := largerAndSeparated(all, taken)
	var numbers []int
	for _, s := range all {
		isRival := slices.ContainsFunc(rivals(), func(r rival) bool {
			return s.K != taken.K && r.larger == (s.K > taken.K) && r.holds(s, taken)
		})
		if s.K == taken.K || isRival || found && s.K == separated {
			numbers = append(numbers, s.K)
		}
	}
	return numbers
}

// largerAndSeparated returns the larger number with the best separated clusters if they are about as well separated as
// those of the proposed one, however unstable it is.
func largerAndSeparated(all []clustering.KScore, taken clustering.KScore) (k int, ok bool) {
	share := largerRatio
	if taken.Silhouette == nil {
		share = modularityRatio
	}
	most := float64(share * separation(taken))
	for _, s := range all {
		if s.K > taken.K && sameSpace(s, taken) && separation(s) > most {
			k = s.K
			ok = true
			most = separation(s)
		}
	}
	return k, ok
}

// explainStability sets the reason and the confidence of a proposal.
func explainStability(h *clustering.KSelection, taken clustering.KScore, part string) {
	h.Reason = reappears(taken, part)
	if len(h.Plausible) > 1 {
		h.Confidence = clustering.Unsure
		others := slices.DeleteFunc(slices.Clone(h.Plausible), func(k int) bool { return k == taken.K })
		h.Reason += fmt.Sprintf(", but %s may fit too; compare the results", text.Or(others))
		return
	}
	largerStability := -1.0
	separated := false // whether a larger number is nearly as well separated
	for _, s := range h.Scores {
		if s.K <= taken.K {
			continue
		}
		largerStability = max(largerStability, stabilityOf(s))
		alike := taken.Silhouette != nil && sameSpace(s, taken)
		separated = separated || alike && separation(s) > float64(clearSilhouette*separation(taken))
	}
	h.Confidence = clustering.Clear
	if separated || stabilityOf(taken) < clearStability || largerStability > stabilityOf(taken)-clearFall {
		h.Confidence = clustering.Likely
	}
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
		better := separation(other) > separation(best) || other.K < best.K && separation(other) >= separation(best)
		if sameSpace(other, s) && better {
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
