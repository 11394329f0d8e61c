package clustering

import (
	"strconv"

	"github.com/cleave-project/cleave/internal/kernel"
)

// Revision counts the changes of answers: it grows whenever the same job gives other bits than before, or steppers store other
// states. Package kernel has a class of its own for what workers compute. A test refuses to record changed answers without it.
const Revision = 2

// FirstNumericClass is the class of the first release, whose stored jobs do not name it.
const FirstNumericClass = "float32-v2.1"

// NumericClass identifies the bits of all answers of this build. A job is computed in one class from beginning to end.
func NumericClass() string { return kernel.NumericClass + "." + strconv.Itoa(Revision) }
