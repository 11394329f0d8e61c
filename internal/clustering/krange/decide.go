package krange

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/clustering"
)

const (
	// A number of clusters is stable if they come out again by this much. A larger number than the proposed one is plausible by that
	// much, or if it is less stable by less than rivalry.
	stable    = 0.8
	plausible = 0.7
	rivalry   = 0.3
	// verySure is the stability from which on a smaller number raises no doubts by being more stable.
	verySure = 0.9
	// silhouetteShare is how much of the best silhouette among stable numbers a number needs to be proposed, and of the proposed one's
	// a larger number to be its rival. Doubtful is how much of it a smaller number needs to be plausible, and asFar a larger one to be
	// so, however unstable; of the modularity, which changes less with the number, it needs farModularity.
	silhouetteShare = 0.8
	// peakShare is how much of the silhouette a larger number needs where the best one is a peak: all smaller numbers have less. The
	// best of the smallest number says little, for one cluster that is far from all others has it, whatever the others are.
	peakShare     = 0.9
	doubtful      = 1.1
	asFar         = 0.95
	farModularity = 1.1
	// A proposal is clear if it is so stable, all larger numbers are less stable by so much, and none has so much of its silhouette.
	clearStability  = 0.95
	clearFall       = 1.0 / 3
	clearSilhouette = 0.9
	// errors is how many standard errors of agreement with held-out constraints apart two numbers are told apart.
	errors = 2.0
	// goodAgreement is the one from which on constraints and data speak of the same clusters.
	goodAgreement = 0.5
)

// decide proposes a number by the scores: the agreement with so many held-out pairs, or the stability in such parts of the
// data.
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
		h.Reason += "; it is the last of the range, so that more may be better"
	}
}

// decideByAgreement proposes the number that agrees best with the held-out constraints, of equals the smallest.
func decideByAgreement(h *clustering.KSelection, pairs int) {
	best := h.Scores[0]
	for _, s := range h.Scores {
		if *s.Agreement > *best.Agreement {
			best = s
		}
	}
	top := *best.Agreement
	m := float64(pairs)
	deviation := math.Sqrt((1 - float64(top*top) + 1/m) / m) // 1/m for those of which all are right
	h.Proposed = best.K
	for _, s := range h.Scores {
		if *s.Agreement >= top-float64(errors*deviation) {
			h.Plausible = append(h.Plausible, s.K)
		}
	}
	switch {
	case len(h.Plausible) > 1:
		h.Confidence = clustering.Unsure
		h.Reason = fmt.Sprintf("%s agree alike with the constraints that were held out (%d: %.2f)", list(h.Plausible, "and"), best.K, top)
	case top < goodAgreement:
		h.Confidence = clustering.Likely
		h.Reason = fmt.Sprintf("%d agrees best with the constraints that were held out, but little (%.2f; 0 is chance)", best.K, top)
	default:
		h.Confidence = clustering.Clear
		h.Reason = fmt.Sprintf("%d agrees best with the constraints that were held out (%.2f)", best.K, top)
	}
}

// decideByStability proposes the largest number whose clusters come out again from a part of the data, if they are not much
// less apart than those of another such number.
func decideByStability(h *clustering.KSelection, part string) {
	var stables []clustering.KScore
	top := h.Scores[0]
	for _, s := range h.Scores {
		if stabilityOf(s) >= stable {
			stables = append(stables, s)
		}
		if stabilityOf(s) > stabilityOf(top) {
			top = s
		}
	}
	if len(stables) == 0 {
		h.Proposed, h.Confidence = top.K, clustering.Unsure
		for _, s := range h.Scores {
			if stabilityOf(s) >= stabilityOf(top)-(stable-plausible) {
				h.Plausible = append(h.Plausible, s.K)
			}
		}
		h.Reason = fmt.Sprintf("no number of clusters comes out again from %s: the worst cluster keeps %.2f of its pairs at best, with %d clusters, and %.1f would be good", part, max(0, stabilityOf(top)), top.K, stable)
		return
	}
	taken := stables[0]
	for _, s := range stables {
		best := farthest(stables, s)
		share := silhouetteShare
		if s.K > best.K && isPeak(h, best) {
			share = peakShare
		}
		if apart(s) >= float64(share*apart(best)) {
			taken = s
		}
	}
	h.Proposed = taken.K
	for _, s := range h.Scores {
		if s.K == taken.K || s.K < taken.K && smallerPlausible(s, taken) || s.K > taken.K && largerPlausible(s, taken) {
			h.Plausible = append(h.Plausible, s.K)
		}
	}
	if far, is := farther(h.Scores, taken); is && !slices.Contains(h.Plausible, far) {
		h.Plausible = append(h.Plausible, far)
		slices.Sort(h.Plausible)
	}
	explainStability(h, taken, part)
}

