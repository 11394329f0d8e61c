package fault_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
)

// An error may be stored and given out twice. What one caller adds is not in the error of the other.
func TestChangesAreCopies(t *testing.T) {
	cause := errors.New("the disk")
	stored := func() *fault.Error {
		return &fault.Error{Kind: fault.Unavailable, Reason: "BUSY", Message: "busy", Field: "spec.k",
			Metadata: map[string]string{"row": "3"}, Retry: time.Second, Cause: cause}
	}
	given := stored()
	first := given.With("row", "4").With("job_id", "j").OnField("spec.rho").RetryIn(time.Minute).Because(nil)
	if want := stored(); !reflect.DeepEqual(given, want) {
		t.Errorf("the stored error became %+v, want %+v", given, want)
	}
	want := &fault.Error{Kind: fault.Unavailable, Reason: "BUSY", Message: "busy", Field: "spec.rho",
		Metadata: map[string]string{"row": "4", "job_id": "j"}, Retry: time.Minute}
	if !reflect.DeepEqual(first, want) {
		t.Errorf("the changed error is %+v, want %+v", first, want)
	}
}
