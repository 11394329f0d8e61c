package wire

import (
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	vectors "github.com/cleave-project/cleave/internal/numeric/vector"
)

// The enums of the protocol to workers.
var (
	// matrixSources are those that have no kernel function.
	matrixSources = enumMap[workerv1.MatrixSource, kernel.Function]{
		workerv1.MatrixSource_MATRIX_SOURCE_GIVEN:     kernel.Given,
		workerv1.MatrixSource_MATRIX_SOURCE_ADJACENCY: kernel.Adjacency,
	}
	workerPreparations = enumMap[workerv1.Preparation, vectors.Preparation]{
		workerv1.Preparation_PREPARATION_PLAIN:        vectors.Plain,
		workerv1.Preparation_PREPARATION_UNIT:         vectors.Unit,
		workerv1.Preparation_PREPARATION_PROBABILITY:  vectors.Probability,
		workerv1.Preparation_PREPARATION_NON_NEGATIVE: vectors.NonNegative,
	}
	workerDistortions = enumMap[workerv1.Distortion, metric.Distortion]{
		workerv1.Distortion_DISTORTION_SQUARED_EUCLIDEAN: metric.SquaredEuclidean,
		workerv1.Distortion_DISTORTION_COSINE:            metric.Cosine,
		workerv1.Distortion_DISTORTION_KL:                metric.KL,
		workerv1.Distortion_DISTORTION_I_DIVERGENCE:      metric.IDivergence,
	}
	workerScatterKinds = enumMap[workerv1.ScatterKind, vectors.ScatterKind]{
		workerv1.ScatterKind_SCATTER_KIND_TOTAL:    vectors.Total,
		workerv1.ScatterKind_SCATTER_KIND_DIAGONAL: vectors.Diagonal,
		workerv1.ScatterKind_SCATTER_KIND_FULL:     vectors.Full,
	}
)

// matrixFunction is how the entries of a matrix come about.
func matrixFunction(m *workerv1.MatrixSpec) (kernel.Function, error) {
	if m.GetSource() == workerv1.MatrixSource_MATRIX_SOURCE_KERNEL {
		return kernelFunctions.decode(m.GetFunction())
	}
	return matrixSources.decode(m.GetSource())
}

// ScatterToProto gives the kind of a scatter.
func ScatterToProto(kind vectors.ScatterKind) workerv1.ScatterKind {
	return workerScatterKinds.write(kind)
}

// ScatterFromProto reads the kind of a scatter.
func ScatterFromProto(kind workerv1.ScatterKind) (vectors.ScatterKind, error) {
	return workerScatterKinds.decode(kind)
}
