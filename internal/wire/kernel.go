package wire

import (
	"math"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
)

// checkKernel refuses an unknown function, and the zeros that would pass for a default: in the domain a
// width or a degree of zero means that none was given.
func checkKernel(k *cleavev1.Kernel, field string) error {
	if err := known(k.GetFunction(), cleavev1.KernelFunction_name, field+"function"); err != nil || k == nil {
		return err
	}
	switch {
	case k.Rho != nil && !(k.GetRho() > 0 && !math.IsInf(k.GetRho(), 0)):
		return fault.Invalid("BAD_RHO", "the kernel width rho is %v; it must be positive and finite, or absent for auto", k.GetRho()).
			OnField(field + "rho")
	case k.Degree != nil && k.GetDegree() == 0:
		return fault.Invalid("BAD_DEGREE", "the polynomial degree is 0; it must be at least 1").OnField(field + "degree")
	}
	return nil
}

func kernelProto(function kernel.Function, rho float64, gamma, coef0 *float64, degree int) *cleavev1.Kernel {
	p := &cleavev1.Kernel{Function: cleavev1.KernelFunction(function), Gamma: gamma, Coef0: coef0}
	if rho != 0 {
		p.Rho = &rho
	}
	if degree != 0 {
		d := uint32(degree)
		p.Degree = &d
	}
	return p
}
