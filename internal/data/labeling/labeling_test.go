package labeling

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Moves lead from one labeling to another and back, lane by lane.
func TestMovesLeadFromLabelsToLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Shape{Points: rapid.IntRange(1, 20).Draw(t, "points"), Clusters: rapid.IntRange(1, 4).Draw(t, "k"),
			Lanes: rapid.IntRange(1, 3).Draw(t, "lanes")}
		draw := func(lane int) int32 {
			c := rapid.IntRange(-1, s.Clusters-1).Draw(t, "label")
			if c < 0 {
				return None
			}
			return int32(lane*s.Clusters + c)
		}
		var before, after []int32
		var moves []Move
		for lane := range s.Lanes {
			for i := range s.Points {
				from := draw(lane)
				to := draw(lane)
				before = append(before, from)
				after = append(after, to)
				if from != to {
					moves = append(moves, Move{Point: int32(i), From: from, To: to})
				}
			}
		}
		if s.CheckLabels(before) != nil || s.CheckLabels(after) != nil {
			t.Fatal("good labels are refused")
		}
		labels := slices.Clone(before)
		if err := s.Apply(labels, moves); err != nil || !slices.Equal(labels, after) {
			t.Fatalf("%v: %v instead of %v", err, labels, after)
		}
		if err := s.CheckApplied(labels, moves); err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(labels, moves); len(moves) > 0 && err == nil || !slices.Equal(labels, after) {
			t.Fatalf("applied twice: %v, %v", err, labels)
		}
		if s.Undo(labels, moves); !slices.Equal(labels, before) {
			t.Fatalf("undone: %v instead of %v", labels, before)
		}
	})
}

func TestBadLabelsAreRefused(t *testing.T) {
	s := Shape{Points: 2, Clusters: 3, Lanes: 2}
	for _, bad := range [][]int32{nil, {0, 1, 3}, {0, 3, 3, 3}, {0, 1, 3, 2}, {0, -2, 3, 3}, {0, 1, 3, 6}} {
		if s.CheckLabels(bad) == nil {
			t.Errorf("labels %v are accepted", bad)
		}
	}
}

// A list with one bad move changes nothing.
func TestBadMovesAreRefused(t *testing.T) {
	s := Shape{Points: 2, Clusters: 3, Lanes: 2}
	before := []int32{0, None, 3, 4}
	for name, bad := range map[string][]Move{
		"another lane":       {{1, None, 2}, {0, 0, 4}},
		"another label":      {{1, None, 2}, {0, 1, 0}},
		"no such cluster":    {{1, None, 2}, {0, 3, 6}},
		"no such label":      {{1, None, 2}, {0, 0, -2}},
		"no such point":      {{1, None, 2}, {2, 0, 1}},
		"a negative point":   {{1, None, 2}, {-1, 0, 1}},
		"one point twice":    {{0, 0, 1}, {0, 1, 2}},
		"there and back":     {{0, 0, 1}, {0, 1, 0}},
		"none to none":       {{0, None, None}},
		"the same one twice": {{0, 0, 1}, {0, 0, 1}},
	} {
		labels := slices.Clone(before)
		if err := s.Apply(labels, bad); err == nil || !slices.Equal(labels, before) {
			t.Errorf("%s: %v, labels %v", name, err, labels)
		}
	}
}

func TestFartherPrefersTheLowerPoint(t *testing.T) {
	near := Candidate{Found: true, Point: 1, Distance: 1}
	low := Candidate{Found: true, Point: 2, Distance: 3}
	high := Candidate{Found: true, Point: 5, Distance: 3}
	for _, c := range []struct{ a, b, want Candidate }{
		{Candidate{}, near, near}, {near, Candidate{}, near}, {near, high, high}, {low, high, low},
		{Candidate{}, Candidate{}, Candidate{}},
	} {
		if c.a.Farther(c.b) != c.want || c.b.Farther(c.a) != c.want {
			t.Errorf("of %v and %v the farther is %v and %v", c.a, c.b, c.a.Farther(c.b), c.b.Farther(c.a))
		}
	}
}
