package clustering

import (
	"strconv"

	"github.com/cleave-project/cleave/internal/kernel"
)

// Revision must be incremented whenever a job gives different bits than before, or steppers save their state in
// another form. A test refuses to record changed answers otherwise. What workers compute has its own version,
// kernel.NumericClass.
const Revision = 10

// NumericClass identifies the bits of the answers that a coordinator of this build computes. A job is computed in one
// class from beginning to end.
//
// It names the architecture, because the compiler may round a product and a sum in one step for some, and gonum has
// assembly for others. So coordinators of two architectures differ in the last bits of dense linear algebra. Workers
// do not compute any, and those of all architectures share a class, kernel.NumericClass.
func NumericClass() string {
	return kernel.NumericClass + "." + strconv.Itoa(Revision) + "." + architecture
}
