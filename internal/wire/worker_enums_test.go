package wire

import (
	"testing"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/kernel"
)

func TestWorkerEnums(t *testing.T) {
	every(t, workerPreparations, 1)
	every(t, workerDistortions, 1)
	every(t, workerScatterKinds, 1)
	back(t, workerPreparations)
	back(t, workerDistortions)
	back(t, workerScatterKinds)
}

// Every way to make a matrix survives the protocol to workers; one that the other side does not know does not.
func TestMatrixSources(t *testing.T) {
	count := 0
	for f := kernel.Function(1); f.String() != ""; f++ {
		count++
		m := MatrixSpecToProto(kernel.MatrixSpec{Function: f, Rows: 1}, nil, nil)
		if got, err := MatrixSpecFromProto(m, nil, nil); err != nil || got.Function != f {
			t.Errorf("%v becomes %v, %v", f, got.Function, err)
		}
	}
	if kernels := len(kernelFunctions) - 1; count != kernels+len(matrixSources) {
		t.Errorf("%d functions, of which %d are kernels and %d are given", count, kernels, len(matrixSources))
	}
	for _, bad := range []*workerv1.MatrixSpec{
		{Rows: 1}, {Rows: 1, Source: 9}, {Rows: 1, Source: workerv1.MatrixSource_MATRIX_SOURCE_KERNEL},
		{Rows: 1, Source: workerv1.MatrixSource_MATRIX_SOURCE_KERNEL, Function: 77},
	} {
		if got, err := MatrixSpecFromProto(bad, nil, nil); err == nil {
			t.Errorf("%v is read as %v", bad, got.Function)
		}
	}
}
