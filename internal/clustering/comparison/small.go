package comparison

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// What is compared takes about a second of processor time. What is compared must not depend on the workers that are
// there, nor on how busy they are, so that it is judged by the shape of the job.
const (
	mostCells   = 4_000     // rows times clusters
	mostValues  = 100_000   // of points, or edges of a graph
	mostEntries = 1_000_000 // of a kernel matrix
	mostPairs   = 1_000     // that are held out
	// mostSeeds is the same of seeds, each of which makes a pair with every other.
	mostSeeds     = 100
	mostDenseRows = 400 // where constrained-spectral solves from all entries of its matrix, in every fold
)

// small tells whether a comparison takes little time.
func small(data dataset.Dataset, spec clustering.Spec) bool {
	rows := data.Rows()
	if options, cuts := spec.Algorithm.(*spectral.Options); cuts && options.Algorithm == spectral.Constrained && rows > mostDenseRows {
		return false
	}
	if rows > mostCells/max(1, spec.K) {
		return false
	}
	switch data := data.(type) {
	case *dataset.Points:
		return rows*data.D <= mostValues
	case *dataset.SparsePoints:
		return data.NonZeros() <= mostValues
	case *dataset.Graph:
		return len(data.Column) <= 2*mostValues
	case *dataset.Kernel:
		return rows*rows <= mostEntries
	}
	return false
}
