package page

import (
	"math"
	"strconv"
	"strings"
)

// Map shows the clusters in two dimensions.
type Map struct {
	Text   string // what is shown
	Note   string // what was left out
	Axes   [2]string
	Points []Point
	Links  []Link // below the points, in this order
	// Clusters are listed in the legend, in this order; they have their places in the plane if Placed.
	Clusters []MapCluster
	Kinds    []LinkKind // what the links are, for the legend
	Table    *Table     // the same for those who do not see it
}

// Point is drawn as a marker, or as a disc if it has a radius.
type Point struct {
	X, Y    float64
	Cluster int
	Title   string // its id, and more
	Radius  float64
	Ring    bool // stands out: the truth disagrees
	Fade    int  // 0: as usual; the higher, the fainter, up to MaxFade
}

// MaxFade is the faintest that a point can be.
const MaxFade = 3

// Link is a line between two points, by their places in the list.
type Link struct {
	From, To int
	Kind     string  // class: "must", "cannot", "must violated", "cannot violated" or "edge"
	Width    float64 // 0: the usual
}

// LinkKind is an entry of the legend.
type LinkKind struct{ Class, Name, Count string }

// Fade tells whether it is a shade of points, and no line.
func (k LinkKind) Fade() bool { return strings.HasPrefix(k.Class, "fade") }

// MapCluster is an entry of the legend, and the place where the number of the cluster is written.
type MapCluster struct {
	Cluster int
	Class   string // "": it has none
	Size    string
	X, Y    float64
	Placed  bool
}

const (
	mapWidth, mapHeight = 800, 600
	// maxScaleRatio is the ratio of two scales up to which both axes get the same one, so that a circle is round.
	maxScaleRatio = 4
)

func (m *Map) draw() *drawing {
	d := &drawing{ID: "map", Label: "Clusters in two dimensions. " + m.Text, Width: mapWidth, Height: mapHeight, Left: 12, Top: 12, Right: mapWidth - 54, Bottom: mapHeight - 12} // the buttons are on the right
	if m.Axes[0] != "" {
		d.Bottom = mapHeight - 46
	}
	if m.Axes[1] != "" {
		d.Left = 74
	}
	x, y := m.scales(d)
	var onX, onY *axis
	if m.Axes[0] != "" {
		onX = &x
	}
	if m.Axes[1] != "" {
		onY = &y
	}
	d.addTicks(onX, onY, false)
	d.addAxes(m.Axes[0], m.Axes[1])
	d.Domain = domain(x, y)
	switch n := len(m.Points); {
	case n > 1500:
		d.Class = "crowd"
	case n > 500:
		d.Class = "many"
	}
	for _, link := range m.Links {
		a, b := m.Points[link.From], m.Points[link.To]
		width := "link " + link.Kind
		if link.Width > 0 {
			width += " w" + strconv.Itoa(int(math.Ceil(10*min(1, link.Width))))
		}
		d.Lines = append(d.Lines, line{width, x.at(a.X), y.at(a.Y), x.at(b.X), y.at(b.Y)})
	}
	for _, p := range m.Points {
		class := "mark " + colorClass(p.Cluster)
		if p.Ring {
			class += " ring"
		}
		if p.Fade > 0 {
			class += " fade" + strconv.Itoa(min(MaxFade, p.Fade))
		}
		d.Dots = append(d.Dots, mark{Class: class, Shape: shapeOf(p.Cluster).Name, Cluster: p.Cluster, X: x.at(p.X), Y: y.at(p.Y), Radius: number(p.Radius), Title: p.Title})
	}
	for _, c := range m.Clusters {
		if c.Placed {
			d.addName(numbered(c.Cluster, c.Class), c.Cluster, x.at(c.X), y.at(c.Y))
		}
	}
	return d
}

// nameHeight and nameWidth are about the size of a line of names, and of a letter in it.
const nameHeight, nameWidth = 17, 9

