package krange

import (
	"reflect"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/constraint"
)

// A part has what the spec and its options say about its own rows. A part of a graph has all of it.
func TestSpecsOfParts(t *testing.T) {
	spec := clustering.Spec{
		K: 2, Restarts: 9,
		Supervision: clustering.Supervision{
			Constraints: []constraint.Constraint{
				{I: 0, J: 1, Kind: constraint.MustLink}, {I: 1, J: 3, Kind: constraint.CannotLink},
			},
			Seeds: []constraint.Seed{{Index: 3, Label: 1}, {Index: 2, Label: 0}},
		},
	}
	beliefs := []constraint.Belief{{I: 0, J: 1, Value: 1}, {I: 3, J: 1, Value: -1}}
	for _, c := range []struct{ whole, all, some clustering.Algorithm }{
		{&kmeans.Options{MaxRestarts: 3}, &kmeans.Options{MaxRestarts: 3}, &kmeans.Options{MaxRestarts: 3}},
		{&auto.Options{Folds: 4}, &auto.Options{Folds: 4, Brief: true}, &auto.Options{Folds: 4, Brief: true}},
		{
			&kernelkmeans.Options{Rho: 1, Weights: []float64{1, 2, 3, 4}, Landmarks: 3},
			&kernelkmeans.Options{Rho: 1, Weights: []float64{1, 2, 3, 4}, Landmarks: 3},
			&kernelkmeans.Options{Rho: 1, Weights: []float64{2, 4}, Landmarks: 2},
		},
		{
			&spectral.Options{Rho: 1, Beliefs: beliefs},
			&spectral.Options{Rho: 1, Beliefs: beliefs},
			&spectral.Options{Rho: 1, Beliefs: []constraint.Belief{{I: 1, J: 0, Value: -1}}},
		},
	} {
		spec.Algorithm = c.whole
		want := spec
		want.Restarts, want.Algorithm = partRestarts, c.all
		if got := (part{}).spec(spec, 4); !reflect.DeepEqual(got, want) {
			t.Errorf("all rows: %+v of %+v, want %+v of %+v", got, got.Algorithm, want, want.Algorithm)
		}
		want.Algorithm = c.some
		want.Supervision.Constraints = []constraint.Constraint{{I: 0, J: 1, Kind: constraint.CannotLink}}
		want.Supervision.Seeds = []constraint.Seed{{Index: 1, Label: 1}}
		if got := (part{rows: []int32{1, 3}}).spec(spec, 4); !reflect.DeepEqual(got, want) {
			t.Errorf("some rows: %+v of %+v, want %+v of %+v", got, got.Algorithm, want, want.Algorithm)
		}
	}
}
