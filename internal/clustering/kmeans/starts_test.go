package kmeans

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// The recording has the starts of every problem, by all that they depend on: the algorithm, whether choices are left
// open, constraints, a race or a sample, the start that is named, seeds, and the number of restarts that is asked for.
func TestStartsAreAsRecorded(t *testing.T) {
	var situations, plans []string
	for a := Kmeans; a <= HMRFKmeans; a++ {
		for at := range 1 << 4 {
			chosen := at&8 != 0
			linked := at&4 != 0
			race := at&2 != 0
			sampled := at&1 != 0
			p := plannedProblem(t, a, linked, race, sampled)
			p.spec.Choose = chosen
			situation := clusteringtest.Words(a.String(), "choices open", chosen, "constraints", linked, "many rows",
				race, "from a sample", sampled)
			for seeded, seeds := range []string{"", ", seeds of some clusters", ", seeds of all clusters"} {
				p.spec.Supervision.Seeds = []constraint.Seed{{Index: 0, Label: 0}, {Index: 1, Label: 1}}[:seeded]
				situations = append(situations, situation+seeds)
				plans = append(plans, recordedStarts(p))
			}
		}
	}
	const legend = "Situations with the same plans, then named starts with the same plans, then the starts of the " +
		"restarts if 0 (not\n" +
		"given), 1, 2 or 3 are asked for; after \"free\" the number of runs without constraints. * is the named " +
		"start.\n"
	clusteringtest.WantRecording(t, "testdata/starts.txt", legend+clusteringtest.Groups("\n", situations, plans))
}

// recordedStarts returns the plans for every start, a line for starts with the same plans.
func recordedStarts(p *Problem) string {
	var names, plans []string
	for start := clustering.StartDefault; start <= clustering.StartCentroids; start++ {
		p.spec.Initialization.Start = start
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
func plannedProblem(t *testing.T, a Algorithm, linked, race, sampled bool) *Problem {
	t.Helper()
	p := &Problem{n: 30, d: 1, data: &dataset.Points{}, Vectors: &vector.RowSpec{}, spec: clustering.Spec{K: 2,
		MaxIterations: 100}}
	p.options = Options{Algorithm: a, Race: true, FromSample: sampled}.withDefaults()
	if race {
		p.n = raceShare * raceRows
	}
	var links []constraint.Constraint
	if linked {
		links = append(links, clusteringtest.MustLink(0, 1))
	}
	set, err := constraint.NewSet(30, links, constraint.UnitWeight)
	if err != nil {
		t.Fatal(err)
	}
	p.Constraints = set
	return p
}

// shownPlan plans the starts and returns them in words.
func shownPlan(p *Problem) string {
	p.raceRows = p.planRace()
	p.plan = p.planStarts(p.options.FromSample || p.raceRows > 0)
	var words []string
	for _, s := range p.plan.Starts {
		word := s.String()
		if s == p.spec.Initialization.Start {
			word = "*"
		}
		words = append(words, word)
	}
	shown := strings.Join(words, " ")
	if p.Restarts() != len(words) {
		shown += " DIFFERENT"
	}
	if free := p.Runs() - p.Restarts(); free > 0 {
		shown += "; free " + strings.Repeat("I", free)
	}
	if p.RaceRows() > 0 {
		shown += "; race"
	}
	return shown
}
