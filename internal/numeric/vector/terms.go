package vector

import (
	"github.com/cleave-project/cleave/internal/numeric/elementary"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/parallel"
)

// terms is a model prepared for scoring. To find the nearest centroid, every distortion can be replaced by a score that
// is linear in x; the omitted terms are the same for all clusters:
//
//	score_ic = b_c - 2 x_i.w_c
//	squared Euclidean  w = A mu,        b = mu'A mu
//	cosine             w = mu / 2,      b = 0
//	KL                 w = log(mu) / 2, b = 0
//	I-divergence       w = log(mu) / 2, b = sum of mu
//
// The weights here are -2 w, so that a score is one chain of additions that begins with b. The weight of the
// background, which is added to all features, is the sum of their weights.
type terms struct {
	model Model
	form  metric.Form
	bias  []float64 // b_c
	// The weight of each feature in a squared Euclidean distance: the diagonal of A, or ones. Empty if A is
	// a full matrix.
	featureWeights []float64
	// Scores are computed from these: the clusters that are not absent, in pieces of several clusters.
	present []int32 // ascending
	place   []int32 // per cluster: its index in present; -1 if it is absent
	maxBias float64 // max |b_c| over present
	piece   int     // clusters per piece
	// The weight of feature f for the cluster at place p is
	// weights[(p/piece)*pieceStride + f*featureStride + p%piece].
	pieceStride, featureStride int
	weights                    []float64
	starts                     []float64 // b_c by place, padded with copies of the last
}

// choose sets the model and lists the clusters that are not absent. It returns errNoCluster if all are. It keeps the
// model's slices.
func (t *terms) choose(model *Model, columns int) error {
	t.model, t.form = *model, model.form(columns)
	t.present, t.place = t.present[:0], parallel.Resized(t.place, model.Clusters)
	for c := range model.Clusters {
		t.place[c] = -1
		if !model.absent(c) {
			t.place[c] = int32(len(t.present))
			t.present = append(t.present, int32(c))
		}
	}
	if len(t.present) == 0 {
		return errNoCluster
	}
	t.setFeatureWeights(columns)
	return nil
}

func (t *terms) setMaxBias() {
	t.maxBias = 0
	for _, c := range t.present {
		t.maxBias = max(t.maxBias, t.bias[c], -t.bias[c])
	}
}

// setFeatureWeights sets the diagonal of A; it is empty for a full metric.
func (t *terms) setFeatureWeights(columns int) {
	t.featureWeights = t.featureWeights[:0]
	switch t.form {
	case metric.Diagonal:
		t.featureWeights = append(t.featureWeights, t.model.Metric...)
	case metric.Identity:
		for range columns {
			t.featureWeights = append(t.featureWeights, 1)
		}
	}
}

// layOut allocates biases and weights, and returns the number of pieces. For dense rows a piece has all features of a
// few clusters in one place. For sparse rows all clusters of one feature are in one place, because a row needs only a
// few features.
func (t *terms) layOut(width int, sparse bool) (pieces int) {
	t.piece = blockClusters
	if sparse {
		t.piece = sparsePadding
	}
	pieces = (len(t.present) + t.piece - 1) / t.piece
	t.pieceStride, t.featureStride = width*t.piece, t.piece
	if sparse {
		t.pieceStride, t.featureStride = t.piece, t.piece*pieces
	}
	t.bias = parallel.Resized(t.bias, t.model.Clusters)
	t.weights = parallel.Resized(t.weights, width*pieces*t.piece)
	t.starts = parallel.Resized(t.starts, pieces*t.piece)
	return pieces
}

// setPiece computes the biases of one piece and, if weights are allocated, its weights, feature by feature.
func (t *terms) setPiece(p int, spec *RowSpec) {
	d, weighted := spec.Columns, len(t.weights) > 0
	var bias, background [max(blockClusters, sparsePadding)]float64
	count := min(t.piece, len(t.present)-p*t.piece)
	for f := range d {
		var line []float64
		if weighted {
			line = t.weights[p*t.pieceStride+f*t.featureStride:][:t.piece]
		}
		for i, c := range t.present[p*t.piece:][:count] {
			weight, part := t.linear(t.model.Centroids[int(c)*d:][:d], f, weighted)
			bias[i] += part
			if weighted {
				background[i] += weight
				line[i] = weight
			}
		}
		t.fill(line, count)
	}
	if weighted && spec.HasBackground() {
		line := t.weights[p*t.pieceStride+d*t.featureStride:][:t.piece]
		copy(line, background[:count])
		t.fill(line, count)
	}
	for i, c := range t.present[p*t.piece:][:count] {
		t.bias[c] = bias[i]
	}
	line := t.starts[p*t.piece:][:t.piece]
	copy(line, bias[:count])
	t.fill(line, count)
}

// fill pads a piece with copies of its last cluster, which do not change any minimum.
func (t *terms) fill(line []float64, count int) {
	for at := count; at < len(line); at++ {
		line[at] = line[count-1]
	}
}

// linear returns the feature's part of b and, if weighted is set, -2 w of feature f.
func (t *terms) linear(mu []float64, f int, weighted bool) (weight, bias float64) {
	switch t.model.Distortion {
	case metric.Cosine:
		return -mu[f], 0
	case metric.KL, metric.IDivergence:
		if weighted {
			weight = -logOf(mu[f])
		}
		if t.model.Distortion == metric.IDivergence {
			bias = mu[f]
		}
		return weight, bias
	}
	w := mu[f]
	switch t.form {
	case metric.Diagonal:
		w = float64(t.model.Metric[f] * w)
	case metric.Full:
		w = elementary.Dot(t.model.Metric[f*len(mu):][:len(mu)], mu)
	}
	return -2 * w, float64(w * mu[f])
}

// logOf returns the logarithm of a centroid's value, which is finite even for 0.
func logOf(mu float64) float64 { return elementary.Log(notZero(mu)) }

func notZero(mu float64) float64 {
	if mu == 0 {
		return metric.Smoothing
	}
	return mu
}

// weight returns -2 w_cf. Cluster c must not be absent.
func (t *terms) weight(c, f int) float64 {
	p := int(t.place[c])
	return t.weights[p/t.piece*t.pieceStride+f*t.featureStride+p%t.piece]
}
