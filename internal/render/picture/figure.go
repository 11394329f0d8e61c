// Package picture draws the results of a run as SVG: the clusters and their constraints in two dimensions, large graphs as
// graphs of their clusters, the objective, silhouettes, curves and bars of scores. A Figure can become a file of its own
// or a part of report.html. Overlay draws the segments of an image as PNG.
//
// The package reads no files, clock or global state; the same input gives the same bytes. Project, ProjectKernel,
// ProjectSparse and LayoutGraph give the rows of a data set their two coordinates.
package picture

import (
	_ "embed" // chart.css
	"fmt"
	"html"
	"html/template"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Style is the style sheet of inline figures. It begins with the colors, as CSS variables.
//
//go:embed chart.css
var Style string

// Figure is a chart that has been laid out.
type Figure struct {
	Title, Subtitle string
	Note            string // says what was left out; "" if everything was drawn
	Clusters        []ClusterEntry
	Kinds           []KindEntry

	about            string // explains the chart in a file; a page has a text of its own
	id, label, class string // label describes the chart to those who cannot see it
	width, height    float64
	zoom             *frame // the frame that page.js zooms into; nil for none

	// The layers, from the bottom up.
	grid, data, ticks, names canvas
}

// ClusterEntry lists a cluster in the legend.
type ClusterEntry struct {
	Cluster int
	Class   string // "" for none
	Size    int
	X, Y    float64 // the mean of its drawn points
	Drawn   bool    // whether any of its points are drawn
}

// KindEntry explains a kind of line or marker in the legend. Class is its CSS class; "" if it is text only.
type KindEntry struct{ Class, Name, Count string }

// Round reports whether the legend shows a round sample rather than a line.
func (k KindEntry) Round() bool {
	return strings.HasPrefix(k.Class, "fade") || k.Class == "ring" || k.Class == "center"
}

// The size of figures, of their text, and of what a file adds around them.
const (
	figureWidth  = 800.0
	figureHeight = 600.0
	fontSize     = 12.0
	titleSize    = 19.0
	margin       = 22.0
	inset        = 12.0 // of a figure in its file
)

// Write draws a plot, by its method Figure, and writes it as an SVG file. It writes nothing if the plot cannot be drawn.
func Write(w io.Writer, figure func() (*Figure, error)) error {
	g, err := figure()
	if err != nil {
		return err
	}
	return g.Write(w)
}

// Zoomable reports whether a page can zoom into the figure.
func (g *Figure) Zoomable() bool { return g.zoom != nil }

// Inline returns the figure as an element of an HTML page that includes Style and Shapes.
func (g *Figure) Inline() template.HTML {
	var c canvas
	c.printf(`<svg id="%s" class="drawing %s" viewBox="0 0 %v %v" role="img" aria-label="%s"`, g.id, g.class, number(g.width), number(g.height), escape(g.label))
	if f := g.zoom; f != nil {
		numbered := ""
		if len(f.x.ticks) > 0 {
			numbered += "x"
		}
		if len(f.y.ticks) > 0 {
			numbered += "y"
		}
		c.printf(` data-frame="%v %v %v %v" data-domain="%.9g %.9g %.9g %.9g" data-numbered="%s"`,
			number(f.left), number(f.top), number(f.right), number(f.bottom), f.x.lo, f.x.hi, f.y.lo, f.y.hi, numbered)
	}
	c.WriteString(">\n")
	g.writeLayers(&c)
	c.WriteString("</svg>")
	return template.HTML(c.String())
}

func (g *Figure) writeLayers(c *canvas) {
	clip := ""
	if f := g.zoom; f != nil {
		c.printf("<clipPath id=\"%s-frame\"><rect x=\"%v\" y=\"%v\" width=\"%v\" height=\"%v\"/></clipPath>\n", g.id, number(f.left), number(f.top), number(f.width()), number(f.height()))
		clip = fmt.Sprintf(` clip-path="url(#%s-frame)"`, g.id)
	}
	c.printf("<g class=\"grids\">\n%s</g>\n<g%s><g class=\"view\">\n%s</g></g>\n<g class=\"ticks\">\n%s</g>\n%s", g.grid.String(), clip, g.data.String(), g.ticks.String(), g.names.String())
}

// Write writes the figure as an SVG file, with its title above and its legend on the right. It uses the light colors, and
// no CSS variables, which many programs do not know.
func (g *Figure) Write(w io.Writer) error {
	var c, legend canvas
	below := g.drawLegend(&legend)
	width := g.width + 2*inset
	if below > 0 {
		width += legendWidth
	}
	top, head := margin, canvas{}
	line := func(class string, size float64, txt string) {
		if txt != "" {
			top += size + 4
			head.text(class, point{margin, top}, fit(txt, size, width-2*margin))
		}
	}
	line("title", titleSize, g.Title)
	line("subtitle", fontSize, g.Subtitle)
	line("subtitle", fontSize, g.about)
	line("subtitle", fontSize, g.Note)
	top += 12
	height := top + max(g.height, below) + 8
	c.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n")
	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="%v" height="%v" viewBox="0 0 %v %v">`, number(width), number(height), number(width), number(height))
	c.printf("\n<style>%s</style>\n<defs>%s</defs>\n<rect class=\"paper\" width=\"%v\" height=\"%v\"/>\n%s", fileStyle(), Shapes(markerScale[g.class]), number(width), number(height), head.String())
	c.printf("<g transform=\"translate(%v %v)\">\n", number(inset), number(top))
	g.writeLayers(&c)
	c.printf("<g transform=\"translate(%v 0)\">\n%s</g>\n</g>\n</svg>\n", number(g.width), legend.String())
	if _, err := io.WriteString(w, tooltip.ReplaceAllString(c.String(), "")); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}

// tooltip matches the titles of elements, which only a page needs: they have the ids of rows.
var tooltip = regexp.MustCompile("<title>[^<]*</title>")

var variable = regexp.MustCompile(`(--[a-z0-9-]+): ([^;]+);`)

// lightColors returns the variables that Style declares first.
func lightColors() map[string]string {
	declared := map[string]string{}
	light, _, _ := strings.Cut(Style, "}")
	for _, found := range variable.FindAllStringSubmatch(light, -1) {
		declared[found[1]] = found[2]
	}
	return declared
}

// fileStyle returns the rules of Style with the light colors in place of the variables.
func fileStyle() string {
	_, rules, _ := strings.Cut(Style, "*/")
	for name, value := range lightColors() {
		rules = strings.ReplaceAll(rules, "var("+name+")", value)
	}
	return rules
}

// point is a position in a figure, in units of its view box; y grows downward.
type point struct{ x, y float64 }

// number is a coordinate, written with one decimal.
type number float64

func (n number) String() string {
	text := strings.TrimSuffix(strconv.FormatFloat(float64(n), 'f', 1, 64), ".0")
	if text == "-0" {
		return "0"
	}
	return text
}

// canvas collects SVG elements.
type canvas struct{ strings.Builder }

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(c, format, args...) }

func (c *canvas) line(class string, from, to point) { c.lines(class, []point{from, to}) }

// lines draws a line through some points.
func (c *canvas) lines(class string, through []point) {
	c.path(class, pathThrough(through), "")
}

// path draws a path; title is what a browser shows under the pointer, "" for nothing.
func (c *canvas) path(class, d, title string) {
	c.printf("<path class=\"%s\" d=\"%s\"%s\n", class, d, ending("path", title))
}

func pathThrough(points []point) string {
	var b strings.Builder
	pen := "M"
	for _, p := range points {
		b.WriteString(pen + number(p.x).String() + " " + number(p.y).String())
		pen = "L"
	}
	return b.String()
}

func (c *canvas) rect(class string, left, top, right, bottom float64) {
	c.printf("<rect class=\"%s\" x=\"%v\" y=\"%v\" width=\"%v\" height=\"%v\"/>\n", class, number(left), number(top), number(right-left), number(bottom-top))
}

// text writes a line of text with its baseline at y; an empty one is left out.
func (c *canvas) text(class string, at point, txt string) {
	if txt != "" {
		c.printf("<text class=\"%s\" x=\"%v\" y=\"%v\">%s</text>\n", class, number(at.x), number(at.y), escape(txt))
	}
}

// mark draws the marker of a cluster, and with a radius a disc.
func (c *canvas) mark(cluster int, class string, at point, radius float64, title string) {
	class = strings.TrimSpace("mark " + ColorClass(cluster) + " " + class)
	if radius > 0 {
		c.printf("<circle class=\"%s\" cx=\"%v\" cy=\"%v\" r=\"%v\" data-k=\"%d\"%s\n", class, number(at.x), number(at.y), number(radius), cluster, ending("circle", title))
		return
	}
	c.use(ShapeName(cluster), cluster, class, at, title)
}

// use draws a shape.
func (c *canvas) use(shape string, cluster int, class string, at point, title string) {
	c.printf("<use class=\"%s\" xlink:href=\"#%s\" x=\"%v\" y=\"%v\" data-k=\"%d\"%s\n", class, shape, number(at.x), number(at.y), cluster, ending("use", title))
}

// ending closes an element that may have a title.
func ending(element, title string) string {
	if title == "" {
		return "/>"
	}
	return "><title>" + escape(title) + "</title></" + element + ">"
}

// escape removes what XML forbids (control characters, invalid UTF-8), turns line breaks into spaces, and escapes markup.
// Texts come from users.
func escape(txt string) string { return html.EscapeString(printable(txt)) }

func printable(txt string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < 0x20 || r == utf8.RuneError || r == 0xFFFE || r == 0xFFFF || (r >= 0x7F && r < 0xA0):
			return -1
		}
		return r
	}, txt)
}

// textWidth estimates the width of a text; the font is up to the viewer, and may be a wide one.
func textWidth(txt string, size float64) float64 {
	width := 0.0
	for _, r := range printable(txt) {
		width += runeWidth(r)
	}
	return width * size
}

func runeWidth(r rune) float64 {
	switch {
	case strings.ContainsRune(" ijlftI.,:;'!|()[]", r):
		return 0.35
	case strings.ContainsRune("mwMW@%", r), r >= 0x1100:
		return 1
	case r >= 'A' && r <= 'Z':
		return 0.72
	}
	return 0.58
}

// fit shortens a text to a width.
func fit(txt string, size, width float64) string {
	txt = printable(txt)
	room, end := width/size+1e-6, 0
	for at, r := range txt {
		if room -= runeWidth(r); room < 0 {
			return strings.TrimRight(txt[:end], " ") + "\u2026"
		}
		if room >= 1 { // leaves room for the ellipsis
			end = at + utf8.RuneLen(r)
		}
	}
	return txt
}
