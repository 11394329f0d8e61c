package auto

import (
	"math"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
)

// The work of finding neighbors, in nanoseconds of one thread of the processor that longSearch was chosen on. Which
// spaces are tried depends on it, and so does the answer, so these weights are part of the decision like the constants
// of table.go. Package planning has rates of its own: measuring those again improves forecasts and changes no answer.
const (
	searchRow     = 1500 // a row, to find its position in the tree
	searchPair    = 1.5  // two rows that are compared
	searchValue   = 0.08 // a value of each
	searchProduct = 2.0  // two entries of sparse rows in the same column
	searchCosine  = 0.5  // two sparse rows
	searchKernel  = 17.5 // an entry of a given kernel matrix
	// Of dense rows, each is compared with about nearbyRows times perColumn to the power of the number of columns.
	nearbyRows = 350
	perColumn  = 1.9
)

// searchSeconds returns how long finding the neighbors of all rows is taken to last on usualThreads threads. It depends
// on the shape of the data alone, so it is the same everywhere.
func searchSeconds(data dataset.Dataset) float64 {
	return searchWork(data) / usualThreads / 1e9
}

func searchWork(data dataset.Dataset) float64 {
	rows := float64(data.Rows())
	switch data := data.(type) {
	case *dataset.Kernel:
		return rows * rows * searchKernel
	case *dataset.SparsePoints:
		return float64(float64(neighbor.CosineProducts(data))*searchProduct) + float64(rows*rows*searchCosine)
	case *dataset.Points:
		columns := float64(data.D)
		compared := min(rows, nearbyRows*math.Pow(perColumn, min(columns, 64)))
		return float64(rows*searchRow) + float64(rows*compared*(searchPair+float64(searchValue*columns)))
	}
	return 0
}
