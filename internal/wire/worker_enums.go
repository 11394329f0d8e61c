package wire

import (
	"fmt"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/metric"
	vectors "github.com/cleave-project/cleave/internal/vector"
)

// The enums of the worker protocol, each value beside the constant that it stands for. The numbers on
// the two sides are unrelated.
var (
	workerKernelFunctions = enumTable[kernel.Function, workerv1.KernelFunction]{"kernel function", []enumPair[kernel.Function, workerv1.KernelFunction]{
		{kernel.Linear, workerv1.KernelFunction_KERNEL_FUNCTION_LINEAR},
		{kernel.Gaussian, workerv1.KernelFunction_KERNEL_FUNCTION_GAUSSIAN},
		{kernel.Laplacian, workerv1.KernelFunction_KERNEL_FUNCTION_LAPLACIAN},
		{kernel.Polynomial, workerv1.KernelFunction_KERNEL_FUNCTION_POLYNOMIAL},
		{kernel.Sigmoid, workerv1.KernelFunction_KERNEL_FUNCTION_SIGMOID},
		{kernel.Cosine, workerv1.KernelFunction_KERNEL_FUNCTION_COSINE},
		{kernel.Given, workerv1.KernelFunction_KERNEL_FUNCTION_GIVEN},
		{kernel.Adjacency, workerv1.KernelFunction_KERNEL_FUNCTION_ADJACENCY},
	}}
	workerPreparations = enumTable[vectors.Preparation, workerv1.Preparation]{"preparation", []enumPair[vectors.Preparation, workerv1.Preparation]{
		{vectors.Plain, workerv1.Preparation_PREPARATION_PLAIN},
		{vectors.Unit, workerv1.Preparation_PREPARATION_UNIT},
		{vectors.Probability, workerv1.Preparation_PREPARATION_PROBABILITY},
		{vectors.NonNegative, workerv1.Preparation_PREPARATION_NON_NEGATIVE},
	}}
	workerDistortions = enumTable[metric.Distortion, workerv1.Distortion]{"distortion", []enumPair[metric.Distortion, workerv1.Distortion]{
		{metric.SquaredEuclidean, workerv1.Distortion_DISTORTION_SQUARED_EUCLIDEAN},
		{metric.Cosine, workerv1.Distortion_DISTORTION_COSINE},
		{metric.KL, workerv1.Distortion_DISTORTION_KL},
		{metric.IDivergence, workerv1.Distortion_DISTORTION_I_DIVERGENCE},
	}}
	workerScatterKinds = enumTable[vectors.Scatter, workerv1.ScatterKind]{"kind of scatter", []enumPair[vectors.Scatter, workerv1.ScatterKind]{
		{vectors.Total, workerv1.ScatterKind_SCATTER_KIND_TOTAL},
		{vectors.Diagonal, workerv1.ScatterKind_SCATTER_KIND_DIAGONAL},
		{vectors.Full, workerv1.ScatterKind_SCATTER_KIND_FULL},
	}}
)

// ScatterToProto gives the kind of a scatter.
func ScatterToProto(kind vectors.Scatter) workerv1.ScatterKind {
	return workerScatterKinds.toProto(kind)
}

// ScatterFromProto reads the kind of a scatter.
func ScatterFromProto(kind workerv1.ScatterKind) (vectors.Scatter, error) {
	return workerScatterKinds.fromProto(kind)
}

// enumTable converts between the constants of a domain package and the values of a proto enum.
type enumTable[D comparable, P enumValue] struct {
	name  string
	pairs []enumPair[D, P]
}

type enumPair[D comparable, P enumValue] struct {
	domain D
	proto  P
}

type enumValue interface {
	~int32
	String() string
}

// toProto gives the proto value of a constant; an unknown constant becomes UNSPECIFIED, which no
// receiver accepts.
func (e enumTable[D, P]) toProto(domain D) P {
	for _, p := range e.pairs {
		if p.domain == domain {
			return p.proto
		}
	}
	return 0
}

// fromProto gives the constant of a proto value, or an error if there is none.
func (e enumTable[D, P]) fromProto(proto P) (D, error) {
	for _, p := range e.pairs {
		if p.proto == proto {
			return p.domain, nil
		}
	}
	var none D
	return none, fmt.Errorf("wire: unknown %s %v", e.name, proto)
}
