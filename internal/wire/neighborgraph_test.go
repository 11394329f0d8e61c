package wire

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
)

// sentGraph is the parts of a graph, each through its encoding.
func sentGraph(t interface{ Fatal(...any) }, g *dataset.Graph) (parts []*cleavev1.GetNeighborGraphResponse) {
	err := SendNeighborGraph(g, func(part *cleavev1.GetNeighborGraphResponse) error {
		encoded, err := proto.Marshal(part)
		if err != nil {
			return err
		}
		received := &cleavev1.GetNeighborGraphResponse{}
		parts = append(parts, received)
		return proto.Unmarshal(encoded, received)
	})
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

func TestNeighborGraphsSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 20).Draw(t, "n")
		var edges []dataset.Edge
		for range rapid.IntRange(0, 40).Draw(t, "edges") {
			i := rapid.Int32Range(1, int32(n)-1).Draw(t, "i")
			edges = append(edges, dataset.Edge{Source: i, Target: rapid.Int32Range(0, i-1).Draw(t, "j"),
				Weight: rapid.Float64Range(1e-6, 1).Draw(t, "weight")})
		}
		want, err := dataset.NewGraph(n, edges)
		if err != nil {
			t.Fatal(err)
		}
		parts := sentGraph(t, want)
		got, err := ReceiveNeighborGraph(stream(parts))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, %v; want %+v", got, err, want)
		}
		for cut := range parts {
			if _, err := ReceiveNeighborGraph(stream(parts[:cut])); err == nil {
				t.Fatalf("a graph that ends after %d of %d parts was taken", cut, len(parts))
			}
		}
	})
}

func TestNoNeighborGraphs(t *testing.T) {
	head := func(vertices uint32, edges uint64) *cleavev1.GetNeighborGraphResponse {
		return &cleavev1.GetNeighborGraphResponse{
			Part: &cleavev1.GetNeighborGraphResponse_Head{Head: &cleavev1.NeighborGraphHead{Vertices: vertices,
				Edges: edges}}}
	}
	edge := func(i, j uint32) *cleavev1.GetNeighborGraphResponse {
		return &cleavev1.GetNeighborGraphResponse{
			Part: &cleavev1.GetNeighborGraphResponse_Edges{Edges: &cleavev1.Edges{Sources: []uint32{i},
				Targets: []uint32{j}}}}
	}
	for name, parts := range map[string][]*cleavev1.GetNeighborGraphResponse{
		"no head":          {edge(0, 1)},
		"no vertices":      {head(0, 1), edge(0, 1)},
		"many vertices":    {head(1<<31, 1), edge(0, 1)},
		"an edge too many": {head(3, 1), edge(0, 1), edge(1, 2)},
		"a second head":    {head(3, 1), head(3, 1), edge(0, 1)},
		"another vertex":   {head(3, 1), edge(0, 3)},
		"claimed vertices": {head(1<<31-2, 1), edge(0, 1)},
	} {
		if got, err := ReceiveNeighborGraph(stream(parts)); err == nil {
			t.Errorf("%s: taken as %d vertices", name, got.N)
		}
	}
}

// Both sides have the same weights, by the same names.
func TestNeighborWeights(t *testing.T) {
	values := cleavev1.NeighborWeights(0).Descriptor().Values()
	for w := neighbor.Unweighted; w <= neighbor.Gaussian; w++ {
		if got := enumValue[cleavev1.NeighborWeights](w.String()); got == 0 || EnumWord(got) != w.String() {
			t.Errorf("%v is %v", w, got)
		}
	}
	if values.Len() != int(neighbor.Gaussian)+1 {
		t.Errorf("the API has %d values", values.Len())
	}
}
