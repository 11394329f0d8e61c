package vector

import "math"

// blockClusters is the number of clusters that a group of dense rows is scored against at a time.
const blockClusters = 6

// distanceClusters is the number of clusters that a group of dense rows is measured against at a time.
const distanceClusters = 4

// sparsePadding is the number that the clusters of sparse scores are padded to a multiple of.
const sparsePadding = 8

// Assembly cannot be preempted, so each call is limited: longer ones would hold up the garbage collector.
const (
	featuresPerCall = 4096
	entriesPerCall  = 2048
)

// routines holds the inner loops. Every implementation gives the same bits.
type routines struct {
	name string
	// scoreBlock adds some features to the scores of a group of rows against a block of clusters,
	// scores[c*groupRows+r]. It starts from bias or, if that is nil, from the current scores.
	scoreBlock func(scores, rows, weights, bias []float64)
	// extremes finds the least and the greatest score of each row of a group.
	extremes func(least, greatest *[groupRows]float64, scores []float64)
	// distances computes the squared distance, with weighted features, of each row of a group to the centroid that
	// begins at its place.
	distances func(out *[groupRows]float64, rows []float64, at *places, centroids, weights []float64)
	// distanceBlock adds some features to the squared distances, with weighted features, of each row of a group to a
	// block of centroids, distances[c*groupRows+r]. The features of the centroids begin at the given places.
	distanceBlock func(distances, rows []float64, at *[distanceClusters]int, centroids, weights []float64)
	// scoreSparse adds entries of one row to its scores. Each column has len(scores) weights.
	scoreSparse func(scores, weights []float64, columns []int32, values []float64)
}

// detectRoutines returns the fastest routines that this processor supports.
func detectRoutines() routines {
	all := availableRoutines()
	return all[len(all)-1]
}

func portable() routines {
	return routines{name: "portable", scoreBlock: scoreBlockPortable, extremes: extremesPortable,
		distances: distancesPortable, distanceBlock: distanceBlockPortable, scoreSparse: scoreSparsePortable}
}

// scoreBlockPortable adds the products of a group of rows with the weights of a block of clusters to scores, which
// begin at bias if it is given.
func scoreBlockPortable(scores, rows, weights, bias []float64) {
	for c := range blockClusters {
		sums := (*[groupRows]float64)(scores[c*groupRows:])
		if bias != nil {
			for r := range sums {
				sums[r] = bias[c]
			}
		}
		for f := range len(weights) / blockClusters {
			w, x := weights[f*blockClusters+c], (*[groupRows]float64)(rows[f*groupRows:])
			for r, v := range x {
				sums[r] = math.FMA(v, w, sums[r])
			}
		}
	}
}

func extremesPortable(least, greatest *[groupRows]float64, scores []float64) {
	*least = [groupRows]float64(scores)
	*greatest = *least
	for at := groupRows; at < len(scores); at += groupRows {
		for r, score := range (*[groupRows]float64)(scores[at:]) {
			least[r], greatest[r] = min(least[r], score), max(greatest[r], score)
		}
	}
}

func distancesPortable(out *[groupRows]float64, rows []float64, at *places, centroids, weights []float64) {
	clear(out[:])
	for f, a := range weights {
		for r, v := range (*[groupRows]float64)(rows[f*groupRows:]) {
			difference := v - centroids[int(at[r])+f]
			out[r] += float64(a * float64(difference*difference))
		}
	}
}

// distanceBlockPortable implements routines.distanceBlock.
func distanceBlockPortable(distances, rows []float64, at *[distanceClusters]int, centroids, weights []float64) {
	for c, from := range at {
		sums := (*[groupRows]float64)(distances[c*groupRows:])
		centroid := centroids[from:][:len(weights)]
		for f, a := range weights {
			for r, v := range (*[groupRows]float64)(rows[f*groupRows:]) {
				difference := v - centroid[f]
				sums[r] += float64(a * float64(difference*difference))
			}
		}
	}
}

func scoreSparsePortable(scores, weights []float64, columns []int32, values []float64) {
	for i, f := range columns {
		v := values[i]
		row := weights[int(f)*len(scores):][:len(scores)]
		for c, w := range row {
			scores[c] = math.FMA(v, w, scores[c])
		}
	}
}
