package picture

import (
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot/vg"
)

// BarsPlot compares shares, each a horizontal bar with its name.
type BarsPlot struct {
	Title, Subtitle string
	Axis            string // what the shares are of
	Bars            []Bar  // from the top
}

// Bar is a share, 0 to 1. Some stand out from the others.
type Bar struct {
	Name  string
	Share float64
	Bold  bool
}

const (
	barStep   = vg.Length(22)
	barHeight = vg.Length(14)
)

// Bars draws shares as horizontal bars, one below the other.
func Bars(w io.Writer, b BarsPlot) error {
	x := axis{name: b.Axis, hi: 1, ticks: linearTicks(0, 1, 10, 0)}
	s := newSheet(sheetWidth, 130+vg.Length(len(b.Bars))*barStep)
	top := s.heading(b.Title, b.Subtitle) - 14
	left := margin
	for _, bar := range b.Bars {
		if !(bar.Share >= 0 && bar.Share <= 1) {
			return fmt.Errorf("draw the bars: the share of %s is %v", bar.Name, bar.Share)
		}
		// Names begin at the margin, with room for a font that is wider than the one they were measured with.
		left = max(left, margin+8+1.2*s.textWidth(barText(bar), bar.Name))
	}
	left = min(left, s.Max.X/2)
	f := frame{x: x, y: axis{hi: 1}}
	f.Min = vg.Point{X: left, Y: margin + roomBelow(x)}
	f.Max = vg.Point{X: s.Max.X - margin - 30, Y: top}
	s.drawFrame(f)
	for at, bar := range b.Bars {
		text, y := barText(bar), top-barStep*(vg.Length(at)+0.5)
		end := f.at(bar.Share, 0).X
		s.SetColor(barColor(bar))
		s.Fill(vg.Rectangle{Min: vg.Point{X: left, Y: y - barHeight/2}, Max: vg.Point{X: end, Y: y + barHeight/2}}.Path())
		s.write(text, alignLeft, margin, y-3.3, s.fit(text, bar.Name, left-margin-8))
		s.write(text, alignLeft, end+5, y-3.3, fmt.Sprintf("%.2f", bar.Share))
	}
	return s.writeTo(w)
}

func barText(b Bar) textStyle { return textStyle{size: legendText.size, bold: b.Bold, color: ink} }

func barColor(b Bar) color.Color {
	if b.Bold {
		return palette[0]
	}
	return axisGray
}
