package vector

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// availableRoutines returns all routines that this processor supports, the portable ones first.
func availableRoutines() []routines {
	all := []routines{portable()}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append(all, simdRoutines("avx2", 8, 16, scoreBlockAVX2, extremesAVX2, distancesAVX2, distanceBlockAVX2,
			scoreSparse8AVX2, scoreSparse32AVX2))
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL {
		all = append(all, simdRoutines("avx512", 32, 32, scoreBlockAVX512, extremesAVX512, distancesAVX512,
			distanceBlockAVX512, scoreSparse8AVX512, scoreSparse32AVX512))
	}
	return all
}

// sparseCode scores a sparse row against a fixed number of clusters.
type sparseCode func(scores, weights *float64, stride int, columns *int32, values *float64, entries int)

// simdRoutines wraps assembly, which takes pointers and a few rows of a group at a time, in functions that take slices
// and check their lengths.
func simdRoutines(name string, scoreRows, otherRows int,
	scoreBlock func(scores, rows, weights, bias *float64, features int),
	extremes func(least, greatest, scores *float64, clusters int),
	distances func(out, rows *float64, places *int64, centroids, weights *float64, features int),
	distanceBlock func(distances, rows, first, second, third, fourth, weights *float64, features int),
	scoreSparse8, scoreSparse32 sparseCode,
) routines {
	return routines{
		name: name,
		scoreBlock: func(scores, rows, weights, bias []float64) {
			features := len(weights) / blockClusters
			if features == 0 {
				panic("vector: no features to score")
			}
			scores = scores[:blockClusters*groupRows]
			rows = rows[:features*groupRows]
			if bias != nil {
				bias = bias[:blockClusters]
			}
			for r := 0; r < groupRows; r += scoreRows {
				scoreBlock(&scores[r], &rows[r], unsafe.SliceData(weights), unsafe.SliceData(bias), features)
			}
		},
		extremes: func(least, greatest *[groupRows]float64, scores []float64) {
			if len(scores) < groupRows {
				panic("vector: no scores to compare")
			}
			for r := 0; r < groupRows; r += otherRows {
				extremes(&least[r], &greatest[r], &scores[r], len(scores)/groupRows)
			}
		},
		distances: func(out *[groupRows]float64, rows []float64, at *places, centroids, weights []float64) {
			clear(out[:])
			rows = rows[:len(weights)*groupRows]
			for _, place := range at {
				_ = centroids[place:][:len(weights)]
			}
			for from := 0; from < len(weights); from += featuresPerCall {
				features := min(featuresPerCall, len(weights)-from)
				for r := 0; r < groupRows; r += otherRows {
					distances(&out[r], &rows[from*groupRows+r], &at[r], &centroids[from], &weights[from], features)
				}
			}
		},
		distanceBlock: func(distances, rows []float64, at *[distanceClusters]int, centroids, weights []float64) {
			distances = distances[:distanceClusters*groupRows]
			rows = rows[:len(weights)*groupRows]
			var centers [distanceClusters][]float64
			for c, place := range at {
				centers[c] = centroids[place:][:len(weights)]
			}
			for from := 0; from < len(weights); from += featuresPerCall {
				features := min(featuresPerCall, len(weights)-from)
				for r := 0; r < groupRows; r += scoreRows {
					distanceBlock(&distances[r], &rows[from*groupRows+r], &centers[0][from], &centers[1][from],
						&centers[2][from], &centers[3][from], &weights[from], features)
				}
			}
		},
		scoreSparse: func(scores, weights []float64, columns []int32, values []float64) {
			values = values[:len(columns)]
			if len(columns) == 0 {
				return
			}
			stride := len(scores)
			if stride%sparsePadding != 0 || int(columns[len(columns)-1])*stride+stride > len(weights) {
				panic("vector: weights do not fit a sparse row")
			}
			for from := 0; from < stride; {
				code, clusters := scoreSparse8, sparsePadding
				if stride-from >= 4*sparsePadding {
					code, clusters = scoreSparse32, 4*sparsePadding
				}
				code(&scores[from], &weights[from], stride, &columns[0], &values[0], len(columns))
				from += clusters
			}
		},
	}
}
