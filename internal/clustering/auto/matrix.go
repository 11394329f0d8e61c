package auto

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/dataset"
)

// MatrixProblem is the problem whose executor multiplies a graph's adjacency matrix, or a kernel matrix, with vectors.
func MatrixProblem(data dataset.Dataset) (*kernelkmeans.Problem, error) {
	return kernelkmeans.Prepare(data, clustering.Spec{
		K: 1, Restarts: 1, Algorithm: &kernelkmeans.Options{Objective: kernelkmeans.ObjectiveRatioAssociation},
	})
}
