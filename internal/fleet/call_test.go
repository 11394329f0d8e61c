package fleet

import (
	"strings"
	"testing"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
)

// What a broken worker says becomes part of records and events, which have to fit into a transaction.
func TestLongFailuresAreCut(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	answer := &workerv1.Answer{
		Outcome: &workerv1.Answer_Failure{Failure: &workerv1.Failure{Reason: long, Message: long}}}
	_, err := (&call{}).reply(&session{name: "w"}, answer)
	if failed, is := err.(*failure); !is || len(failed.Error()) > 2000 || len(failed.reported.GetReason()) > 100 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}
