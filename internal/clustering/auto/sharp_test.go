package auto

import (
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
)

// nearest is the graph of the neighbors of points.
func nearest(t *testing.T, p *dataset.Points) *dataset.Graph {
	t.Helper()
	const count = 10
	search, err := neighbor.NewSearch(p)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := search.Of(t.Context(), p, count+1, 1)
	if err != nil {
		t.Fatal(err)
	}
	var others []int32
	for i := range p.N {
		found := 0
		for _, j := range rows[i*(count+1) : (i+1)*(count+1)] {
			if int(j) != i && found < count {
				others = append(others, j)
				found++
			}
		}
	}
	g, err := neighbor.Graph(p.N, count, others)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A graph of neighbors follows a column of few values with gaps between them, be it one of words, and none that is
// smooth, that has many values, or that is one of many.
func TestSharpColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	const n = 300
	table := func(width int, row func(values []float64)) *dataset.Points {
		values := make([]float64, n*width)
		for i := range n {
			row(values[i*width : (i+1)*width])
		}
		p, err := dataset.NewPoints(n, width, values)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	normal := func(values []float64) {
		for f := range values {
			values[f] = rng.NormFloat64()
		}
	}
	words := table(5, func(v []float64) { normal(v[:2]); v[2+rng.IntN(3)] = 1.5 })
	ofWords := &dataset.Points{N: n, D: 5, Values: make([]float64, len(words.Values)),
		Categorical: []dataset.Categorical{{From: 2, To: 5}}}
	for at, v := range words.Values {
		if ofWords.Values[at] = v; at%5 >= 2 && v > 0 {
			ofWords.Values[at] = 1 // as they are given; neighbors are found in units
		}
	}
	for name, c := range map[string]struct {
		found, data *dataset.Points
		want        int
	}{
		"numbers": {found: table(3, normal), want: -1},
		"a flag beside two": {found: table(3, func(v []float64) { normal(v[:2]); v[2] = 4 * float64(rng.IntN(2)) }),
			want: 2},
		"a flag among many": {found: table(20, func(v []float64) { normal(v[:19]); v[19] = float64(rng.IntN(2)) }),
			want: -1},
		"a flag with filled gaps": {found: table(3, func(v []float64) {
			normal(v[:2])
			if v[2] = 4 * float64(rng.IntN(2)); rng.IntN(20) == 0 {
				v[2] = 4 * rng.Float64()
			}
		}), want: 2},
		"a column of one": {found: table(3, func(v []float64) { normal(v[:2]); v[2] = 7 }), want: -1},
		"many values, apart": {found: table(2, func(v []float64) {
			v[0], v[1] = rng.NormFloat64(), 100*float64(rng.IntN(20))
		}), want: -1},
		"three words": {found: words, data: ofWords, want: 2},
	} {
		if c.data == nil {
			c.data = c.found
		}
		if got := sharpColumn(nearest(t, c.found), c.data); got != c.want {
			t.Errorf("%s: column %d, want %d", name, got, c.want)
		}
	}
	for i := range n { // gaps of words that were filled
		if i%20 == 0 {
			for f := 2; f < 5; f++ {
				ofWords.Row(i)[f] = 0.3 + 0.3*ofWords.Row(i)[f]
			}
		}
	}
	if got := sharpColumn(nearest(t, words), ofWords); got != 2 {
		t.Errorf("words with filled gaps: column %d", got)
	}
	if got := sharpColumn(nil, &dataset.Kernel{}); got != -1 {
		t.Errorf("a kernel matrix has a column %d", got)
	}
}
