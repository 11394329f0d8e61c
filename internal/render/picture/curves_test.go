package picture

import (
	"io"
	"testing"
)

func paintCurves(c CurvesPlot) func(io.Writer) error {
	return func(w io.Writer) error { return c.Figure().Write(w) }
}

func someCurves() CurvesPlot {
	x := []float64{50, 100, 500}
	rising := Curve{Name: "rising", X: x, Mean: []float64{0.2, 0.5, 1}, Low: []float64{0, 0.25, 0.75},
		High: []float64{0.5, 0.75, 1}}
	flat := Curve{Name: "flat", X: x, Mean: []float64{0.25, 0.25, 0.25}}
	return CurvesPlot{
		Title: "Scores", X: "constraints", Y: "score",
		Panels: []CurvesPanel{{Title: "first", Curves: []Curve{rising, flat}}, {Title: "second", Curves: []Curve{flat}},
			{Title: "third"}, {Title: "fourth", Curves: []Curve{rising}}},
	}
}

// Every curve is a line of its name's color, besides its sample in the legend, and every range a band.
func TestCurves(t *testing.T) {
	elements, _ := render(t, paintCurves(someCurves()))
	for look := range 2 {
		if got := count(elements, "curve "+ColorClass(look)); got != 1+2 {
			t.Errorf("%d lines of look %d, want 3", got, look)
		}
	}
	if got := count(elements, "band"); got != 2 {
		t.Errorf("%d bands, want 2: of the curves with a range", got)
	}
	wantTexts(t, elements, "Scores", "first", "second", "third", "fourth", "rising", "flat", "constraints", "score",
		"200", "400")
}

func TestCurvesOfOnePanel(t *testing.T) {
	c := someCurves()
	c.Panels = c.Panels[:1]
	elements, _ := render(t, paintCurves(c))
	wantTexts(t, elements, "Scores", "first", "100", "300", "500", "0.6")
}
