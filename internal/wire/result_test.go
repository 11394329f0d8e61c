package wire

import (
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// Everything that a run finds is reported, but for the fields that others add.
func TestResultHasEveryField(t *testing.T) {
	added := []protoreflect.Name{"state", "dropped_rows", "evaluation", "plan", "timings", "version", "origin",
		"recipe", "solver_steps"}
	r := &clustering.Result{}
	setEveryField(reflect.ValueOf(r).Elem())
	r.Kernel.Matrix.Function = kernel.Gaussian
	r.Model.Metric = metric.NewIdentity(1)
	r.NeighborGraph.Graph = &dataset.Graph{}
	m := ResultProto(r).ProtoReflect()
	for at := range m.Descriptor().Fields().Len() {
		field := m.Descriptor().Fields().Get(at)
		if m.Has(field) == slices.Contains(added, field.Name()) {
			t.Errorf("%s is set: %t", field.Name(), m.Has(field))
		}
	}
}

// setEveryField sets the fields of a struct, and those of the structs within it, to something that is not zero.
func setEveryField(fields reflect.Value) {
	for at := range fields.NumField() {
		switch field := fields.Field(at); field.Kind() {
		case reflect.Struct:
			setEveryField(field)
		case reflect.Int:
			field.SetInt(1)
		case reflect.Uint8:
			field.SetUint(1)
		case reflect.Float64:
			field.SetFloat(1)
		case reflect.String:
			field.SetString("given")
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		}
	}
}

// A report has the parameters of its function and no others.
func TestKernelReports(t *testing.T) {
	width := proto.Float64(0.5)
	gamma := proto.Float64(2)
	coef0 := proto.Float64(0)
	degree := proto.Uint32(3)
	for function, want := range map[kernel.Function]*cleavev1.KernelReport{
		kernel.Linear:    {Function: cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR},
		kernel.Gaussian:  {Function: cleavev1.KernelFunction_KERNEL_FUNCTION_GAUSSIAN, Rho: width},
		kernel.Laplacian: {Function: cleavev1.KernelFunction_KERNEL_FUNCTION_LAPLACIAN, Rho: width},
		kernel.Polynomial: {Function: cleavev1.KernelFunction_KERNEL_FUNCTION_POLYNOMIAL, Gamma: gamma, Coef0: coef0,
			Degree: degree},
		kernel.Sigmoid:   {Function: cleavev1.KernelFunction_KERNEL_FUNCTION_SIGMOID, Gamma: gamma, Coef0: coef0},
		kernel.Cosine:    {Function: cleavev1.KernelFunction_KERNEL_FUNCTION_COSINE},
		kernel.Given:     nil,
		kernel.Adjacency: nil,
		0:                nil, // the k-means family has no matrix
	} {
		if got := kernelReport(kernel.MatrixSpec{Function: function, Rho: 0.5, Gamma: 2, Degree: 3}); !proto.Equal(got,
			want) {
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
	// The time limit is the coordinator's.
	if last := len(cleavev1.StopReason_name) - 2; last != int(clustering.StopMaxProducts) {
		t.Errorf("the API has %d reasons", last)
	}
}
