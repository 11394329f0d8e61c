// Package picture draws the results of a run. As SVG: the objective over the iterations, the points in
// two dimensions with their clusters and constraints, a summary of graphs that are too large to draw
// every vertex, and curves of scores. As PNG: the segments of an image.
//
// It writes to an io.Writer and reads no files, clock or global state; the same input gives the same
// bytes. Project, ProjectKernel and LayoutGraph give points, kernels and graphs their two coordinates.
package picture

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"sort"
	"strings"
	"unicode/utf8"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// sheet is one picture being drawn. Its origin is the lower left corner, its unit the point.
type sheet struct {
	draw.Canvas
	svg   *vgsvg.Canvas
	fonts *font.Cache
}

// The size of every picture: wide enough for a legend beside the drawing.
const (
	sheetWidth  = vg.Length(780)
	sheetHeight = vg.Length(560)
	margin      = vg.Length(22)
)

func newSheet(width, height vg.Length) *sheet {
	svg := vgsvg.NewWith(vgsvg.UseWH(width, height))
	s := &sheet{Canvas: draw.New(svg), svg: svg, fonts: font.NewCache(liberation.Collection())}
	s.SetColor(white)
	s.Fill(s.Rectangle.Path())
	return s
}

// writeTo writes the finished picture. Fonts are named, not embedded (that would add half a megabyte).
// Every text also names font families with the same metrics: without them, a viewer that does not have
// Liberation Sans would take a serif font of another width.
func (s *sheet) writeTo(w io.Writer) error {
	var out bytes.Buffer
	if _, err := s.svg.WriteTo(&out); err != nil {
		return fmt.Errorf("render the picture: %w", err)
	}
	portable := bytes.ReplaceAll(out.Bytes(),
		[]byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	if _, err := w.Write(portable); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}

// textStyle is how a text looks.
type textStyle struct {
	size  vg.Length
	bold  bool
	color color.Color
}

// alignment is the share of a text's width that lies left of its position.
type alignment float64

const (
	alignLeft   alignment = 0
	alignCenter alignment = 0.5
	alignRight  alignment = 1
)

func (s *sheet) face(l textStyle) font.Face {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	if l.bold {
		f.Weight = xfont.WeightBold
	}
	return s.fonts.Lookup(f, l.size)
}

func (s *sheet) textWidth(l textStyle, txt string) vg.Length {
	face := s.face(l)
	return face.Width(printable(txt))
}

// write puts a line of text with its baseline at y.
func (s *sheet) write(l textStyle, align alignment, x, y vg.Length, txt string) {
	txt = printable(txt)
	if txt == "" {
		return
	}
	face := s.face(l)
	s.SetColor(l.color)
	s.FillString(face, vg.Point{X: x - vg.Length(align)*face.Width(txt), Y: y}, txt)
}

// writeVertical writes a text from bottom to top, centered on y, with its baseline at x.
func (s *sheet) writeVertical(l textStyle, x, y vg.Length, txt string) {
	s.Push()
	s.Translate(vg.Point{X: x, Y: y})
	s.Rotate(math.Pi / 2)
	s.write(l, alignCenter, 0, 0, txt)
	s.Pop()
}

// maxRunes is more than fits into any line of a picture; more characters need not be measured.
const maxRunes = 400

// fit shortens a text to a width.
func (s *sheet) fit(l textStyle, txt string, width vg.Length) string {
	runes := []rune(printable(txt))
	if len(runes) <= maxRunes && s.textWidth(l, string(runes)) <= width {
		return string(runes)
	}
	shortened := func(length int) string { return strings.TrimRight(string(runes[:length]), " ") + "…" }
	tooLong := sort.Search(min(len(runes), maxRunes), func(length int) bool {
		return s.textWidth(l, shortened(length)) > width
	})
	return shortened(max(0, tooLong-1))
}

// printable removes what XML forbids (control characters, invalid UTF-8) and turns line breaks into
// spaces: titles come from users.
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

// heading writes the title and lines below it at the top, and returns the height where they end.
func (s *sheet) heading(title string, lines ...string) vg.Length {
	y, room := s.Max.Y-margin, s.Max.X-2*margin
	if title != "" {
		y -= 12
		s.write(titleText, alignLeft, margin, y, s.fit(titleText, title, room))
		y -= 4
	}
	for _, line := range lines {
		if line == "" {
			continue
		}
		y -= 13
		s.write(subtitleText, alignLeft, margin, y, s.fit(subtitleText, line, room))
		y -= 2
	}
	return y
}

// strokePath draws many separate segments as one element: the file is smaller, and a translucent color
// does not add up where segments cross.
func (s *sheet) strokePath(style draw.LineStyle, segments [][2]vg.Point) {
	if len(segments) == 0 {
		return
	}
	var path vg.Path
	for _, ends := range segments {
		path.Move(ends[0])
		path.Line(ends[1])
	}
	s.SetLineStyle(style)
	s.Stroke(path)
}
