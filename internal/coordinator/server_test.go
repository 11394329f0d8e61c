package coordinator_test

import (
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// Whoever adds a method says who may call it.
func TestEveryMethodHasARule(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	served := map[string]bool{}
	for service, info := range h.Coordinator.Server().GetServiceInfo() {
		for _, method := range info.Methods {
			name := "/" + service + "/" + method.Name
			served[name] = true
			if !slices.Contains(gate.Methods(), name) {
				t.Errorf("%s has no line in the table of methods: who may call it?", name)
			}
		}
	}
	for _, name := range gate.Methods() {
		if !served[name] {
			t.Errorf("the table of methods has %s, which is not served", name)
		}
	}
}
