package simulate

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/render/picture"
	"github.com/cleave-project/cleave/tools/measure"
	"github.com/cleave-project/cleave/tools/simulate/model"
)

// report is what was found.
type report struct {
	cfg     *Config
	points  []point
	costs   map[string]model.Cost
	perByte float64
	load    string
}

// pictureName is the picture of the document, in the folder pictures next to it.
const pictureName = "scale.svg"

// write prints the report, or puts it into the document and draws its picture.
func (r *report) write() error {
	var text strings.Builder
	r.table(&text)
	if r.cfg.Fill == "" {
		_, err := os.Stdout.WriteString(text.String())
		return err
	}
	var drawn bytes.Buffer
	if err := r.draw(&drawn); err != nil {
		return err
	}
	err := format.WriteFile(filepath.Join(filepath.Dir(r.cfg.Fill), "pictures", pictureName), func(w io.Writer) error {
		_, err := w.Write(drawn.Bytes())
		return err
	})
	if err != nil {
		return err
	}
	return measure.FillFile(r.cfg.Fill, "simulate", text.String())
}

// table writes the constants of the model and a row for each job.
func (r *report) table(w io.Writer) {
	cfg, links := r.cfg, r.cfg.links()
	fmt.Fprintf(w, "k = %d, %.3g %% of the points move in each iteration, workers of %d thread%s, links of %g "+
		"Gbit/s, %v round trips. %s, load of the machine before: %s.\n",
		cfg.K, 100/float64(cfg.MovedEvery), cfg.WorkerThreads, map[bool]string{true: "s"}[cfg.WorkerThreads > 1],
		cfg.Gigabits, cfg.RoundTrip,
		cfg.When(time.Now()), r.load)
	measure.Head(w, "job", "a row", "an entry", "a move", "a move of its own")
	for _, f := range families {
		if c, is := r.costs[f.name]; is {
			measure.Row(w, f.name, nanoseconds(c.Row), nanoseconds(c.Entry), nanoseconds(c.Move),
				nanoseconds(c.OwnMove))
		}
	}
	fmt.Fprintf(w, "\nSending takes the coordinator %.2f s of a processor for each GB.\n", r.perByte*1e9)
	measure.Head(w, "job", "n", "workers", "iteration", "times perfect", "coordinator", "its link", "a worker computes",
		"its link", "sends", "receives", "cores", "bend")
	for _, p := range r.points {
		total := p.Seconds(links)
		perfect := p.alone / float64(p.workers)
		measure.Row(w, p.family, power(p.rows), fmt.Sprint(p.workers), seconds(total),
			fmt.Sprintf("%.2f", total/perfect), seconds(p.CPU), seconds(p.Link(links)),
			seconds(p.Compute), seconds((p.WorkerIn+p.WorkerOut)/links.BytesPerSecond), size(p.Out), size(p.In),
			fmt.Sprintf("%.2f", p.CPU/total+p.idle), p.bend(links))
	}
}

// bend names what takes the most time beyond perfect scaling, or nothing while that is little.
func (p point) bend(l model.Links) string {
	total := p.Seconds(l)
	perfect := p.alone / float64(p.workers)
	if total <= 1.3*perfect {
		return ""
	}
	what, most := "", 0.0
	for _, part := range []struct {
		name string
		time float64
	}{
		{"coordinator", p.CPU}, {"bytes out", p.Out / l.BytesPerSecond}, {"bytes in", p.In / l.BytesPerSecond},
		{"moves of others", p.Compute - perfect}, {"worker's link", (p.WorkerIn + p.WorkerOut) / l.BytesPerSecond},
		{"round trips", p.Operations * l.RoundTrip},
	} {
		if part.time > most {
			what, most = part.name, part.time
		}
	}
	return what
}

// draw draws the time of an iteration over the number of workers, both as powers of ten.
func (r *report) draw(w io.Writer) error {
	links := r.cfg.links()
	plot := picture.CurvesPlot{
		Title:    "Time of an iteration by the number of workers",
		Subtitle: fmt.Sprintf("links of %g Gbit/s, k = %d", r.cfg.Gigabits, r.cfg.K),
		X:        "workers, as a power of ten", Y: "seconds, as a power of ten", WholeX: true,
	}
	for _, f := range families {
		panel := picture.CurvesPanel{Title: f.name}
		at := map[int]int{}
		for _, p := range r.points {
			if p.family != f.name {
				continue
			}
			c, there := at[p.rows]
			if !there {
				c = len(panel.Curves)
				at[p.rows] = c
				panel.Curves = append(panel.Curves, picture.Curve{Name: "n = " + power(p.rows)})
			}
			curve := &panel.Curves[c]
			curve.X = append(curve.X, math.Log10(float64(p.workers)))
			curve.Mean = append(curve.Mean, math.Log10(p.Seconds(links)))
		}
		if len(panel.Curves) > 0 {
			plot.Panels = append(plot.Panels, panel)
		}
	}
	return plot.Figure().Write(w)
}

// power writes a power of ten as one, and other numbers as they are.
func power(n int) string {
	if exponent := math.Log10(float64(n)); exponent == math.Trunc(exponent) && n >= 1000 {
		return fmt.Sprintf("10^%.0f", exponent)
	}
	return fmt.Sprint(n)
}

func nanoseconds(s float64) string {
	if s == 0 {
		return ""
	}
	return fmt.Sprintf("%.3g ns", s*1e9)
}

// seconds formats a time with three digits.
func seconds(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.3g us", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}

// size formats a number of bytes in units of 1000.
func size(b float64) string {
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if b < 1000 {
			return fmt.Sprintf("%.3g %s", b, unit)
		}
		b /= 1000
	}
	return fmt.Sprintf("%.4g TB", b)
}
