package testscale

import (
	"slices"
	"testing"
)

func TestSome(t *testing.T) {
	cases := []int{0, 1, 2, 3, 4, 5, 6}
	want := []int{0, 2, 4}
	if Long {
		want = cases
	}
	if got := Some(cases, 3); !slices.Equal(got, want) {
		t.Errorf("3 of 7 cases are %v, want %v", got, want)
	}
	if got := Some(cases, 9); !slices.Equal(got, cases) {
		t.Errorf("9 of 7 cases are %v", got)
	}
	if got := Count(1, 2); (got == 2) != Long {
		t.Errorf("%d times", got)
	}
}
