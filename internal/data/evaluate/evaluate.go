// Package evaluate scores a clustering against the true classes: mutual information, the adjusted
// Rand index, pairwise precision, recall and F, and purity, on all points or on a subset.
//
// Scores depend on which points are together, not on the numbers used as labels. Sums run over sorted
// labels, so that the same labelings give the same bits.
package evaluate

import (
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
)

// Scores measure how well predicted labels match the true ones. All but MutualInformation, which is in
// nats, are at most 1, which is a perfect match.
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

// Compare scores predicted labels against the true ones on the points listed in on, or on all points if
// on is nil. It returns an error if the lengths differ, or on is empty, out of range or has duplicates.
func Compare[P, T Label](predicted []P, truth []T, on []int32) (Scores, error) {
	if len(predicted) != len(truth) {
		return Scores{}, fault.Invalid("SIZE_MISMATCH",
			"there are %d predicted labels and %d true ones; give equally many", len(predicted), len(truth))
	}
	if on != nil {
		if err := checkSubset(len(truth), on); err != nil {
			return Scores{}, err
		}
		predicted = choose.At(predicted, on)
		truth = choose.At(truth, on)
	}
	if len(truth) == 0 {
		return Scores{}, fault.Invalid("EMPTY_DATA", "there are no points to score; give at least one")
	}
	t := tabulate(predicted, truth)
	scores := Scores{MutualInformation: t.mutualInformation(), Purity: t.purity()}
	scores.NMI = t.normalized(scores.MutualInformation)
	inBoth, inPredicted, inTruth := t.pairs()
	scores.ARI = AdjustedRand(inBoth, inTruth-inBoth, inPredicted-inBoth,
		pairsAmong(int64(t.total))-inTruth-inPredicted+inBoth)
	scores.PairwisePrecision = ratio(inBoth, inPredicted)
	scores.PairwiseRecall = ratio(inBoth, inTruth)
	// The harmonic mean of B/P and B/T is 2 B / (P + T).
	scores.PairwiseF = ratio(2*inBoth, inPredicted+inTruth)
	return scores, nil
}

func checkSubset(n int, on []int32) error {
	seen := make([]bool, n)
	for at, i := range on {
		if i < 0 || int(i) >= n {
			return fault.Invalid("INDEX_OUT_OF_RANGE", "entry %d of the indices to score on is %d, outside 0..%d",
				at, i, n-1)
		}
		if seen[i] {
			return fault.Invalid("DUPLICATE_INDEX",
				"point %d is listed twice among the indices to score on; list it once", i)
		}
		seen[i] = true
	}
	return nil
}

// mutualInformation returns the sum of n_ij/n log(n n_ij / (a_i b_j)) over the cells, with row sums a_i
// and column sums b_j.
func (t *contingency) mutualInformation() float64 {
	sum := 0.0
	for _, c := range t.cells {
		a := float64(t.predicted[c.predicted])
		b := float64(t.truth[c.truth])
		share := float64(c.count) / t.total
		sum += float64(share * elementary.Log(float64(c.count)*t.total/(a*b)))
	}
	return math.Max(sum, 0) // for independent labelings, rounding may make the sum negative
}

// normalized returns I / ((H(predicted) + H(truth))/2), Kulis2009 (10). It is exactly 1 if the labelings
// are the same, even if both entropies are 0.
func (t *contingency) normalized(information float64) float64 {
	if t.identical() {
		return 1
	}
	return math.Min(2*information/(t.entropy(t.predicted)+t.entropy(t.truth)), 1)
}

func (t *contingency) entropy(counts []int64) float64 {
	sum := 0.0
	for _, count := range counts {
		share := float64(count) / t.total
		sum -= float64(share * elementary.Log(share))
	}
	return sum
}

// purity returns the share of points in the most frequent class of their predicted cluster.
func (t *contingency) purity() float64 {
	largest := make([]int64, len(t.predicted)) // the largest cell of each predicted cluster
	for _, c := range t.cells {
		largest[c.predicted] = max(largest[c.predicted], c.count)
	}
	sum := int64(0)
	for _, count := range largest {
		sum += count
	}
	return float64(sum) / t.total
}

// pairs counts the unordered pairs of points that are together in both labelings, and in each.
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

// AdjustedRand returns the adjusted Rand index (Hubert and Arabie 1985) from four counts of pairs. Of the pairs that
// belong together, together (a) share a cluster and parted (b) do not; of the pairs that belong apart, joined (c) share
// a cluster and apart (d) do not:
//
//	2 (a d - b c) / ((a + b) (b + d) + (a + c) (c + d))
//
// It returns 1 if the index is undefined.
func AdjustedRand[Count int | int64](together, parted, joined, apart Count) float64 {
	a, b, c, d := float64(together), float64(parted), float64(joined), float64(apart)
	scale := float64((a+b)*(b+d)) + float64((a+c)*(c+d))
	if scale == 0 { // all pairs belong together and are, or all belong apart and are
		return 1
	}
	return 2 * (float64(a*d) - float64(b*c)) / scale
}

