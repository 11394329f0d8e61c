package wire

import (
	"testing"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/kernel"
)

// A report has the parameters of its function and no others.
func TestKernelReports(t *testing.T) {
	width, gamma, coef0, degree := proto.Float64(0.5), proto.Float64(2), proto.Float64(0), proto.Uint32(3)
	for function, want := range map[kernel.Function]*cleavev1.KernelReport{
		kernel.Linear:     {Function: cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR},
		kernel.Gaussian:   {Function: cleavev1.KernelFunction_KERNEL_FUNCTION_GAUSSIAN, Rho: width},
		kernel.Laplacian:  {Function: cleavev1.KernelFunction_KERNEL_FUNCTION_LAPLACIAN, Rho: width},
		kernel.Polynomial: {Function: cleavev1.KernelFunction_KERNEL_FUNCTION_POLYNOMIAL, Gamma: gamma, Coef0: coef0, Degree: degree},
		kernel.Sigmoid:    {Function: cleavev1.KernelFunction_KERNEL_FUNCTION_SIGMOID, Gamma: gamma, Coef0: coef0},
		kernel.Cosine:     {Function: cleavev1.KernelFunction_KERNEL_FUNCTION_COSINE},
		kernel.Given:      nil,
		kernel.Adjacency:  nil,
		0:                 nil, // the vector family has no matrix
	} {
		if got := kernelReport(kernel.MatrixSpec{Function: function, Rho: 0.5, Gamma: 2, Degree: 3}); !proto.Equal(got, want) {
			t.Errorf("function %d is reported as %v, want %v", function, got, want)
		}
	}
}

// Every reason to stop has its value in the API.
func TestStopReasons(t *testing.T) {
	for r := clustering.StopConverged; r <= clustering.StopMaxProducts; r++ {
		if got := StopReasonProto(r); got.String() != "STOP_REASON_"+r.String() {
			t.Errorf("%v becomes %v", r, got)
		}
	}
	if last := len(cleavev1.StopReason_name) - 1; last != int(clustering.StopMaxProducts) {
		t.Errorf("the API has %d reasons", last)
	}
}
