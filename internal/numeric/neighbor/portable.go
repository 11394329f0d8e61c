package neighbor

import "math"

// routines holds the inner loops. Every implementation gives the same bits.
type routines struct {
	name string
	// distances adds the squared differences of some features to the distances of a batch of queries from a group of
	// rows, sums[q*groupRows+r]; they start from 0 if first is set. Bit r of hits[q] is set if the sum is within the
	// query's limit.
	distances func(sums *[batchQueries * groupRows]float64, hits *[batchQueries]uint16, rows, queries []float64,
		limits *[batchQueries]float64, first bool)
	// gaps bounds the squared distances of the rows in a box from the queries of each batch of a block: sums[b] is at
	// most any of them. Distances are computed with x - y in place of the gap between the boxes, and over all features.
	// Rounding preserves order, so each difference, square and sum here is at most the corresponding one there, after
	// rounding.
	gaps func(sums *[blockBatches]float64, batches *boxes, from box)
}

// detectRoutines returns the fastest routines that this processor supports.
func detectRoutines() routines {
	all := availableRoutines()
	return all[len(all)-1]
}

func portable() routines {
	return routines{name: "portable", distances: distancesPortable, gaps: gapsPortable}
}

// gapsPortable implements routines.gaps.
func gapsPortable(sums *[blockBatches]float64, batches *boxes, from box) {
	clear(sums[:])
	for f, low := range from.low {
		high := from.high[f]
		highs := (*[blockBatches]float64)(batches.high[f*blockBatches:])
		for i, batchLow := range (*[blockBatches]float64)(batches.low[f*blockBatches:]) {
			gap := max(batchLow-high, low-highs[i], 0)
			sums[i] = math.FMA(gap, gap, sums[i])
		}
	}
}

// distancesPortable adds squared differences to sums, and sets the bits of hits for the rows within each query's
// limit.
func distancesPortable(sums *[batchQueries * groupRows]float64, hits *[batchQueries]uint16, rows, queries []float64,
	limits *[batchQueries]float64, first bool) {
	if first {
		clear(sums[:])
	}
	for q := range batchQueries {
		totals := (*[groupRows]float64)(sums[q*groupRows:])
		for f := range len(queries) / batchQueries {
			x := queries[f*batchQueries+q]
			for r, y := range (*[groupRows]float64)(rows[f*groupRows:]) {
				difference := x - y
				totals[r] = math.FMA(difference, difference, totals[r])
			}
		}
		hits[q] = 0
		for r, sum := range totals {
			if sum <= limits[q] {
				hits[q] |= 1 << r
			}
		}
	}
}
