package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// element is one element of a picture.
type element struct {
	name  string
	class string
	data  string // the path's data or the text
}

// render draws, checks that the picture is well-formed and free of broken numbers, and that
// drawing again gives the same bytes; it returns the elements and the size in bytes.
func render(t *testing.T, paint func(w io.Writer) error) (elements []element, size int) {
	t.Helper()
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := paint(out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Fatal("drawing twice gives different bytes")
	}
	decoder := xml.NewDecoder(bytes.NewReader(first.Bytes()))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return elements, first.Len()
		}
		if err != nil {
			t.Fatalf("the picture is not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local}
			for _, attribute := range token.Attr {
				for _, broken := range []string{"NaN", "Inf"} {
					if strings.Contains(attribute.Value, broken) {
						t.Fatalf("%s has %s=%q", e.name, attribute.Name.Local, attribute.Value)
					}
				}
				switch attribute.Name.Local {
				case "class":
					e.class = attribute.Value
				case "d":
					e.data = attribute.Value
				}
			}
			elements = append(elements, e)
		case xml.CharData:
			if last := len(elements) - 1; last >= 0 && elements[last].name == "text" {
				elements[last].data += strings.TrimSuffix(string(token), "\n")
			}
		}
	}
}

func texts(elements []element) []string {
	var all []string
	for _, e := range elements {
		if e.name == "text" {
			all = append(all, e.data)
		}
	}
	return all
}

// count counts the elements that have all of the classes.
func count(elements []element, classes string) int {
	number := 0
	for _, e := range elements {
		if e.has(classes) {
			number++
		}
	}
	return number
}

func (e element) has(classes string) bool {
	have := strings.Fields(e.class)
	return !slices.ContainsFunc(strings.Fields(classes), func(c string) bool { return !slices.Contains(have, c) })
}

// countMarkers counts the markers of a cluster, with the one in the legend.
func countMarkers(elements []element, cluster int) int {
	return count(elements, "mark "+ColorClass(cluster)) - count(elements, "mark center "+ColorClass(cluster))
}

func wantTexts(t *testing.T, elements []element, want ...string) {
	t.Helper()
	have := texts(elements)
	for _, txt := range want {
		if !slices.Contains(have, txt) {
			t.Errorf("no text %q among %q", txt, have)
		}
	}
}

// twoCircles are n points on circles of radius 1 and 3, alternately.
func twoCircles(r *rand.Rand, n int) (xy [][2]float64, truth []int32) {
	for i := range n {
		sin, cos := math.Sincos(2 * math.Pi * r.Float64())
		radius := float64(1+2*(i%2)) + 0.1*r.NormFloat64()
		xy = append(xy, [2]float64{radius * cos, radius * sin})
		truth = append(truth, int32(i%2))
	}
	return xy, truth
}

// gaussians are n points around k random centers, sorted by center.
func gaussians(r *rand.Rand, n, d, k int, apart float64) (*dataset.Points, []int32) {
	centers := make([]float64, k*d)
	for at := range centers {
		centers[at] = apart * r.NormFloat64()
	}
	values := make([]float64, n*d)
	truth := make([]int32, n)
	for i := range n {
		truth[i] = int32(i * k / n)
		for j := range d {
			values[i*d+j] = centers[int(truth[i])*d+j] + r.NormFloat64()
		}
	}
	return &dataset.Points{N: n, D: d, Values: values}, truth
}

// blocks is a graph of k blocks.
func blocks(t *testing.T, r *rand.Rand, n, k int, inside, between float64) (*dataset.Graph, []int32) {
	t.Helper()
	truth := make([]int32, n)
	var edges []dataset.Edge
	for i := range truth {
		truth[i] = int32(i * k / n)
		for j := range i {
			p := between
			if truth[i] == truth[j] {
				p = inside
			}
			if r.Float64() < p {
				edges = append(edges, dataset.Edge{Source: int32(i), Target: int32(j), Weight: 1})
			}
		}
	}
	return graph(t, n, edges...), truth
}

func graph(t *testing.T, n int, edges ...dataset.Edge) *dataset.Graph {
	t.Helper()
	g, err := dataset.NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// randomPairs are m distinct constraints that agree with the truth.
func randomPairs(r *rand.Rand, truth []int32, m int) []constraint.Pair {
	seen := map[[2]int32]bool{}
	var pairs []constraint.Pair
	for len(pairs) < m {
		i := r.Int32N(int32(len(truth)))
		j := r.Int32N(int32(len(truth)))
		if i >= j || seen[[2]int32{i, j}] {
			continue
		}
		seen[[2]int32{i, j}] = true
		kind := constraint.CannotLink
		if truth[i] == truth[j] {
			kind = constraint.MustLink
		}
		pairs = append(pairs, constraint.Pair{I: i, J: j, Kind: kind, Weight: 1})
	}
	return pairs
}

// withWrongLabels changes a share of the labels.
func withWrongLabels(r *rand.Rand, truth []int32, k int, share float64) []int32 {
	labels := slices.Clone(truth)
	for i := range labels {
		if r.Float64() < share {
			labels[i] = r.Int32N(int32(k))
		}
	}
	return labels
}

func generator() *rand.Rand { return rand.New(rand.NewPCG(7, 7)) }
