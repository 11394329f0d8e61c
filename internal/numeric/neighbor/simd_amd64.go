package neighbor

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// availableRoutines returns all routines that this processor supports, the portable ones first.
func availableRoutines() []routines {
	all := []routines{portable()}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append(all, simdRoutines("avx2", 2, distancesAVX2, gapsAVX2))
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL {
		all = append(all, simdRoutines("avx512", batchQueries, distancesAVX512, gapsAVX512))
	}
	return all
}

// simdRoutines wraps assembly, which takes pointers and a few queries of a batch at a time, in functions that check
// lengths.
func simdRoutines(name string, queriesPerCall int,
	distances func(sums *float64, hits *uint16, rows, queries, limits *float64, features int, first bool),
	gaps func(sums, lows, highs, low, high *float64, features int),
) routines {
	return routines{
		name: name,
		distances: func(sums *[batchQueries * groupRows]float64, hits *[batchQueries]uint16, rows, queries []float64,
			limits *[batchQueries]float64, first bool) {
			features := len(queries) / batchQueries
			if features == 0 {
				panic("neighbor: no features to compare")
			}
			rows = rows[:features*groupRows]
			for q := 0; q < batchQueries; q += queriesPerCall {
				distances(&sums[q*groupRows], &hits[q], unsafe.SliceData(rows), &queries[q], &limits[q],
					features, first)
			}
		},
		gaps: func(sums *[blockBatches]float64, batches *boxes, from box) {
			features := len(from.low)
			if features == 0 {
				panic("neighbor: no features to compare")
			}
			low := batches.low[:features*blockBatches]
			high := batches.high[:features*blockBatches]
			gaps(&sums[0], &low[0], &high[0], &from.low[0], &from.high[:features][0], features)
		},
	}
}
