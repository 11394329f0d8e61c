package wire

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	vectors "github.com/cleave-project/cleave/internal/numeric/vector"
)

// each converts every item of a list. It returns nil for an empty list.
func each[A, B any](list []A, convert func(A) B) []B {
	var converted []B
	for _, item := range list {
		converted = append(converted, convert(item))
	}
	return converted
}

// eachOrError is each for conversions that may fail. It returns the first error.
func eachOrError[A, B any](list []A, convert func(A) (B, error)) ([]B, error) {
	converted := make([]B, len(list))
	for at, item := range list {
		var err error
		if converted[at], err = convert(item); err != nil {
			return nil, err
		}
	}
	return converted, nil
}

// number converts a count or an index to that of a message.
func number(n int) uint32 { return uint32(n) }

// apiEnum is a generated enum of the API.
type apiEnum interface {
	~int32
	protoreflect.Enum
}

// enumValue returns the value of an API enum that a word stands for, or 0 if there is none. EnumWord is its inverse.
func enumValue[E apiEnum](word string) E {
	var e E
	return E(enumNumber(e.Descriptor(), word))
}

// enumMap maps the values of an API enum to those of the domain. The two are numbered independently, so that either
// side can take its next number freely.
type enumMap[P apiEnum, D comparable] map[P]D

// decode returns the domain's value, or an error if there is none. 0 never has one.
func (m enumMap[P, D]) decode(value P) (D, error) {
	d, known := m[value]
	if !known || value == 0 {
		return d, fmt.Errorf("wire: unknown %s %d", value.Descriptor().Name(), int32(value))
	}
	return d, nil
}

// write returns the API's value, or 0 if there is none. If several mean the same, it returns the one with the largest
// number, which is never the unspecified one.
func (m enumMap[P, D]) write(value D) P {
	var found P
	for p, d := range m {
		if d == value {
			found = max(found, p)
		}
	}
	return found
}

var (
	kinds = enumMap[cleavev1.DatasetKind, dataset.Kind]{
		cleavev1.DatasetKind_DATASET_KIND_UNSPECIFIED:   0,
		cleavev1.DatasetKind_DATASET_KIND_POINTS:        dataset.KindPoints,
		cleavev1.DatasetKind_DATASET_KIND_GRAPH:         dataset.KindGraph,
		cleavev1.DatasetKind_DATASET_KIND_KERNEL:        dataset.KindKernel,
		cleavev1.DatasetKind_DATASET_KIND_SPARSE_POINTS: dataset.KindSparsePoints,
	}
	// kernelFunctions are matched by name, so that a new kernel needs no line here.
	kernelFunctions = func() enumMap[cleavev1.KernelFunction, kernel.Function] {
		m := enumMap[cleavev1.KernelFunction, kernel.Function]{cleavev1.KernelFunction_KERNEL_FUNCTION_UNSPECIFIED: 0}
		for f := kernel.Function(1); f.String() != ""; f++ {
			if value := enumValue[cleavev1.KernelFunction](f.String()); value != 0 {
				m[value] = f
			}
		}
		return m
	}()
	distortions = enumMap[cleavev1.Distortion, metric.Distortion]{
		cleavev1.Distortion_DISTORTION_UNSPECIFIED:  0,
		cleavev1.Distortion_DISTORTION_EUCLIDEAN:    metric.SquaredEuclidean,
		cleavev1.Distortion_DISTORTION_COSINE:       metric.Cosine,
		cleavev1.Distortion_DISTORTION_KL:           metric.KL,
		cleavev1.Distortion_DISTORTION_I_DIVERGENCE: metric.IDivergence,
	}
)

// The enums of the worker protocol.
var (
	// matrixSources are the sources of a matrix other than a kernel function.
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

// matrixFunction returns how the entries of a matrix are computed or where they come from.
func matrixFunction(m *workerv1.MatrixSpec) (kernel.Function, error) {
	if m.GetSource() == workerv1.MatrixSource_MATRIX_SOURCE_KERNEL {
		return kernelFunctions.decode(m.GetFunction())
	}
	return matrixSources.decode(m.GetSource())
}
