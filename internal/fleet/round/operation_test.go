package round_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/fleet/round"
)

// What follows from each problem, and from the same one again and again.
func TestVerdicts(t *testing.T) {
	for problem, c := range map[round.Problem]struct {
		first   round.Verdict
		times   int // how often that follows; 0 for always
		finally round.Verdict
	}{
		round.NoProblem: {first: round.Continue},
		round.Overtaken: {first: round.Continue},
		round.Lost:      {first: round.Continue},
		round.Joined:    {first: round.MoveUnbuilt},
		round.Wrong:     {first: round.ExcludeWrong},
		round.Stalled:   {first: round.Exclude},
		round.Invalid:   {first: round.Confirm},
		round.NotReady:  {round.PrepareAgain, 10, round.Exclude},
		round.NoMemory:  {round.Relieve, 10, round.Exclude},
		round.Internal:  {round.Distrust, 2, round.Exclude},
		round.Fatal:     {first: round.End},
	} {
		o := round.NewOperation([]int{0})
		for time := 1; time <= 12; time++ {
			want := c.first
			if c.times > 0 && time > c.times {
				want = c.finally
			}
			if got := o.Judge("a", problem); got != want {
				t.Errorf("problem %d, time %d: verdict %d, want %d", problem, time, got, want)
			}
		}
	}
}

// Problems are counted for each worker and kind, and in each operation.
func TestProblemsAreCountedSeparately(t *testing.T) {
	o := round.NewOperation([]int{0})
	for range 2 {
		o.Judge("a", round.Internal)
	}
	if o.Judge("b", round.Internal) != round.Distrust || o.Judge("a", round.NoMemory) != round.Relieve {
		t.Error("a problem of another worker, or another problem, counts")
	}
	if round.NewOperation([]int{0}).Judge("a", round.Internal) != round.Distrust {
		t.Error("a problem of an earlier operation counts")
	}
	if o.Judge("a", round.Internal) != round.Exclude {
		t.Error("the third problem of a worker does not exclude it")
	}
}

// An operation is done when every tile has an answer, however many rounds that takes and even if one has two.
func TestTilesAreAskedForUntilTheyHaveAnAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tiles := rapid.SliceOfNDistinct(rapid.IntRange(0, 20), 1, 12, rapid.ID[int]).Draw(t, "tiles")
		o := round.NewOperation(tiles)
		left := slices.Clone(tiles)
		for len(left) > 0 {
			if o.Done() || !slices.Equal(o.Pending(), left) {
				t.Fatalf("%v are pending, want %v", o.Pending(), left)
			}
			some := rapid.SliceOfDistinct(rapid.SampledFrom(tiles), rapid.ID[int]).Draw(t, "answered")
			o.Answered(some)
			left = slices.DeleteFunc(left, func(tile int) bool { return slices.Contains(some, tile) })
			if got := o.Without(tiles); !slices.Equal(got, left) {
				t.Fatalf("without an answer are %v, want %v", got, left)
			}
		}
		if !o.Done() {
			t.Fatalf("%v are pending after all have answered", o.Pending())
		}
	})
}
