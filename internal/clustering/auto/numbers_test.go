package auto

import (
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/clustering/model"
)

func TestNumbersBySeeds(t *testing.T) {
	labels := []int32{0, 0, 0, 1, 1, 2, 3, 3}
	for name, c := range map[string]struct {
		seeds []heldout.Seed
		want  []int32
	}{
		"none": {nil, []int32{0, 1, 2, 3}},
		"one":  {[]heldout.Seed{{Point: 0, Label: 2}}, []int32{2, 0, 1, 3}},
		"all": {[]heldout.Seed{{Point: 0, Label: 3}, {Point: 3, Label: 2}, {Point: 5, Label: 1},
			{Point: 6, Label: 0}}, []int32{3, 2, 1, 0}},
		"two labels in a cluster": {[]heldout.Seed{{Point: 0, Label: 1}, {Point: 1, Label: 2}, {Point: 2, Label: 2}},
			[]int32{2, 0, 1, 3}},
		"one label in two clusters": {[]heldout.Seed{{Point: 0, Label: 1}, {Point: 3, Label: 1}, {Point: 4, Label: 1}},
			[]int32{0, 1, 2, 3}},
		"equally many": {[]heldout.Seed{{Point: 6, Label: 1}, {Point: 0, Label: 1}}, []int32{1, 0, 2, 3}},
	} {
		if got := numbersBySeeds(4, labels, c.seeds); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestRenumber(t *testing.T) {
	before := clustering.Result{Labels: []int32{0, 1, 2, 1},
		Model: &model.Model{K: 3, D: 2, Centroids: []float64{0, 0.5, 1, 1.5, 2, 2.5}}}
	after := before
	renumber(&after, []int32{2, 0, 1})
	if !slices.Equal(after.Labels, []int32{2, 0, 1, 0}) ||
		!slices.Equal(after.Model.Centroids, []float64{1, 1.5, 2, 2.5, 0, 0.5}) {
		t.Errorf("%v, %v", after.Labels, after.Model.Centroids)
	}
	if !slices.Equal(before.Labels, []int32{0, 1, 2, 1}) || before.Model.Centroids[0] != 0 {
		t.Errorf("the answer of the space has changed: %v", before)
	}
}
