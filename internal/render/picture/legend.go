package picture

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	legendWidth   = vg.Length(172)
	legendLine    = vg.Length(17)
	legendSymbol  = vg.Length(26) // width of a line sample; markers stand in its middle
	inOneColumn   = 18            // clusters; more of them stand in two columns
	maxInLegend   = 36            // clusters: as many as look different
	legendSection = vg.Length(9)  // extra space between sections
)

// legend is a column of entries, written from the top down.
type legend struct {
	s           *sheet
	left, right vg.Length
	y           vg.Length // baseline of the next entry
}

func (s *sheet) newLegend(right, top vg.Length) *legend {
	return &legend{s: s, left: right - legendWidth, right: right, y: top - 10}
}

func (l *legend) symbol() vg.Point {
	return vg.Point{X: l.left + legendSymbol/2, Y: l.y + 3.4}
}

func (l *legend) text(name, number string) {
	room := l.right - l.left - legendSymbol - 8 - l.s.textWidth(countText, number)
	l.s.write(legendText, alignLeft, l.left+legendSymbol+6, l.y, l.s.fit(legendText, name, room))
	l.s.write(countText, alignRight, l.right, l.y, number)
	l.y -= legendLine
}

func (l *legend) heading(name string) {
	l.s.write(textStyle{size: 10, bold: true, color: ink}, alignLeft, l.left, l.y, name)
	l.y -= legendLine
}

func (l *legend) remark(txt string) {
	l.s.write(countText, alignLeft, l.left+legendSymbol+6, l.y, txt)
	l.y -= legendLine
}

func (l *legend) line(style draw.LineStyle, name, number string) {
	at := l.symbol()
	l.s.StrokeLine2(style, l.left, at.Y, l.left+legendSymbol, at.Y)
	l.text(name, number)
}

func (l *legend) marker(m marker, name, number string) {
	outline := draw.LineStyle{Color: white, Width: 0.6}
	l.s.drawMarker(m, l.symbol(), 4.4, &outline)
	l.text(name, number)
}

func (l *legend) ring(style draw.LineStyle, name, number string) {
	l.s.SetLineStyle(style)
	l.s.Stroke(shape{}.path(l.symbol(), 4.6))
	l.text(name, number)
}

func (l *legend) centroid(m marker, number string) {
	l.s.drawCenter(m, l.symbol(), 6)
	l.text("centroid", number)
	l.y -= legendSection
}

// clusters lists the clusters with their markers, classes and sizes: all that look different.
func (l *legend) clusters(sizes []int, classes []string, markerOf func(cluster int) marker) {
	l.heading("Clusters")
	name := func(cluster int, noun string) string {
		if cluster < len(classes) && classes[cluster] != "" {
			return formatCount(cluster) + " " + classes[cluster]
		}
		return noun + formatCount(cluster)
	}
	if len(sizes) <= inOneColumn {
		for cluster, size := range sizes {
			l.marker(markerOf(cluster), name(cluster, "cluster "), formatCount(size))
		}
		l.y -= legendSection
		return
	}
	shown := len(sizes)
	if shown > maxInLegend {
		shown = maxInLegend - 2 // the last line says how many more there are
	}
	half := (shown + 1) / 2
	const gap = vg.Length(14)
	width := (l.right - l.left - gap) / 2
	for at, first := range []int{0, half} {
		column := *l
		column.left += vg.Length(at) * (width + gap)
		column.right = column.left + width
		for cluster := first; cluster < min(first+half, shown); cluster++ {
			column.marker(markerOf(cluster), name(cluster, ""), formatCount(sizes[cluster]))
		}
	}
	l.y -= vg.Length(half) * legendLine
	if shown < len(sizes) {
		rest := 0
		for _, size := range sizes[shown:] {
			rest += size
		}
		l.text("… "+formatCount(len(sizes)-shown)+" more", formatCount(rest))
	}
	l.y -= legendSection
}

// constraints lists the kinds of constraints with their lines, and how many are satisfied or violated.
func (l *legend) constraints(t pairCounts) {
	if t.total() == 0 {
		return
	}
	l.heading("Constraints")
	if t.mustSatisfied+t.mustViolated > 0 {
		l.line(mustStyle, "must-link, satisfied", formatCount(t.mustSatisfied))
	}
	if t.cannotSatisfied+t.cannotViolated > 0 {
		l.line(cannotStyle, "cannot-link, satisfied", formatCount(t.cannotSatisfied))
	}
	if t.mustViolated > 0 {
		l.line(mustViolatedStyle, "must-link, violated", formatCount(t.mustViolated))
	}
	if t.cannotViolated > 0 {
		l.line(cannotViolatedStyle, "cannot-link, violated", formatCount(t.cannotViolated))
	}
	if t.mustViolated+t.cannotViolated == 0 {
		l.remark("none violated")
	}
	l.y -= legendSection
}

// counts says how many constraints are satisfied, for pictures in which they are not drawn.
func (l *legend) counts(t pairCounts) {
	if t.total() == 0 {
		return
	}
	l.heading("Constraints satisfied")
	if all := t.mustSatisfied + t.mustViolated; all > 0 {
		l.text("must-link", formatCount(t.mustSatisfied)+" of "+formatCount(all))
	}
	if all := t.cannotSatisfied + t.cannotViolated; all > 0 {
		l.text("cannot-link", formatCount(t.cannotSatisfied)+" of "+formatCount(all))
	}
	l.y -= legendSection
}
