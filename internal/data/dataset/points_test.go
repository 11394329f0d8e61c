package dataset

import (
	"errors"
	"math"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
)

// Points that are made part by part are those that are made at once, and so is their id.
func TestMakePoints(t *testing.T) {
	const n, d = 3*partValues/5 + 7, 5
	fill := func(from, to int, values []float64) error {
		for at := range values {
			values[at] = float64(from*d+at) / 3
		}
		if len(values) != (to-from)*d {
			t.Errorf("%d values for rows %d to %d", len(values), from, to)
		}
		return nil
	}
	made, err := MakePoints(t.Context(), n, d, fill)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float64, n*d)
	_ = fill(0, n, values)
	plain, err := NewPoints(n, d, values)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := ID(made)
	if want, _ := ID(plain); id != want || made.known() != want {
		t.Errorf("the id is %s, known as %s, want %s", id, made.known(), want)
	}
	few := *made
	few.N, few.Values = 2, made.Values[d:3*d]
	if again, _ := ID(&few); few.known() != "" || again == id {
		t.Error("other points have the same id")
	}
	_, err = MakePoints(t.Context(), n, d, func(from, to int, values []float64) error {
		values[1] = math.NaN()
		return nil
	})
	if !fault.Is(err, "NOT_FINITE") || err.Error() != "row 0, column 1 is NaN; every value must be a finite number" {
		t.Error(err)
	}
	failed := errors.New("broken")
	if _, err := MakePoints(t.Context(), n, d, func(int, int, []float64) error {
		return failed
	}); !errors.Is(err, failed) {
		t.Error(err)
	}
	if _, err := MakePoints(t.Context(), 0, d, fill); !fault.Is(err, "EMPTY_DATA") {
		t.Error(err)
	}
}
