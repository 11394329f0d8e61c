package picture

import (
	"strconv"

	"github.com/cleave-project/cleave/internal/text"
)

const (
	legendWidth = 210.0
	legendLine  = 18.0
	inOneColumn = 18 // more clusters are listed in two columns
	maxInLegend = 36 // as many clusters as look different
)

// drawLegend draws the legend of a file, from the top down, and returns its height, 0 if there is nothing to list.
func (g *Figure) drawLegend(c *canvas) (height float64) {
	y := 0.0
	heading := func(name string) {
		y += legendLine
		c.text("strong", point{0, y}, name)
	}
	row := func(left, right float64, name, count string) {
		c.text("", point{left, y}, fit(name, fontSize, right-left-8-textWidth(count, fontSize)))
		c.text("tick end", point{right, y}, count)
	}
	if len(g.Clusters) > 0 {
		heading("Clusters")
		shown, columns, noun := len(g.Clusters), 1, "cluster "
		if shown > maxInLegend {
			shown = maxInLegend - 2 // the last line says how many more there are
		}
		if shown > inOneColumn {
			columns, noun = 2, ""
		}
		top, lines := y, (shown+columns-1)/columns
		width := legendWidth / float64(columns)
		for at, entry := range g.Clusters[:shown] {
			left := float64(at/lines) * width
			y = top + float64(at%lines+1)*legendLine
			name := noun + strconv.Itoa(entry.Cluster)
			if entry.Class != "" {
				name = strconv.Itoa(entry.Cluster) + " " + entry.Class
			}
			c.printf(`<path class="mark %s" d="%s" transform="translate(%v %v)"/>`, ColorClass(entry.Cluster), shapes[shapeOf(entry.Cluster)], number(left+14), number(y-4))
			row(left+36, left+width-10, name, text.Grouped(entry.Size))
		}
		if y = top + float64(lines)*legendLine; shown < len(g.Clusters) {
			rest := 0
			for _, entry := range g.Clusters[shown:] {
				rest += entry.Size
			}
			y += legendLine
			row(36, legendWidth-10, "\u2026 "+text.Grouped(len(g.Clusters)-shown)+" more", text.Grouped(rest))
		}
		y += 8
	}
	for _, kind := range g.Kinds {
		y += legendLine
		indent := 36.0
		switch at := (point{14, y - 4}); {
		case kind.Class == "":
			indent = 0
		case kind.Class == "center":
			c.printf(`<g class="mark c0 center" transform="translate(%v %v)">%s</g>`, number(at.x), number(at.y), centerShape)
		case kind.Round():
			c.printf(`<circle class="sample %s" cx="%v" cy="%v" r="4.5"/>`, kind.Class, number(at.x), number(at.y))
		default:
			c.line("link "+kind.Class, point{0, at.y}, point{28, at.y})
		}
		row(indent, legendWidth-10, kind.Name, kind.Count)
	}
	return y
}
