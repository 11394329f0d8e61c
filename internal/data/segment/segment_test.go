package segment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

func randomPicture(width, height int, rng *rand.Rand) *Picture {
	p := &Picture{Width: width, Height: height, Gray: make([]uint16, width*height)}
	levels := 1 + rng.IntN(1<<16)
	for i := range p.Gray {
		p.Gray[i] = uint16(rng.IntN(levels))
	}
	return p
}

// naiveEdges looks at every pair of pixels and applies the formula of Wang2014 7.1 directly.
func naiveEdges(p *Picture, a Affinity) []dataset.Edge {
	var edges []dataset.Edge
	for i := range p.Pixels() {
		for j := i + 1; j < p.Pixels(); j++ {
			dx, dy := float64(i%p.Width-j%p.Width), float64(i/p.Width-j/p.Width)
			if dx*dx+dy*dy > a.Radius*a.Radius {
				continue
			}
			gray := float64(p.Gray[i])/257 - float64(p.Gray[j])/257
			weight := math.Exp(-(dx*dx+dy*dy)/(2*a.SigmaPosition*a.SigmaPosition) -
				gray*gray/(2*a.SigmaGray*a.SigmaGray))
			if weight < minWeight && dx*dx+dy*dy > 1 {
				continue
			}
			edges = append(edges, dataset.Edge{Source: int32(i), Target: int32(j), Weight: max(weight, minWeight)})
		}
	}
	return edges
}

func TestEdgesAreThoseOfANaiveLoop(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	radii := []float64{1, 1.2, math.Sqrt2, 2, 2.2, math.Sqrt(5), 5, 100}
	for range 400 {
		p := randomPicture(1+rng.IntN(9), 1+rng.IntN(9), rng)
		a := Affinity{
			Radius:        radii[rng.IntN(len(radii))],
			SigmaPosition: math.Exp(3 * rng.NormFloat64()),
			SigmaGray:     math.Exp(2 + 3*rng.NormFloat64()),
		}
		got := slices.Collect(a.Edges(p))
		want := naiveEdges(p, a)
		same := slices.EqualFunc(got, want, func(g, w dataset.Edge) bool {
			return g.Source == w.Source && g.Target == w.Target && math.Abs(g.Weight-w.Weight) <= 1e-12*w.Weight
		})
		if !same {
			t.Fatalf("%d x %d, %+v: got %v, want %v", p.Width, p.Height, a, got, want)
		}
	}
}

func TestPairsAreCounted(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	for range 300 {
		p := randomPicture(1+rng.IntN(8), 1+rng.IntN(8), rng)
		a := Affinity{Radius: 1 + 6*rng.Float64(), SigmaPosition: 1e9, SigmaGray: 1e9}
		if got, want := a.pairs(p), len(slices.Collect(a.Edges(p))); got != float64(want) {
			t.Fatalf("%d x %d within %v: %v pairs, %d edges", p.Width, p.Height, a.Radius, got, want)
		}
	}
}

// Every picture, whatever its contrast and the widths, gives a connected graph of positive weights.
func TestTheGraphIsConnected(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	for range 200 {
		p := randomPicture(1+rng.IntN(12), 1+rng.IntN(12), rng)
		a := Affinity{Radius: 1 + 3*rng.Float64(), SigmaPosition: math.Exp(-20 * rng.Float64()),
			SigmaGray: math.Exp(-700 * rng.Float64())}
		var links []constraint.Constraint
		for e := range a.Edges(p) {
			if e.Weight < minWeight || e.Weight > 1 {
				t.Fatalf("edge %+v", e)
			}
			links = append(links, constraint.Constraint{I: e.Source, J: e.Target, Kind: constraint.MustLink})
		}
		set, err := constraint.NewSet(p.Pixels(), links, constraint.UnitWeight)
		if err != nil {
			t.Fatal(err)
		}
		if parts := set.Components().Count(); parts != 1 {
			t.Fatalf("%d x %d, %+v: %d parts", p.Width, p.Height, a, parts)
		}
	}
}

func TestEdgesStopWhenTheLoopBreaks(t *testing.T) {
	p := randomPicture(5, 5, rand.New(rand.NewPCG(4, 0)))
	seen := 0
	for range DefaultAffinity(p, 2).Edges(p) {
		if seen++; seen == 3 {
			break
		}
	}
	if seen != 3 {
		t.Errorf("%d edges", seen)
	}
}

