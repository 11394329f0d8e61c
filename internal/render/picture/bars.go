package picture

import (
	"fmt"
)

// BarsPlot compares shares, each a horizontal bar with its name.
type BarsPlot struct {
	Title, Subtitle string
	Axis            string // what the shares are of
	Bars            []Bar  // from the top
}

// Bar is a share from 0 to 1. A bold one stands out from the others.
type Bar struct {
	Name  string
	Share float64
	Bold  bool
}

const barStep, barHeight = 24.0, 15.0

// Figure draws shares as horizontal bars, one below the other.
func (b BarsPlot) Figure() (*Figure, error) {
	g := &Figure{Title: b.Title, Subtitle: b.Subtitle, width: figureWidth}
	f := frame{left: inset, right: figureWidth - margin - 30, bottom: barStep * float64(len(b.Bars)), y: axis{hi: 1}}
	f.x = axis{name: b.Axis, hi: 1, ticks: linearTicks(0, 1, 10, 0)}
	for _, bar := range b.Bars {
		if !(bar.Share >= 0 && bar.Share <= 1) {
			return nil, fmt.Errorf("draw the bars: the share of %s is %v", bar.Name, bar.Share)
		}
		f.left = min(figureWidth/2, max(f.left, inset+8+textWidth(bar.Name, fontSize)))
	}
	g.height = f.bottom + roomBelow(f.x)
	g.drawFrame(f)
	for at, bar := range b.Bars {
		y, end, class := barStep*(float64(at)+0.5), f.at(bar.Share, 0).x, "quiet"
		if bar.Bold {
			class = "strong"
		}
		g.data.rect("bar "+class, f.left, y-barHeight/2, end, y+barHeight/2)
		g.names.text(class, point{inset, y + 4}, fit(bar.Name, fontSize, f.left-inset-8))
		g.names.text(class, point{end + 6, y + 4}, fmt.Sprintf("%.2f", bar.Share))
	}
	return g, nil
}
