package fleet

import (
	"testing"

	"google.golang.org/protobuf/proto"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
)

// A reference to what was freed stays as it is.
func TestHashesOfMissingPayloads(t *testing.T) {
	m := &workerv1.Payload{Where: &workerv1.Payload_Reference{Reference: "freed"}}
	before := proto.CloneOf(m)
	if inlineHashes(m.ProtoReflect(), nil); !proto.Equal(m, before) {
		t.Errorf("%v became %v", before, m)
	}
}
