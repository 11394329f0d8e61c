package clustering

import (
	"strconv"

	"github.com/cleave-project/cleave/internal/kernel"
)

// Revision must be incremented whenever a job gives different bits than before, or steppers save their state in
// another form. A test refuses to record changed answers otherwise. What workers compute has its own version,
// kernel.NumericClass.
const Revision = 9

// FirstNumericClass is the class of the first release, whose stored jobs do not name it.
const FirstNumericClass = "float32-v2.1"

// NumericClass identifies the bits of all answers of this build. A job is computed in one class from beginning to end.
func NumericClass() string { return kernel.NumericClass + "." + strconv.Itoa(Revision) }
