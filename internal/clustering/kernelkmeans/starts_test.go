package kernelkmeans

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// The recording has the starts of every problem, by all that they depend on: the data, whether choices are left open,
// constraints, seeds, the start that is named, and the number of restarts that is asked for.
func TestStartsAreAsRecorded(t *testing.T) {
	var situations, plans []string
	for _, data := range []string{"points", "many points", "a graph"} {
		for at := range 1 << 3 {
			chosen := at&4 != 0
			linked := at&2 != 0
			seeded := at&1 != 0
			situations = append(situations, clusteringtest.Words(data, "choices open", chosen, "constraints", linked,
				"seeds", seeded))
			plans = append(plans, recordedStarts(t, data, chosen, linked, seeded))
		}
	}
	const legend = "Situations with the same plans, then named starts with the same plans, then the starts of the " +
		"restarts if 0 (not\n" +
		"given), 1, 2 or 3 are asked for; after \"free\" those of the runs without constraints. * is the named start.\n"
	clusteringtest.WantRecording(t, "testdata/starts.txt", legend+clusteringtest.Groups("\n", situations, plans))
}

// recordedStarts returns the plans for every start, a line for starts with the same plans.
func recordedStarts(t *testing.T, data string, chosen, linked, seeded bool) string {
	t.Helper()
	var names, plans []string
	for _, start := range []clustering.Start{
		clustering.StartDefault, clustering.StartFarthestFirst, clustering.StartRandom, clustering.StartKmeansPlusPlus,
		clustering.StartLabels, clustering.StartSeeds, clustering.StartSpectral, clustering.StartMultilevel,
	} {
		p := plannedProblem(t, data, linked)
		p.spec.Choose, p.spec.Initialization.Start = chosen, start
		if seeded {
			p.spec.Supervision.Seeds = []constraint.Seed{{Index: 0, Label: 0}}
		}
		plan := ""
		for restarts := range 4 {
			p.spec.Restarts = restarts
			plan += "\n  " + shownPlan(p)
		}
		name := start.String()
		if start == clustering.StartDefault {
			name = "not named"
		}
		names = append(names, name)
		plans = append(plans, plan)
	}
	return clusteringtest.Groups(", ", names, plans) + "\n"
}

// plannedProblem returns a problem with only what a plan depends on.
func plannedProblem(t *testing.T, data string, linked bool) *Problem {
	t.Helper()
	p := &Problem{n: 30, spec: clustering.Spec{K: 3, MaxIterations: 100}}
	switch data {
	case "many points":
		p.spec.K = maxSpectralStart
	case "a graph":
		p.graph = &dataset.Graph{N: p.n}
	}
	var links []constraint.Constraint
	if linked {
		links = append(links, clusteringtest.MustLink(0, 1))
	}
	set, err := constraint.NewSet(p.n, links, constraint.UnitWeight)
	if err != nil {
		t.Fatal(err)
	}
	p.Constraints = set
	return p
}

// shownPlan plans the starts and returns them in words.
func shownPlan(p *Problem) string {
	p.plan = p.planStarts()
	shown := shownStarts(p, p.plan.Starts)
	if p.Restarts() != len(p.plan.Starts) {
		shown += " DIFFERENT"
	}
	if p.Runs() > p.Restarts() {
		shown += "; free " + shownStarts(p, p.plan.Unconstrained)
	}
	if p.startOpen() {
		shown += "; open"
	}
	if p.StartsSpectral() {
		shown += "; eigenvectors"
	}
	if p.StartsMultilevel() {
		shown += "; levels"
	}
	return shown
}

func shownStarts(p *Problem, starts []clustering.Start) string {
	var words []string
	for _, s := range starts {
		word := s.String()
		if s == p.spec.Initialization.Start {
			word = "*"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