func pairsAmong(count int64) int64 { return count * (count - 1) / 2 }

// ratio returns part/whole, and 1 for 0/0: if there are no pairs, none is wrong.
func ratio(part, whole int64) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

// contingency counts how many points have each pair of a predicted and a true label.
type contingency struct {
	total     float64
	predicted []int64 // points with each predicted label, in ascending order of the labels
	truth     []int64 // points of each true class, in ascending order of the classes
	cells     []cell  // the nonempty cells, sorted by (predicted, truth)
}

// cell is an entry of the contingency table that is not 0.
type cell struct {
	predicted, truth int32 // indices into the lists of the same names
	count            int64
}

// tabulate counts the rows of every pair of labels that occurs, by sorting, so that memory does not grow with the
// number of possible pairs.
func tabulate[P, T Label](predicted []P, truth []T) *contingency {
	rows := Ranks(predicted)
	columns := Ranks(truth)
	keys := make([]uint64, len(rows))
	for i := range keys {
		keys[i] = uint64(rows[i])<<32 | uint64(columns[i])
	}
	slices.Sort(keys)
	t := &contingency{total: float64(len(keys)), predicted: make([]int64, slices.Max(rows)+1),
		truth: make([]int64, slices.Max(columns)+1)}
	for at, key := range keys {
		row, column := int32(key>>32), int32(key&0xFFFFFFFF)
		if at == 0 || keys[at-1] != key {
			t.cells = append(t.cells, cell{predicted: row, truth: column})
		}
		t.cells[len(t.cells)-1].count++
	}
	for _, c := range t.cells {
		t.predicted[c.predicted] += c.count
		t.truth[c.truth] += c.count
	}
	return t
}

// Ranks replaces each label by its index among the sorted distinct labels.
func Ranks[L Label](labels []L) []int32 {
	distinct := slices.Clone(labels)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	ranks := make([]int32, len(labels))
	for i, label := range labels {
		at, _ := slices.BinarySearch(distinct, label)
		ranks[i] = int32(at)
	}
	return ranks
}

// identical reports whether the two labelings are the same up to the numbers of their labels.
func (t *contingency) identical() bool {
	return len(t.cells) == len(t.predicted) && len(t.cells) == len(t.truth)
}

// Silhouette compares the mean distance a of a row to the others of its cluster with the smallest mean distance b to
// the rows of another cluster: (b - a) / max(a, b) (Rousseeuw 1987). sums holds the sums of its distances to the rows
// of each cluster. The silhouette is 0 for a row that is alone in its cluster, and if there is no other cluster.
func Silhouette(own int, sums []float64, sizes []int) float64 {
	if sizes[own] < 2 {
		return 0
	}
	inside := sums[own] / float64(sizes[own]-1)
	outside := math.Inf(1)
	for cluster, size := range sizes {
		if cluster != own && size > 0 {
			outside = min(outside, sums[cluster]/float64(size))
		}
	}
	if largest := max(inside, outside); largest > 0 && !math.IsInf(outside, 1) {
		return (outside - inside) / largest
	}
	return 0
}

// Match assigns a different cluster to every class, such that as many points as possible are in the cluster of their
// class. counts[class][cluster] is the number of points of a class in a cluster; there must be at least as many
// clusters as classes. The result is the cluster of each class, and always the same one of equally good assignments.
//
// It is the Hungarian method with potentials: classes are added one by one, each along the cheapest path of changes.
func Match[Count int32 | int64](counts [][]Count) []int {
	if len(counts) == 0 {
		return nil
	}
	clusters := len(counts[0])
	ofClass := make([]int64, len(counts)+1) // potentials
	ofCluster := make([]int64, clusters+1)
	class := make([]int, clusters+1) // 1 + the class of each cluster, which are numbered from 1; 0 if none
	from := make([]int, clusters+1)
	for added := 1; added <= len(counts); added++ {
		const unreached = int64(1) << 62
		class[0] = added
		cost := slices.Repeat([]int64{unreached}, clusters+1)
		done := make([]bool, clusters+1)
		at := 0
		for class[at] != 0 {
			done[at] = true
			least, next := unreached, 0
			for cluster := 1; cluster <= clusters; cluster++ {
				if done[cluster] {
					continue
				}
				if c := -int64(counts[class[at]-1][cluster-1]) - ofClass[class[at]] -
					ofCluster[cluster]; c < cost[cluster] {
					cost[cluster], from[cluster] = c, at
				}
				if cost[cluster] < least {
					least, next = cost[cluster], cluster
				}
			}
			for cluster := range done {
				if done[cluster] {
					ofClass[class[cluster]] += least
					ofCluster[cluster] -= least
				} else {
					cost[cluster] -= least
				}
			}
			at = next
		}
		for at != 0 {
			class[at], at = class[from[at]], from[at]
		}
	}
	match := make([]int, len(counts))
	for cluster := 1; cluster <= clusters; cluster++ {
		if class[cluster] > 0 {
			match[class[cluster]-1] = cluster - 1
		}
	}
	return match
}
