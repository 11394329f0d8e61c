package recipe

import (
	"context"
	"errors"
	"testing"
)

// A job that is canceled while its table is prepared ends: recipes are neither fitted nor applied when their context
// has ended.
func TestFitAndApplyEndWithTheirContext(t *testing.T) {
	of := made(t, numbers("x", 1, 5, 2), words("city", "Paris", "Rome", "Paris"))
	r, _, err := Fit(t.Context(), of, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Fit(ended, of, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Fit returned %v", err)
	}
	if _, err := r.Apply(ended, of); !errors.Is(err, context.Canceled) {
		t.Errorf("Apply returned %v", err)
	}
}
