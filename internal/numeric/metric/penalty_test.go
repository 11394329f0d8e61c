package metric

import (
	"testing"
)

func TestPenalty(t *testing.T) {
	const w, bound = 2, 10
	for _, c := range []struct {
		penalty  PenaltyKind
		must     bool
		distance float64
		want     float64
	}{
		{Potts, true, 3, 2}, {Potts, false, 3, 2},
		{Basu2003, true, 3, 14}, {Basu2003, true, 10, 0}, {Basu2003, true, 12, 0}, // Basu2003 (4), at its floor
		{Basu2003, false, 3, 6}, {Basu2003, false, 10, 20}, {Basu2003, false, 12, 20}, // and at its cap
		{Bilenko2004, true, 3, 6}, {Bilenko2004, true, 12, 24}, // Bilenko2004 (3)
		{Bilenko2004, false, 3, 14}, {Bilenko2004, false, 10, 0}, {Bilenko2004, false, 10.5, 0}, // and (4)
	} {
		if got := Penalty(c.penalty, c.must, w, c.distance, bound); got != c.want {
			t.Errorf("%s, must %v, distance %g: %g, want %g", c.penalty, c.must, c.distance, got, c.want)
		}
	}
}

func TestBounds(t *testing.T) {
	pair := func(mustLink bool, x, y float64) Link {
		return Link{MustLink: mustLink, Weight: 1, X: []float64{x, 1}, Y: []float64{y, 1}}
	}
	nearMust := pair(true, 0, 1)
	must := pair(true, 0, 3)
	farCannot := pair(false, 0, 5)
	weights, err := NewDiagonal([]float64{2, 1})
	if err != nil {
		t.Fatal(err)
	}
	euclid := Measure{SquaredEuclidean, weights}
	ranges := []float64{7, 3}
	positive := []Link{pair(true, 1, 2), pair(false, 1, 9)}
	kl := Measure{Distortion: KL}
	for name, c := range map[string]struct {
		measure Measure
		penalty PenaltyKind
		links   []Link
		want    float64
	}{
		"potts has none":                     {euclid, Potts, []Link{must}, 0},
		"a_max over two must-links":          {euclid, Basu2003, []Link{nearMust, must, farCannot}, 18},
		"a_max over all with one must-link":  {euclid, Basu2003, []Link{must, farCannot}, 50},
		"a_max over all with no must-link":   {euclid, Basu2003, []Link{farCannot}, 50},
		"a_max without links":                {euclid, Basu2003, nil, 0},
		"phi_max from the ranges":            {euclid, Bilenko2004, []Link{must}, 2*49 + 9},
		"phi_max of cosines":                 {Measure{Distortion: Cosine}, Bilenko2004, nil, 2},
		"phi_max of divergences, over links": {kl, Bilenko2004, positive, kl.Between([]float64{1, 1}, []float64{9, 1})},
	} {
		if got := c.measure.Bound(c.penalty, c.links, ranges); got != c.want {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
}

// Only violated links cost anything, each once, and they are summed by their kind.
func TestPenaltiesAreSummedByKind(t *testing.T) {
	link := func(mustLink bool, weight float64, violated bool) Link {
		return Link{MustLink: mustLink, Weight: weight, X: []float64{0}, Y: []float64{2}, Violated: violated}
	}
	links := []Link{
		link(true, 1, true), link(true, 10, false),
		link(false, 2, true), link(false, 3, true), link(false, 30, false),
	}
	must, cannot := Measure{SquaredEuclidean, NewIdentity(1)}.Penalties(Bilenko2004, links, 9)
	if must != 4 || cannot != 25 {
		t.Errorf("must %g, cannot %g", must, cannot)
	}
	if total := (Parts{Distortion: 100, LogDet: 7, MustLink: must, CannotLink: cannot}).Total(); total != 122 {
		t.Errorf("J is %g", total)
	}
}
