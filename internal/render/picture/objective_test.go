package picture

import (
	"io"
	"math"
	"strings"
	"testing"
)

func paintObjective(o ObjectivePlot) func(io.Writer) error {
	return func(w io.Writer) error { return o.Figure().Write(w) }
}

// fallingObjective is a run of n iterations.
func fallingObjective(n int) ObjectivePlot {
	o := ObjectivePlot{Name: "normalized cut"}
	for i := range n {
		o.Iterations = append(o.Iterations, i)
		o.Values = append(o.Values, 100+700*math.Exp(-float64(i)/5))
		o.Moved = append(o.Moved, int(3000*math.Exp(-float64(i)/3)))
	}
	return o
}

func TestObjective(t *testing.T) {
	o := fallingObjective(25)
	o.Title = "Two circles"
	o.Shifts = []int{4, 11}
	elements, _ := render(t, paintObjective(o))
	if got := count(elements, "dot"); got != 25 {
		t.Errorf("%d dots, want 25", got)
	}
	if got := count(elements, "shift"); got != 2 {
		t.Errorf("%d shifts, want 2", got)
	}
	bars := 0
	for _, moved := range o.Moved {
		if moved > 0 {
			bars++
		}
	}
	if got := count(elements, "moved"); got != bars {
		t.Errorf("%d bars, want %d", got, bars)
	}
	final := formatValue(o.Values[24])
	wantTexts(t, elements, "Two circles", "normalized cut", "iteration", "moved", final, "shift", "1,000",
		final+" at iteration 24, from 800 at iteration 0 · dashed: 2 shifts of the diagonal")
}

func TestObjectiveTakesItsNameForATitle(t *testing.T) {
	o := fallingObjective(3)
	o.Moved = nil
	elements, _ := render(t, paintObjective(o))
	names, moved := 0, 0
	for _, txt := range texts(elements) {
		if txt == o.Name {
			names++
		}
		if txt == "moved" {
			moved++
		}
	}
	if names != 2 || moved != 0 {
		t.Errorf("the name stands %d times (title and axis), moved %d times", names, moved)
	}
}

func TestObjectiveOfDegenerateRuns(t *testing.T) {
	nan := math.NaN()
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		o    ObjectivePlot
		dots int
	}{
		"single":      {ObjectivePlot{Name: "J", Iterations: []int{0}, Values: []float64{3.25}, Moved: []int{0}}, 1},
		"single late": {ObjectivePlot{Name: "J", Iterations: []int{1000000}, Values: []float64{0}}, 1},
		"constant": {ObjectivePlot{Name: "J", Iterations: []int{0, 1, 2}, Values: []float64{7, 7, 7},
			Moved: []int{0, 0, 0}}, 3},
		"zero":       {ObjectivePlot{Name: "J", Iterations: []int{1, 2}, Values: []float64{0, 0}}, 2},
		"gaps":       {ObjectivePlot{Name: "J", Iterations: []int{0, 1, 2, 3}, Values: []float64{nan, 2, inf, 1}}, 2},
		"not finite": {ObjectivePlot{Name: "J", Iterations: []int{0}, Values: []float64{nan}}, 0},
		"huge": {ObjectivePlot{Name: "J", Iterations: []int{0, 1},
			Values: []float64{math.MaxFloat64, -math.MaxFloat64}}, 2},
		"tiny":        {ObjectivePlot{Name: "J", Iterations: []int{0, 1}, Values: []float64{5e-324, 0}}, 2},
		"same":        {ObjectivePlot{Name: "J", Iterations: []int{5, 5}, Values: []float64{1, 2}}, 2},
		"shift alone": {ObjectivePlot{Name: "J", Iterations: []int{0}, Values: []float64{1}, Shifts: []int{3}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			elements, _ := render(t, paintObjective(c.o))
			if got := count(elements, "dot"); got != c.dots {
				t.Errorf("%d dots, want %d", got, c.dots)
			}
		})
	}
}

func TestConstantObjectiveLiesInTheMiddle(t *testing.T) {
	o := ObjectivePlot{Name: "J", Iterations: []int{0, 1}, Values: []float64{1234.5, 1234.5}}
	course, _ := o.frames(320)
	if share := (course.bottom - course.at(0, 1234.5).y) / course.height(); math.Abs(share-0.5) > 1e-9 {
		t.Errorf("the line lies at %v of the height", share)
	}
}

func TestPictureOfALongRunIsSmall(t *testing.T) {
	elements, size := render(t, paintObjective(fallingObjective(100000)))
	if size > 200_000 {
		t.Errorf("%d bytes", size)
	}
	if got := count(elements, "dot"); got != 1 {
		t.Errorf("%d dots, want the last one only", got)
	}
	for _, e := range elements {
		if e.has("curve") && strings.Contains(e.data, "M") && strings.Count(e.data, "L") != maxCurvePoints-1 {
			t.Errorf("the line has %d segments", strings.Count(e.data, "L"))
		}
	}
}
