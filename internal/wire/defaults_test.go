package wire

import (
	"testing"

	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// What is left open takes the defaults, unless the job asks for those of the paper; what is given stays as it is.
func TestDefaults(t *testing.T) {
	type settings struct {
		choose, entail, entailSmall bool
		runs                        int
	}
	for text, want := range map[string]settings{
		`{"kernelKmeans": {}}`:                                                    {true, false, true, 10},
		`{"pcKmeans": {}}`:                                                        {true, false, true, 10},
		`{"pcKmeans": {}, "restarts": 3}`:                                         {true, false, true, 3},
		`{"pcKmeans": {}, "supervision": {"entail": true}}`:                       {true, true, false, 10},
		`{"pcKmeans": {}, "supervision": {"entail": false}}`:                      {true, false, false, 10},
		`{"pcKmeans": {}, "paperSettings": true}`:                                 {false, false, false, 1},
		`{"kernelKmeans": {}, "paperSettings": true, "restarts": 4}`:              {false, false, false, 4},
		`{"mKmeans": {}, "paperSettings": true, "supervision": {"entail": true}}`: {false, true, false, 1},
	} {
		spec, err := Spec(parse(t, text), &recipe.Rows{Count: 6}, NoTables)
		if got := (settings{
			spec.Choose, spec.Supervision.Entail, spec.Supervision.EntailSmall, spec.Runs(),
		}); err != nil || got != want {
			t.Errorf("%s: got %+v, want %+v, %v", text, got, want, err)
		}
	}
	for text, want := range map[string]metric.PenaltyKind{
		`{"mpcKmeans": {}}`: metric.Bilenko2004,
		`{"mpcKmeans": {"penalty": "PENALTY_BASU2003"}}`: metric.Basu2003,
		`{"mpcKmeans": {}, "paperSettings": true}`:       0, // which is the paper's
		`{"pcKmeans": {}}`:                               0,
	} {
		spec, err := Spec(parse(t, text), &recipe.Rows{Count: 6}, NoTables)
		if got := spec.Algorithm.(*kmeans.Options).Penalty; err != nil || got != want {
			t.Errorf("%s: the penalty is %v, want %v, %v", text, got, want, err)
		}
	}
	for text, want := range map[string]kernelkmeans.Options{
		`{"kernelKmeans": {}}`:                              {OnRise: kernelkmeans.RiseIgnore, KeepBest: true},
		`{"kernelKmeans": {"onRise": "RISE_POLICY_SHIFT"}}`: {OnRise: kernelkmeans.RiseShift, KeepBest: true},
		`{"kernelKmeans": {}, "paperSettings": true}`:       {OnRise: kernelkmeans.RiseShift},
	} {
		spec, err := Spec(parse(t, text), &recipe.Rows{Count: 6}, NoTables)
		got := spec.Algorithm.(*kernelkmeans.Options)
		if err != nil || got.OnRise != want.OnRise || got.KeepBest != want.KeepBest {
			t.Errorf("%s: got %v, %t, want %v, %t, %v", text, got.OnRise, got.KeepBest, want.OnRise, want.KeepBest, err)
		}
	}
}
