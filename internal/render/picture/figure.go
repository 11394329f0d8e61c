// Package picture draws the results of a run as SVG: the clusters and their constraints in two dimensions, large
// graphs as graphs of their clusters, the objective, silhouettes, curves and bars of scores. A Figure can become a
// file of its own or a part of report.html.
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
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cleave-project/cleave/internal/text"
)

// Style is the style sheet of inline figures. It begins with the colors, as CSS variables.
//
//go:embed chart.css
var Style string

// Figure is a chart that has been laid out. Write makes a file of it, with its titles and legend; Inline makes an
// element of a page, which writes those itself. Sizes and places are in units of the view box.
type Figure struct {
	Title, Subtitle string         // of a file
	Note            string         // says what was left out; "" if everything was drawn
	Clusters        []ClusterEntry // the legend; empty if there is none
	Kinds           []KindEntry    // what else the legend explains

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
	Class   string  // "" for none
	Size    int     // of the whole cluster, even if a part is drawn
	X, Y    float64 // the mean of its drawn points, in the units of the data
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

// Zoomable reports whether a page can zoom into the figure.
func (g *Figure) Zoomable() bool { return g.zoom != nil }

// Inline returns the figure as an element of an HTML page that includes Style and Shapes.
func (g *Figure) Inline() template.HTML {
	var c canvas
	c.printf(`<svg id="%s" class="drawing %s" viewBox="0 0 %v %v" role="img" aria-label="%s"`, g.id, g.class,
		number(g.width), number(g.height), escape(g.label))
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

// writeLayers writes the chart without titles and legend. What page.js zooms is clipped to its frame.
func (g *Figure) writeLayers(c *canvas) {
	clip := ""
	if f := g.zoom; f != nil {
		c.printf("<clipPath id=\"%s-frame\"><rect x=\"%v\" y=\"%v\" width=\"%v\" height=\"%v\"/></clipPath>\n", g.id,
			number(f.left), number(f.top), number(f.width()), number(f.height()))
		clip = fmt.Sprintf(` clip-path="url(#%s-frame)"`, g.id)
	}
	c.printf("<g class=\"grids\">\n%s</g>\n<g%s><g class=\"view\">\n%s</g></g>\n<g class=\"ticks\">\n%s</g>\n%s",
		g.grid.String(), clip, g.data.String(), g.ticks.String(), g.names.String())
}

// Write writes the figure as an SVG file, with its title above and its legend on the right. It uses the light colors,
// and no CSS variables, which many programs do not know.
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
	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="%v" `+
		`height="%v" viewBox="0 0 %v %v">`, number(width), number(height), number(width), number(height))
	c.printf("\n<style>%s</style>\n<defs>%s</defs>\n<rect class=\"paper\" width=\"%v\" height=\"%v\"/>\n%s",
		fileStyle(), Shapes(markerScale[g.class]), number(width), number(height), head.String())
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

// line draws a line through some points.
func (c *canvas) line(class string, through ...point) { c.path(class, pathThrough(through), "") }

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
	c.printf("<rect class=\"%s\" x=\"%v\" y=\"%v\" width=\"%v\" height=\"%v\"/>\n", class, number(left), number(top),
		number(right-left), number(bottom-top))
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
		c.printf("<circle class=\"%s\" cx=\"%v\" cy=\"%v\" r=\"%v\" data-k=\"%d\"%s\n", class, number(at.x),
			number(at.y), number(radius), cluster, ending("circle", title))
		return
	}
	c.use(ShapeName(cluster), cluster, class, at, title)
}

// use draws a shape.
func (c *canvas) use(shape string, cluster int, class string, at point, title string) {
	c.printf("<use class=\"%s\" xlink:href=\"#%s\" x=\"%v\" y=\"%v\" data-k=\"%d\"%s\n", class, shape, number(at.x),
		number(at.y), cluster, ending("use", title))
}

// ending closes an element that may have a title.
func ending(element, title string) string {
	if title == "" {
		return "/>"
	}
	return "><title>" + escape(title) + "</title></" + element + ">"
}

// escape removes what XML forbids (control characters, invalid UTF-8), turns line breaks into spaces, and escapes
// markup. Texts come from users.
func escape(txt string) string { return html.EscapeString(printable(txt)) }

// printable turns line breaks and tabs into spaces, and removes what XML forbids and what has no shape.
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

// runeWidth estimates the width of a character of size 1, rather too wide than too narrow.
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

// colors is how many clusters differ by color alone; chart.css has them as --c0 to --c11. None is close to the red of
// violations, and the first six stay distinguishable under simulated protanopia and deuteranopia.
const colors = 12

// shapes are the outlines of markers, about 10 wide. They are combined with colors in steps of six, so that the first
// 36 clusters look different, and clusters of similar colors differ in shape.
var shapes = [...]string{
	"M4.3 0A4.3 4.3 0 1 1-4.3 0A4.3 4.3 0 1 1 4.3 0Z",
	"M-3.8-3.8H3.8V3.8H-3.8Z",
	"M0-5.6L5.1 3.4H-5.1Z",
	"M0-5.5L5.5 0L0 5.5L-5.5 0Z",
	"M0 5.6L5.1-3.4H-5.1Z",
	"M-1.7-5H1.7V-1.7H5V1.7H1.7V5H-1.7V1.7H-5V-1.7H-1.7Z",
}

// centerShape is a disc with a cross in it.
const centerShape = `<path d="M7 0A7 7 0 1 1-7 0A7 7 0 1 1 7 0Z"/><path class="cross" ` +
	`d="M-.9-4H.9V-.9H4V.9H.9V4H-.9V.9H-4V-.9H-.9Z"/>`

// ColorClass returns the CSS class that sets the color of a cluster.
func ColorClass(cluster int) string { return "c" + strconv.Itoa(cluster%colors) }

// ShapeName returns the id of the shape of a cluster's markers.
func ShapeName(cluster int) string { return "s" + strconv.Itoa(shapeOf(cluster)) }

func shapeOf(cluster int) int { return cluster / (colors / 2) % len(shapes) }

// Shapes returns the definitions that inline figures refer to, scaled by a factor.
func Shapes(scale float64) template.HTML {
	var b strings.Builder
	for at, path := range shapes {
		fmt.Fprintf(&b, `<path id="s%d" d="%s"`, at, path)
		if scale > 0 && scale != 1 {
			fmt.Fprintf(&b, ` transform="scale(%v)"`, scale)
		}
		b.WriteString("/>")
	}
	return template.HTML(b.String() + `<g id="center">` + centerShape + "</g>")
}

// markerScale makes the markers of crowded figures smaller, by class. A page does that in its style sheet.
var markerScale = map[string]float64{"crowd": 0.5, "many": 0.7, "some": 0.85}

const (
	legendWidth = 210.0
	legendLine  = 18.0
	inOneColumn = 18 // more clusters are listed in two columns, unless they have classes, which need room
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
		if shown > inOneColumn && !slices.ContainsFunc(g.Clusters, func(e ClusterEntry) bool { return e.Class != "" }) {
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
			c.printf(`<path class="mark %s" d="%s" transform="translate(%v %v)"/>`, ColorClass(entry.Cluster),
				shapes[shapeOf(entry.Cluster)], number(left+14), number(y-4))
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
			c.printf(`<g class="mark c0 center" transform="translate(%v %v)">%s</g>`, number(at.x), number(at.y),
				centerShape)
		case kind.Round():
			c.printf(`<circle class="sample %s" cx="%v" cy="%v" r="4.5"/>`, kind.Class, number(at.x), number(at.y))
		default:
			c.line("link "+kind.Class, point{0, at.y}, point{28, at.y})
		}
		row(indent, legendWidth-10, kind.Name, kind.Count)
	}
	return y
}
