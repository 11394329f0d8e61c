package picture

import (
	"strings"
	"testing"
)

func TestBars(t *testing.T) {
	plot := BarsPlot{
		Title: "iris", Subtitle: "because", Axis: "share right",
		Bars: []Bar{{Name: "neighbors, hard", Share: 0.934, Bold: true}, {Name: "rows, soft", Share: 1},
			{Name: strings.Repeat("long ", 50), Share: 0}},
	}
	elements, _ := render(t, plot.Figure().Write)
	wantTexts(t, elements, "iris", "because", "share right", "neighbors, hard", "0.93", "rows, soft", "1.00",
		"0.00", "0.4")
	if chosen, others := count(elements, "bar strong"), count(elements, "bar quiet"); chosen != 1 || others != 2 {
		t.Errorf("%d bars stand out, %d do not", chosen, others)
	}
}
