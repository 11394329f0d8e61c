package attempts

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The attempts are those of a list of runs, from which those that did not crash are removed.
func TestAttemptsAreAListOfRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const unknown = 0 // the term of runs by earlier versions
		var a Attempts
		var runs []int64
		if a.Count = rapid.IntRange(0, Max).Draw(t, "runs of earlier versions"); a.Count > 0 {
			runs = make([]int64, a.Count)
		}
		begun, deepest := a.Events, a.Steps
		term := rapid.Int64Range(1, 4)
		number := rapid.Uint64Range(0, 5)
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				events, in := number.Draw(t, "events"), term.Draw(t, "term")
				a.Begin(events, in)
				runs, begun = append(runs, in), events
			},
			"take back": func(t *rapid.T) {
				if len(runs) == 0 || runs[len(runs)-1] == unknown {
					t.Skip("no run is in progress")
				}
				a.TakeBack()
				runs = runs[:len(runs)-1]
			},
			"forget": func(*rapid.T) {
				a.Forget()
				runs, begun, deepest = nil, 0, 0
			},
			"reach": func(t *rapid.T) {
				events := number.Draw(t, "events")
				a.Reached(events)
				if events > begun {
					runs = nil
				}
			},
			"resume": func(t *rapid.T) {
				if len(runs) == 0 {
					t.Skip("no run is in progress")
				}
				steps, in := number.Draw(t, "steps"), runs[len(runs)-1]
				if later := steps > deepest; a.Resumed(steps, in) != later {
					t.Fatalf("a snapshot of %d steps after one of %d", steps, deepest)
				} else if later {
					runs, deepest = []int64{in}, steps
				}
			},
			"forgive": func(t *rapid.T) {
				outlived := rapid.SliceOfN(term, 0, 3).Draw(t, "outlived")
				a.Forgive(outlived)
				runs = slices.DeleteFunc(runs, func(in int64) bool { return slices.Contains(outlived, in) })
			},
			"": func(t *rapid.T) {
				if a.Count != len(runs) || a.Spent() != (len(runs) >= Max) || a.LastIsNext() != (len(runs) == Max-1) {
					t.Fatalf("%+v, but the runs are %v", a, runs)
				}
			},
		})
	})
}
