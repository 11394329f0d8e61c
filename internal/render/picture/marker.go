package picture

import (
	"encoding/hex"
	"fmt"
	"html/template"
	"image/color"
	"strconv"
	"strings"
)

// colors is how many clusters differ by color alone; chart.css has them as --c0 to --c11. None is close to the red of
// violations, and the first six stay distinguishable under simulated protanopia and deuteranopia.
const colors = 12

// shapes are the outlines of markers, about 10 wide. They are combined with colors in steps of six, so that the first 36
// clusters look different, and clusters of similar colors differ in shape.
var shapes = [...]string{
	"M4.3 0A4.3 4.3 0 1 1-4.3 0A4.3 4.3 0 1 1 4.3 0Z",
	"M-3.8-3.8H3.8V3.8H-3.8Z",
	"M0-5.6L5.1 3.4H-5.1Z",
	"M0-5.5L5.5 0L0 5.5L-5.5 0Z",
	"M0 5.6L5.1-3.4H-5.1Z",
	"M-1.7-5H1.7V-1.7H5V1.7H1.7V5H-1.7V1.7H-5V-1.7H-1.7Z",
}

// centerShape is a disc with a cross in it.
const centerShape = `<path d="M7 0A7 7 0 1 1-7 0A7 7 0 1 1 7 0Z"/><path class="cross" d="M-.9-4H.9V-.9H4V.9H.9V4H-.9V.9H-4V-.9H-.9Z"/>`

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

// palette has the light colors of chart.css, for pictures that are not SVG.
var palette = func() (list [colors]color.NRGBA) {
	values := lightColors()
	for at := range list {
		if rgb, err := hex.DecodeString(strings.TrimPrefix(values["--c"+strconv.Itoa(at)], "#")); err == nil && len(rgb) == 3 {
			list[at] = color.NRGBA{R: rgb[0], G: rgb[1], B: rgb[2], A: 255}
		}
	}
	return list
}()

var white = color.NRGBA{R: 255, G: 255, B: 255, A: 255}
