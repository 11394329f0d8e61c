// Package evaluate scores a clustering against the true classes: mutual information, the adjusted
// Rand index, pairwise precision, recall and F, and purity, on all points or on a subset.
//
// Scores depend on which points are together and not on the numbers the labels happen to be; sums
// run over sorted labels, so the same labelings give the same bits.
package evaluate

import (
	"math"

	"github.com/cleave-project/cleave/internal/fault"
)

// Scores say how well predicted labels match the true ones. All but MutualInformation (natural
// logarithms) are at most 1, which is a perfect match.
type Scores struct {
	NMI               float64 `json:"nmi"`
	MutualInformation float64 `json:"mutualInformation"`
	ARI               float64 `json:"ari"`
	PairwisePrecision float64 `json:"pairwisePrecision"`
	PairwiseRecall    float64 `json:"pairwiseRecall"`
	PairwiseF         float64 `json:"pairwiseF"`
	Purity            float64 `json:"purity"`
}

// Label is any integer type.
type Label interface{ ~int | ~int32 | ~int64 }

// Compare scores predicted labels on the points listed in `on`; nil is all points.
func Compare[P, T Label](predicted []P, truth []T, on []int32) (Scores, error) {
	if len(predicted) != len(truth) {
		return Scores{}, fault.Invalid("SIZE_MISMATCH", "there are %d predicted labels and %d true ones; the numbers must agree", len(predicted), len(truth))
	}
	if on != nil {
		if err := checkSubset(len(truth), on); err != nil {
			return Scores{}, err
		}
		predicted, truth = pick(predicted, on), pick(truth, on)
	}
	if len(truth) == 0 {
		return Scores{}, fault.Invalid("EMPTY_DATA", "there are no points to score; give at least one")
	}
	t := tabulate(predicted, truth)
	scores := Scores{MutualInformation: t.mutualInformation(), Purity: t.purity()}
	scores.NMI = t.normalized(scores.MutualInformation)
	scores.ARI = t.adjustedRand()
	together, inPredicted, inTruth := t.pairs()
	scores.PairwisePrecision = ratio(together, inPredicted)
	scores.PairwiseRecall = ratio(together, inTruth)
	// The harmonic mean of S/P and S/T is 2 S / (P + T).
	scores.PairwiseF = ratio(2*together, inPredicted+inTruth)
	return scores, nil
}

func checkSubset(n int, on []int32) error {
	seen := make([]bool, n)
	for at, i := range on {
		if i < 0 || int(i) >= n {
			return fault.Invalid("INDEX_OUT_OF_RANGE", "entry %d of the indices to score on is %d, outside 0..%d", at, i, n-1)
		}
		if seen[i] {
			return fault.Invalid("DUPLICATE_INDEX", "point %d stands twice among the indices to score on", i)
		}
		seen[i] = true
	}
	return nil
}

func pick[L Label](labels []L, on []int32) []L {
	picked := make([]L, len(on))
	for at, i := range on {
		picked[at] = labels[i]
	}
	return picked
}

// mutualInformation is sum n_ij/n log(n n_ij / (a_i b_j)) over the cells.
func (t *contingency) mutualInformation() float64 {
	sum := 0.0
	for _, c := range t.cells {
		a, b := float64(t.predicted[c.predicted]), float64(t.truth[c.truth])
		share := float64(c.count) / t.total
		sum += float64(share * math.Log(float64(c.count)*t.total/(a*b)))
	}
	return math.Max(sum, 0) // independent labelings may come out a rounding below
}

// normalized is I / ((H(predicted) + H(truth))/2), Kulis2009 (10). Two labelings of one cluster
// each agree: 1.
func (t *contingency) normalized(information float64) float64 {
	if t.identical() {
		return 1 // without the rounding of the quotient
	}
	return math.Min(2*information/(t.entropy(t.predicted)+t.entropy(t.truth)), 1)
}

func (t *contingency) entropy(counts []int64) float64 {
	sum := 0.0
	for _, count := range counts {
		share := float64(count) / t.total
		sum -= float64(share * math.Log(share))
	}
	return sum
}

// purity is the share of points in the most frequent class of their predicted cluster.
func (t *contingency) purity() float64 {
	most := make([]int64, len(t.predicted))
	for _, c := range t.cells {
		most[c.predicted] = max(most[c.predicted], c.count)
	}
	sum := int64(0)
	for _, count := range most {
		sum += count
	}
	return float64(sum) / t.total
}

// pairs counts the unordered pairs that are together in both labelings, and in each of them.
func (t *contingency) pairs() (inBoth, inPredicted, inTruth int64) {
	for _, c := range t.cells {
		inBoth += pairsAmong(c.count)
	}
	for _, count := range t.predicted {
		inPredicted += pairsAmong(count)
	}
	for _, count := range t.truth {
		inTruth += pairsAmong(count)
	}
	return inBoth, inPredicted, inTruth
}

// adjustedRand is the share of agreeing pairs above chance (Hubert and Arabie), written with the
// four counts of pairs. Without any disagreement it is 1, also where chance leaves nothing to gain.
func (t *contingency) adjustedRand() float64 {
	inBoth, inPredicted, inTruth := t.pairs()
	predictedOnly, truthOnly := float64(inPredicted-inBoth), float64(inTruth-inBoth)
	if predictedOnly == 0 && truthOnly == 0 {
		return 1
	}
	together := float64(inBoth)
	apart := float64(pairsAmong(int64(t.total))) - together - predictedOnly - truthOnly
	return 2 * (together*apart - predictedOnly*truthOnly) /
		((together+truthOnly)*(truthOnly+apart) + (together+predictedOnly)*(predictedOnly+apart))
}

func pairsAmong(count int64) int64 { return count * (count - 1) / 2 }

// ratio takes 0/0 for 1: nothing was claimed and nothing was wrong.
func ratio(part, whole int64) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}