func TestThinPictures(t *testing.T) {
	one := &Picture{Width: 1, Height: 1, Gray: []uint16{7}}
	if edges := slices.Collect(DefaultAffinity(one, 5).Edges(one)); len(edges) != 0 {
		t.Errorf("one pixel has edges %v", edges)
	}
	for _, size := range [][2]int{{6, 1}, {1, 6}} {
		p := &Picture{Width: size[0], Height: size[1], Gray: make([]uint16, 6)}
		a := DefaultAffinity(p, 1)
		if a.SigmaGray != 1 || a.SigmaPosition != 0.5 {
			t.Errorf("a flat picture has %+v", a)
		}
		for i, e := range slices.Collect(a.Edges(p)) {
			if e.Source != int32(i) || e.Target != int32(i+1) || math.Abs(e.Weight-math.Exp(-2)) > 1e-15 {
				t.Errorf("%v: edge %d is %+v", size, i, e)
			}
		}
	}
}

func TestContrast(t *testing.T) {
	p := &Picture{Width: 2, Height: 2, Gray: []uint16{0, 0, 100 * grayLevel, 100 * grayLevel}}
	if got := p.Contrast(); got != 50 {
		t.Errorf("contrast %v, want 50", got)
	}
	if a := DefaultAffinity(p, 5); a.SigmaGray != 25 || a.SigmaPosition != 2.5 {
		t.Errorf("%+v", a)
	}
	flat := &Picture{Width: 3, Height: 1, Gray: []uint16{54321, 54321, 54321}}
	if got := flat.Contrast(); got != 0 {
		t.Errorf("contrast of a flat picture: %v", got)
	}
}

func TestAffinityIsChecked(t *testing.T) {
	p := &Picture{Width: 2048, Height: 2048} // Check looks at the size alone
	good := Affinity{Radius: 5, SigmaPosition: 2.5, SigmaGray: 10}
	if err := good.Check(p); err != nil {
		t.Error(err)
	}
	for reason, change := range map[string]func(*Affinity){
		"BAD_SIGMA":      func(a *Affinity) { a.SigmaGray = math.NaN() },
		"BAD_RADIUS":     func(a *Affinity) { a.Radius = 0.99 },
		"TOO_MANY_EDGES": func(a *Affinity) { a.Radius = 1e300 },
	} {
		a := good
		change(&a)
		if err := a.Check(p); !fault.Is(err, reason) {
			t.Errorf("%+v: %v, want %s", a, err, reason)
		}
	}
	if err := good.Check(&Picture{Width: 1, Height: 1}); !fault.Is(err, "EMPTY_PICTURE") {
		t.Errorf("one pixel: %v", err)
	}
}

func TestSizesAreChecked(t *testing.T) {
	for _, c := range []struct {
		width, height int
		reason        string
	}{
		{1, 1, ""}, {2048, 2048, ""}, {MaxPixels, 1, ""}, {1, MaxPixels, ""},
		{2048, 2049, "PICTURE_TOO_LARGE"}, {math.MaxInt, math.MaxInt, "PICTURE_TOO_LARGE"},
		{1, math.MaxInt, "PICTURE_TOO_LARGE"},
		{0, 5, "EMPTY_PICTURE"}, {5, -1, "EMPTY_PICTURE"},
	} {
		if err := CheckSize(c.width, c.height); (err == nil) != (c.reason == "") ||
			err != nil && !fault.Is(err, c.reason) {
			t.Errorf("%d x %d: %v, want %q", c.width, c.height, err, c.reason)
		}
	}
}

// randomBoxes do not contradict each other: every column has one label.
func randomBoxes(width, height int, rng *rand.Rand) []Box {
	boxes := make([]Box, 1+rng.IntN(5))
	for at := range boxes {
		b := Box{X: rng.IntN(width), Y: rng.IntN(height), Width: 1}
		b.Height = 1 + rng.IntN(height-b.Y)
		b.Label = int64(b.X%3) - 1
		boxes[at] = b
	}
	return boxes
}

// Chains and all pairs have the same closure: the same components, and the same of them apart.
func TestChainsHaveTheClosureOfAllPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	for range 300 {
		width := 1 + rng.IntN(8)
		height := 1 + rng.IntN(8)
		boxes := randomBoxes(width, height, rng)
		labeled, err := Label(width, height, boxes)
		if err != nil {
			t.Fatal(err)
		}
		all, err := labeled.AllPairs(UnitWeight)
		if err != nil {
			t.Fatal(err)
		}
		if want := naivePairs(width, height, boxes); !slices.Equal(describe(all), want) {
			t.Fatalf("%v: all pairs are %v, want %v", boxes, describe(all), want)
		}
		chains, err := constraint.NewSet(width*height, labeled.Chains(UnitWeight), constraint.UnitWeight)
		if err != nil {
			t.Fatal(err)
		}
		if chains.Len() != len(labeled.Chains(UnitWeight)) {
			t.Fatalf("%v: a constraint is repeated in %v", boxes, labeled.Chains(UnitWeight))
		}
		for _, c := range all {
			a := chains.Components().Of(c.I)
			b := chains.Components().Of(c.J)
			if c.Kind == constraint.MustLink && a != b || c.Kind == constraint.CannotLink && !chains.Apart(a, b) {
				t.Fatalf("%v: the chains do not imply %+v", boxes, c)
			}
		}
		for _, c := range labeled.Chains(UnitWeight) {
			if !slices.Contains(all, c) {
				t.Fatalf("%v: a chain has a wrong constraint: %+v", boxes, c)
			}
		}
	}
}

