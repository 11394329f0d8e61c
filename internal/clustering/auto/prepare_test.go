package auto

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// A graph whose degrees overflow used to have an answer with an objective of NaN.
func TestWeightsThatOverflowAreRefused(t *testing.T) {
	for _, test := range []struct {
		weight  float64
		refused bool
	}{{1e307, false}, {1e308, true}} {
		g, err := dataset.NewGraph(3, []dataset.Edge{{Source: 0, Target: 1, Weight: test.weight}, {Source: 1, Target: 2, Weight: test.weight}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Prepare(g, clustering.Spec{K: 2, Algorithm: &Options{}})
		if !test.refused {
			if err != nil {
				t.Errorf("weight %g: %v", test.weight, err)
			}
			continue
		}
		var invalid *fault.Error
		if invalid, _ = err.(*fault.Error); invalid == nil || invalid.Reason != "BAD_WEIGHT" || !strings.Contains(invalid.Error(), "divide all of them") {
			t.Errorf("weight %g: %v", test.weight, err)
		}
	}
}
