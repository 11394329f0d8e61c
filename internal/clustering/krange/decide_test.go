package krange

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
)

// scored are the scores of k = 2, 3 ... : stabilities and silhouettes in turns.
func scored(values ...float64) *clustering.KSelection {
	h := &clustering.KSelection{Min: 2, Max: 1 + len(values)/2}
	for at := 0; at < len(values); at += 2 {
		h.Scores = append(h.Scores, clustering.KScore{K: 2 + at/2, Stability: &values[at], Silhouette: &values[at+1]})
	}
	return h
}

func TestDecisions(t *testing.T) {
	for name, c := range map[string]struct {
		h          *clustering.KSelection
		proposed   int
		confidence clustering.Confidence
		plausible  []int
		says       string
	}{
		"the largest that is stable": {scored(0.98, 0.5, 0.96, 0.48, 0.5, 0.4), 3, clustering.Clear, []int{3},
			"larger numbers do not (0.50 at most)"},
		"stable enough": {scored(0.6, 0.3, 0.85, 0.3, 0.5, 0.2), 3, clustering.Likely, []int{3},
			"(stability 0.85)"},
		"far less apart": {scored(1, 0.9, 0.75, 0.5, 0.3, 0.3), 2, clustering.Likely, []int{2},
			"larger numbers are less stable (0.75 at most) and less separated"},
		"stable too": {scored(1, 0.9, 0.85, 0.5, 0.3, 0.3), 2, clustering.Unsure, []int{2, 3},
			"but 3 may fit too"},
		"almost as stable": {scored(0.85, 0.7, 0.6, 0.6, 0.5, 0.5), 2, clustering.Unsure, []int{2, 3},
			"but 3 may fit too"},
		"farther apart if there are more": {scored(0.95, 0.7, 0.4, 0.6, 0.3, 0.8), 2, clustering.Unsure, []int{2, 4},
			"but 4 may fit too"},
		"nearly as far apart": {scored(0.99, 0.7, 0.4, 0.65, 0.3, 0.5), 2, clustering.Likely, []int{2},
			"(stability 0.99)"},
		"a slow fall": {scored(0.97, 0.7, 0.66, 0.6, 0.3, 0.5), 2, clustering.Likely, []int{2},
			"(0.66 at most)"},
		"a smaller one is better apart": {scored(1, 0.7, 0.9, 0.6, 0.3, 0.3), 3, clustering.Unsure, []int{2, 3},
			"but 2 may fit too"},
		"nothing is stable": {scored(0.65, 0.3, 0.6, 0.2, 0.3, 0.3), 2, clustering.Unsure, []int{2, 3},
			"no number of clusters"},
		"less apart than a peak": {scored(1, 0.48, 1, 0.6, 0.89, 0.5), 3, clustering.Unsure, []int{3, 4},
			"but 4 may fit too"},
		"nearly as far as a peak": {scored(1, 0.48, 1, 0.6, 0.91, 0.55, 0.3, 0.2), 4, clustering.Likely, []int{4},
			"(stability 0.91)"},
		"less apart than the first": {scored(1, 0.6, 0.89, 0.5, 0.3, 0.2), 3, clustering.Unsure, []int{2, 3},
			"but 2 may fit too"},
		"the last of the range": {scored(0.3, 0.3, 0.4, 0.2, 0.97, 0.6), 4, clustering.Likely, []int{4},
			"the largest number in the range"},
	} {
		decide(c.h, 0, "half of the data")
		if c.h.Proposed != c.proposed || c.h.Confidence != c.confidence || !slices.Equal(c.h.Plausible, c.plausible) ||
			!strings.Contains(c.h.Reason, c.says) {
			t.Errorf("%s: %d, %v, %v: %s", name, c.h.Proposed, c.h.Confidence, c.h.Plausible, c.h.Reason)
		}
	}
}

// A stability that was not measured is not reported as a stability of 0.
func TestUnknownStability(t *testing.T) {
	h := scored(0, 0.3, 0, 0.2)
	h.Scores[0].Stability, h.Scores[1].Stability = nil, nil
	decide(h, 0, "half of the data")
	if h.Proposed != 2 || h.Confidence != clustering.Unsure || !slices.Equal(h.Plausible, []int{2, 3}) ||
		h.Reason != "it is unknown how stable the clusters are, because half of the data could not be clustered" {
		t.Errorf("%d, %v, %v: %s", h.Proposed, h.Confidence, h.Plausible, h.Reason)
	}
}

// Silhouettes of different spaces are not compared.
func TestSilhouettesOfDifferentSpaces(t *testing.T) {
	h := scored(0.85, 1, 0.95, 0.3, 0.2, 0.2)
	h.Scores[0].Space, h.Scores[1].Space = clustering.SpaceNeighbors, clustering.SpaceRows
	if decide(h, 0, "half of the data"); h.Proposed != 3 || h.Confidence != clustering.Clear {
		t.Errorf("%d, %v: %s", h.Proposed, h.Confidence, h.Reason)
	}
}

func TestDecisionsByConstraints(t *testing.T) {
	for name, c := range map[string]struct {
		agreements []float64
		pairs      int
		proposed   int
		confidence clustering.Confidence
		plausible  []int
	}{
		"one is best":        {[]float64{0.5, 0.95, 0.8}, 200, 3, clustering.Clear, []int{3}},
		"few constraints":    {[]float64{0.5, 0.9, 0.8}, 50, 3, clustering.Unsure, []int{3, 4}},
		"little is known":    {[]float64{0.1, 0.3, 0.1}, 2000, 3, clustering.Likely, []int{3}},
		"of equals the less": {[]float64{1, 1, 0.5}, 100, 2, clustering.Unsure, []int{2, 3}},
	} {
		h := &clustering.KSelection{Min: 2, Max: 4}
		for at := range c.agreements {
			h.Scores = append(h.Scores, clustering.KScore{K: 2 + at, Agreement: &c.agreements[at]})
		}
		decide(h, c.pairs, "half of the data")
		if h.Proposed != c.proposed || h.Confidence != c.confidence || !slices.Equal(h.Plausible, c.plausible) {
			t.Errorf("%s: %d, %v, %v: %s", name, h.Proposed, h.Confidence, h.Plausible, h.Reason)
		}
	}
}