func naivePairs(width, height int, boxes []Box) []string {
	label := map[int]int64{}
	for _, b := range boxes {
		for i := range width * height {
			if x, y := i%width, i/width; x >= b.X && x < b.X+b.Width && y >= b.Y && y < b.Y+b.Height {
				label[i] = b.Label
			}
		}
	}
	var pairs []constraint.Constraint
	for i := range width * height {
		for j := i + 1; j < width*height; j++ {
			a, labeledA := label[i]
			b, labeledB := label[j]
			switch {
			case labeledA && labeledB && a == b:
				pairs = append(pairs, constraint.Constraint{I: int32(i), J: int32(j), Kind: constraint.MustLink})
			case labeledA && labeledB:
				pairs = append(pairs, constraint.Constraint{I: int32(i), J: int32(j), Kind: constraint.CannotLink})
			}
		}
	}
	return describe(pairs)
}

func describe(links []constraint.Constraint) []string {
	var texts []string
	for _, c := range links {
		texts = append(texts, fmt.Sprint(min(c.I, c.J), max(c.I, c.J), c.Kind))
	}
	slices.Sort(texts)
	return texts
}

func TestBoxesAreChecked(t *testing.T) {
	for _, c := range []struct {
		boxes  []Box
		reason string
	}{
		{nil, ""},
		{[]Box{{0, 0, 6, 4, 1}}, ""},
		{[]Box{{0, 0, 3, 3, 1}, {2, 2, 2, 2, 1}}, ""}, // of one label they may overlap
		{[]Box{{0, 0, 3, 3, 1}, {2, 2, 2, 2, 2}}, "CONTRADICTORY_BOXES"},
		{[]Box{{0, 0, 0, 3, 1}}, "EMPTY_BOX"},
		{[]Box{{5, 0, 2, 1, 1}}, "BOX_OUTSIDE"},
		{[]Box{{0, 3, 1, 2, 1}}, "BOX_OUTSIDE"},
		{[]Box{{-1, 0, 2, 1, 1}}, "BOX_OUTSIDE"},
		{[]Box{{math.MaxInt, 0, math.MaxInt, 1, 1}}, "BOX_OUTSIDE"},
	} {
		if _, err := Label(6, 4, c.boxes); (err == nil) != (c.reason == "") || err != nil && !fault.Is(err, c.reason) {
			t.Errorf("%v: %v, want %q", c.boxes, err, c.reason)
		}
	}
	large, err := Label(2000, 2000, []Box{{0, 0, 2000, 1, 0}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := large.AllPairs(UnitWeight); !fault.Is(err, "TOO_MANY_CONSTRAINTS") {
		t.Errorf("two million pairs: %v", err)
	}
	if links := large.Chains(UnitWeight); len(links) != 1999 {
		t.Errorf("%d links", len(links))
	}
}

func TestDrawHalves(t *testing.T) {
	for _, size := range [][2]int{{8, 8}, {48, 32}, {9, 100}} {
		s, err := DrawHalves(size[0], size[1], 0, rand.New(rand.NewPCG(1, 0)))
		if err != nil {
			t.Fatal(err)
		}
		labeled, err := Label(size[0], size[1], s.Boxes)
		if err != nil || len(labeled) != 2 {
			t.Fatalf("%v: %v, %v", size, labeled, err)
		}
		for label, pixels := range labeled {
			for _, i := range pixels {
				if s.Truth[i] != int32(label) {
					t.Errorf("%v: pixel %d is labeled %d", size, i, label)
				}
			}
		}
		// The bottom of the left half is brighter than the top of the right one, but not than its bottom.
		last := len(s.Truth) - size[0]
		if s.Picture.Gray[last] <= s.Picture.Gray[size[0]-1] || s.Picture.Gray[last] >= s.Picture.Gray[last+size[0]-1] {
			t.Errorf("%v: the corners are %d, %d, %d", size, s.Picture.Gray[size[0]-1], s.Picture.Gray[last],
				s.Picture.Gray[last+size[0]-1])
		}
	}
	for reason, draw := range map[string]func() (*Scene, error){
		"PICTURE_TOO_SMALL": func() (*Scene, error) { return DrawHalves(7, 8, 1, nil) },
		"PICTURE_TOO_LARGE": func() (*Scene, error) { return DrawHalves(1<<20, 8, 1, nil) },
		"BAD_NUMBER":        func() (*Scene, error) { return DrawHalves(8, 8, math.NaN(), nil) },
	} {
		if _, err := draw(); !fault.Is(err, reason) {
			t.Errorf("%v, want %s", err, reason)
		}
	}
}
