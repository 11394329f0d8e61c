package constraint

import (
	"slices"
	"testing"
)

func TestAmong(t *testing.T) {
	all := []Constraint{{I: 4, J: 1, Kind: MustLink, Weight: 2, Weighted: true}, {I: 0, J: 1, Kind: CannotLink},
		{I: 3, J: 4, Kind: CannotLink}}
	kept := []int32{1, 3, 4}
	want := []Constraint{{I: 2, J: 0, Kind: MustLink, Weight: 2, Weighted: true}, {I: 1, J: 2, Kind: CannotLink}}
	if got := Among(5, kept, all); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Among(5, kept, []Pair{{I: 0, J: 3}, {I: 1, J: 3, Weight: 1}}); !slices.Equal(got,
		[]Pair{{I: 0, J: 1, Weight: 1}}) {
		t.Errorf("%v", got)
	}
	if got := Among(5, []int32{0, 1, 2, 3, 4}, all); !slices.Equal(got, all) {
		t.Errorf("all are kept: %v", got)
	}
}
