package connected

import (
	"reflect"
	"testing"
)

func TestParts(t *testing.T) {
	edges := [][]int32{{3}, {4, 1}, nil, {0, 5}, {1}, {3}}
	neighbors := func(v int32) []int32 { return edges[v] }
	if got, want := Parts(6, []int32{0, 1, 2, 3, 4, 5}, neighbors), [][]int32{{0, 3, 5}, {1, 4},
		{2}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the parts are %v, want %v", got, want)
	}
	if got, want := Parts(6, []int32{4, 1}, neighbors), [][]int32{{1, 4}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the parts of vertices 1 and 4 are %v, want %v", got, want)
	}
	if got := Parts(0, nil, neighbors); got != nil {
		t.Errorf("no vertices have the parts %v", got)
	}
}