// smallerPlausible tells whether a smaller number than the proposed one would do.
func smallerPlausible(s, taken clustering.KScore) bool {
	apartMore := alike(s, taken) && apart(s) > float64(doubtful*apart(taken))
	return stabilityOf(s) >= stable && (apartMore || stabilityOf(taken) < verySure && stabilityOf(s) > stabilityOf(taken))
}

// largerPlausible tells whether a larger number would do: because it is stable, or hardly less so than need be or than the proposed
// one and its clusters not far less apart.
func largerPlausible(s, taken clustering.KScore) bool {
	almost := stabilityOf(s) >= plausible || stabilityOf(s) > stabilityOf(taken)-rivalry
	farLess := alike(s, taken) && apart(s) < float64(silhouetteShare*apart(taken))
	return stabilityOf(s) >= stable || almost && !farLess
}

// farther is the larger number whose clusters are farthest apart, if they are about as far as those of the proposed one: then what is
// far apart speaks for more clusters than what is stable.
func farther(all []clustering.KScore, taken clustering.KScore) (k int, is bool) {
	share := asFar
	if taken.Silhouette == nil {
		share = farModularity
	}
	most := float64(share * apart(taken))
	for _, s := range all {
		if s.K > taken.K && alike(s, taken) && apart(s) > most {
			k, is, most = s.K, true, apart(s)
		}
	}
	return k, is
}

// explainStability says why a number is proposed, and how sure that is.
func explainStability(h *clustering.KSelection, taken clustering.KScore, part string) {
	says := comesOutAgain(taken, part)
	if len(h.Plausible) > 1 {
		h.Confidence = clustering.Unsure
		h.Reason = fmt.Sprintf("%s, but %s would do too: look at each", says, list(without(h.Plausible, taken.K), "or"))
		return
	}
	h.Confidence = clustering.Clear
	beyond := -1.0
	for _, s := range h.Scores {
		if s.K > taken.K {
			beyond = max(beyond, stabilityOf(s))
			if taken.Silhouette != nil && alike(s, taken) && apart(s) > float64(clearSilhouette*apart(taken)) {
				h.Confidence = clustering.Likely
			}
		}
	}
	if stabilityOf(taken) < clearStability || beyond > stabilityOf(taken)-clearFall {
		h.Confidence = clustering.Likely
	}
	h.Reason = says
	switch {
	case beyond >= plausible:
		h.Reason += fmt.Sprintf(", more do less (%.2f at best) and are less apart", beyond)
	case beyond >= 0:
		h.Reason += fmt.Sprintf(", more do not (%.2f at best)", beyond)
	}
}

// comesOutAgain says how stable a number is.
func comesOutAgain(s clustering.KScore, part string) string {
	return fmt.Sprintf("%d clusters come out again from %s (%.2f)", s.K, part, stabilityOf(s))
}

// stabilityOf is the stability of a number, -1 where it is not known.
func stabilityOf(s clustering.KScore) float64 {
	if s.Stability == nil {
		return -1
	}
	return *s.Stability
}

// apart is how far apart the clusters of a number are: their silhouette, or the modularity of a graph.
func apart(s clustering.KScore) float64 {
	switch {
	case s.Silhouette != nil:
		return *s.Silhouette
	case s.Modularity != nil:
		return *s.Modularity
	}
	return 0
}

// alike tells whether two numbers were clustered in the same kind of space, so that their silhouettes can be compared.
func alike(a, b clustering.KScore) bool { return a.Space == b.Space }

// farthest is the number whose clusters are farthest apart, of those in the same kind of space as s, and of equals the smallest.
func farthest(all []clustering.KScore, s clustering.KScore) clustering.KScore {
	best := s
	for _, other := range all {
		if alike(other, s) && (apart(other) > apart(best) || other.K < best.K && apart(other) >= apart(best)) {
			best = other
		}
	}
	return best
}

// isPeak tells whether a silhouette is larger than those of all smaller numbers in its kind of space, and its number not the first.
func isPeak(h *clustering.KSelection, best clustering.KScore) bool {
	if best.Silhouette == nil || best.K == h.Min {
		return false
	}
	for _, s := range h.Scores {
		if s.K < best.K && alike(s, best) && apart(s) >= apart(best) {
			return false
		}
	}
	return true
}

func without(all []int, one int) (others []int) {
	for _, k := range all {
		if k != one {
			others = append(others, k)
		}
	}
	return others
}

// list writes numbers for people: "2, 3 or 4".
func list(numbers []int, last string) string {
	words := make([]string, len(numbers))
	for at, k := range numbers {
		words[at] = fmt.Sprint(k)
	}
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}
