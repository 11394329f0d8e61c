package jobs

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
)

// The attempts are those of a list of runs, from which those that did not crash are removed.
func TestAttemptsAreAListOfRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &statev1.JobRecord{}
		var runs []int64
		begun, deepest := uint32(0), uint64(0)
		term := rapid.Int64Range(1, 4)
		number := rapid.Uint32Range(0, 5)
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				events := number.Draw(t, "events")
				in := term.Draw(t, "term")
				beginAttempt(r, events, in)
				runs = append(runs, in)
				begun = events
			},
			"take back": func(t *rapid.T) {
				if len(runs) == 0 {
					t.Skip("no run is in progress")
				}
				takeBackAttempt(r)
				runs = runs[:len(runs)-1]
			},
			"forget": func(*rapid.T) {
				forgetAttempts(r)
				runs, begun, deepest = nil, 0, 0
			},
			"reach": func(t *rapid.T) {
				events := number.Draw(t, "events")
				attemptReached(r, events)
				if events > begun {
					runs = nil
				}
			},
			"resume": func(t *rapid.T) {
				if len(runs) == 0 {
					t.Skip("no run is in progress")
				}
				steps := uint64(number.Draw(t, "steps"))
				in := runs[len(runs)-1]
				if later := steps > deepest; attemptResumed(r, steps, in) != later {
					t.Fatalf("a snapshot of %d steps after one of %d", steps, deepest)
				} else if later {
					runs = []int64{in}
					deepest = steps
				}
			},
			"start over": func(*rapid.T) {
				countStartOver(r)
				deepest = 0
			},
			"forgive": func(t *rapid.T) {
				outlived := rapid.SliceOfN(term, 0, 3).Draw(t, "outlived")
				forgiveAttempts(r, outlived)
				runs = slices.DeleteFunc(runs, func(in int64) bool { return slices.Contains(outlived, in) })
			},
			"": func(t *rapid.T) {
				if !slices.Equal(r.AttemptTerms, runs) || attemptsSpent(r) != (len(runs) >= MaxAttempts) ||
					lastAttemptIsNext(r) != (len(runs) == MaxAttempts-1) {
					t.Fatalf("%v, but the runs are %v", r, runs)
				}
			},
		})
	})
}