// fewDots are so few that each of them must be seen.
const fewDots = 10

// covers tells whether a name would hide its cluster: one of few dots, or most of many. Discs have room for a name.
func (d *drawing) covers(name string, cluster int, x, y number) bool {
	all, hidden := 0, 0
	for _, dot := range d.Dots {
		if dot.Cluster != cluster || dot.Radius > 0 {
			continue
		}
		all++
		if math.Abs(float64(dot.X-x)) < float64(half(name)) && math.Abs(float64(dot.Y-y)) < nameHeight/2 {
			hidden++
		}
	}
	return hidden > 0 && (all <= fewDots || 4*hidden > 3*all)
}

// half is half the width of a name.
func half(text string) number { return nameWidth * number(len([]rune(text))) / 2 }

// addName writes the name of a cluster at a place within the frame, or above or below what is in its way.
func (d *drawing) addName(name string, cluster int, x, y number) {
	x = max(d.Left+half(name), min(d.Right-half(name), x))
	lines := []number{0, -1, 1, -2, 2, -3, 3}
	if d.covers(name, cluster, x, y) {
		lines = lines[1:]
	}
	y += 5 // to the foot of the letters
	for _, by := range lines {
		at := y + by*nameHeight
		free := at > d.Top+nameHeight && at < d.Bottom
		for _, other := range d.Names {
			if math.Abs(float64(other.Y-at)) < nameHeight && math.Abs(float64(other.X-x)) < float64(half(name)+half(other.Text)) {
				free = false
			}
		}
		if free {
			y = at
			break
		}
	}
	d.Names = append(d.Names, label{Class: "name middle", Text: name, X: x, Y: y, Cluster: cluster})
}

// scales fits the points into the frame, on both axes by the same scale where that leaves no thin strip.
func (m *Map) scales(d *drawing) (x, y axis) {
	room := number(0) // for discs at the edge
	for _, p := range m.Points {
		room = max(room, number(p.Radius))
	}
	x, y = axis{math.Inf(1), math.Inf(-1), d.Left + room, d.Right - room}, axis{math.Inf(1), math.Inf(-1), d.Bottom - room, d.Top + room}
	for _, p := range m.Points {
		x.lo, x.hi = min(x.lo, p.X), max(x.hi, p.X)
		y.lo, y.hi = min(y.lo, p.Y), max(y.hi, p.Y)
	}
	if len(m.Points) == 0 {
		x.lo, x.hi, y.lo, y.hi = 0, 1, 0, 1
	}
	x.lo, x.hi = widen(x.lo, x.hi, 0.04)
	y.lo, y.hi = widen(y.lo, y.hi, 0.04)
	perX, perY := (x.hi-x.lo)/float64(x.to-x.from), (y.hi-y.lo)/float64(y.from-y.to)
	switch {
	case (m.Axes[0] == "") != (m.Axes[1] == "") || perX > maxScaleRatio*perY || perY > maxScaleRatio*perX:
	case perX > perY:
		by := (perX*float64(y.from-y.to) - (y.hi - y.lo)) / 2
		y.lo, y.hi = y.lo-by, y.hi+by
	default:
		by := (perY*float64(x.to-x.from) - (x.hi - x.lo)) / 2
		x.lo, x.hi = x.lo-by, x.hi+by
	}
	return x, y
}

func domain(x, y axis) string {
	var parts []string
	for _, v := range []float64{x.lo, x.hi, y.lo, y.hi} {
		parts = append(parts, strconv.FormatFloat(v, 'g', 9, 64))
	}
	return strings.Join(parts, " ")
}

// maxDrawnClass is how much of a class is written into a drawing.
const maxDrawnClass = 16

// numbered is a cluster within a drawing: its number, and its class if it has one.
func numbered(cluster int, class string) string {
	if class == "" {
		return strconv.Itoa(cluster)
	}
	return strconv.Itoa(cluster) + " " + Isolated(Short(class, maxDrawnClass))
}
