package picture

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"

	"github.com/cleave-project/cleave/internal/data/segment"
)

func decoded(t *testing.T, draw func(b *bytes.Buffer) error) image.Image {
	t.Helper()
	var b bytes.Buffer
	if err := draw(&b); err != nil {
		t.Fatal(err)
	}
	drawn, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return drawn
}

func at(t *testing.T, drawn image.Image, x, y int) color.NRGBA {
	t.Helper()
	if !image.Pt(x, y).In(drawn.Bounds()) {
		t.Fatalf("(%d, %d) is outside %v", x, y, drawn.Bounds())
	}
	return color.NRGBAModel.Convert(drawn.At(x, y)).(color.NRGBA)
}

func opaque(r, g, b uint8) color.NRGBA { return color.NRGBA{R: r, G: g, B: b, A: 255} }

func TestSegmentsAreTintedAndSeparated(t *testing.T) {
	p := &segment.Picture{Width: 3, Height: 2, Gray: []uint16{0, 0, 0xFFFF, 100 * 257, 0, 0}}
	o := Overlay{Picture: p, Scale: 4}
	labels := []int64{0, 0, 1, 0, -1, 13}
	drawn := decoded(t, func(b *bytes.Buffer) error { return o.Segments(b, labels) })
	if drawn.Bounds() != image.Rect(0, 0, 12, 8) {
		t.Fatalf("drawn on %v", drawn.Bounds())
	}
	half := func(gray int, c color.NRGBA) color.NRGBA {
		mean := func(v uint8) uint8 { return uint8((gray + int(v) + 1) / 2) }
		return opaque(mean(c.R), mean(c.G), mean(c.B))
	}
	for _, c := range []struct {
		name string
		x, y int
		want color.NRGBA
	}{
		{"blue on black", 1, 1, half(0, palette()[0])},
		{"no line within a cluster", 3, 1, half(0, palette()[0])},
		{"no line within a cluster, downwards", 1, 3, half(0, palette()[0])},
		{"amber on white", 9, 1, half(255, palette()[1])},
		{"blue on gray", 1, 5, half(100, palette()[0])},
		{"no label", 5, 5, opaque(0, 0, 0)},
		{"colors repeat", 9, 5, half(0, palette()[1])},
		{"line to the right", 7, 0, white},
		{"line below", 4, 3, white},
		{"line from no label", 7, 6, white},
		{"same color, other cluster", 10, 3, white},
		{"the edge of the image has none", 11, 6, half(0, palette()[1])},
	} {
		if got := at(t, drawn, c.x, c.y); got != c.want {
			t.Errorf("%s: (%d, %d) is %v, want %v", c.name, c.x, c.y, got, c.want)
		}
	}
}

func TestBoxesAreOutlined(t *testing.T) {
	p := &segment.Picture{Width: 10, Height: 10, Gray: make([]uint16, 100)}
	for i := range p.Gray {
		p.Gray[i] = 100 * 257
	}
	boxes := []segment.Box{{X: 6, Y: 6, Width: 3, Height: 3, Label: 9}, {X: 1, Y: 1, Width: 3, Height: 2, Label: -4}}
	flat := make([]float64, 100)
	thin := decoded(t, func(b *bytes.Buffer) error { return Overlay{p, 1, boxes}.HeatMap(b, flat) })
	black := opaque(0, 0, 0)
	for y := range 10 {
		for x := range 10 {
			want := heatZero
			switch inner := x == 7 && y == 7; {
			case x >= 1 && x <= 3 && y >= 1 && y <= 2:
				want = black // two rows are all outline
			case x >= 6 && x <= 8 && y >= 6 && y <= 8 && !inner:
				want = white
			}
			if got := at(t, thin, x, y); got != want {
				t.Errorf("(%d, %d) is %v, want %v", x, y, got, want)
			}
		}
	}
	large := decoded(t, func(b *bytes.Buffer) error { return Overlay{p, 5, boxes}.HeatMap(b, flat) })
	for _, c := range []struct {
		x, y int
		want color.NRGBA
	}{{5, 5, black}, {19, 14, black}, {6, 6, white}, {18, 13, white}, {7, 7, heatZero}, {4, 5, heatZero}, {30, 30, white}, {31, 31, black}, {44, 44, white}, {45, 44, heatZero}} {
		if got := at(t, large, c.x, c.y); got != c.want {
			t.Errorf("large (%d, %d) is %v, want %v", c.x, c.y, got, c.want)
		}
	}
}

func TestHeatMapGoesFromBlueToRed(t *testing.T) {
	p := &segment.Picture{Width: 5, Height: 1, Gray: make([]uint16, 5)}
	drawn := decoded(t, func(b *bytes.Buffer) error {
		return Overlay{Picture: p, Scale: 1}.HeatMap(b, []float64{-4, -2, 0, 2, 1})
	})
	for x, want := range []color.NRGBA{heatLow, mix(heatZero, heatLow, 1, 2), heatZero, mix(heatZero, heatHigh, 1, 2), mix(heatZero, heatHigh, 1, 4)} {
		if got := at(t, drawn, x, 0); got != want {
			t.Errorf("pixel %d is %v, want %v", x, got, want)
		}
	}
	for _, extreme := range []float64{math.MaxFloat64, math.SmallestNonzeroFloat64} {
		drawn := decoded(t, func(b *bytes.Buffer) error {
			return Overlay{Picture: p, Scale: 1}.HeatMap(b, []float64{-extreme, extreme, 0, 0, 0})
		})
		if at(t, drawn, 0, 0) != heatLow || at(t, drawn, 1, 0) != heatHigh {
			t.Errorf("%v: %v and %v", extreme, at(t, drawn, 0, 0), at(t, drawn, 1, 0))
		}
	}
}

func TestAutoScale(t *testing.T) {
	for side, want := range map[int]int{1: 16, 48: 15, 300: 2, 720: 1, 4000: 1} {
		p := &segment.Picture{Width: side, Height: 1}
		if got := AutoScale(p); got != want || got > MaxScale(p) {
			t.Errorf("a side of %d: %d, want %d", side, got, want)
		}
	}
}
