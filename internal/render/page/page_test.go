package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hostile are names that strangers may choose.
var hostile = []string{
	`</script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `{{.Title}}`, `<!--`, `]]>`,
	"\x00\x1b[31m", "\u202eright to left", strings.Repeat("long", 500), `javascript:alert(1)`, `&lt;b&gt;`,
}

// fullPage has a text in every place that a page has.
func fullPage(name string) *Page {
	table := func() *Table {
		cluster := 1
		return &Table{Caption: name, Note: name, Columns: []Column{{Name: name}, {Name: name, Numbers: true, Mark: &cluster}},
			Rows: [][]Cell{{Named(name), Text(name)}, {OfCluster(1, name), ShareBar(name, 0.5)}, {Named(""), DifferenceBar(name, -0.5).Tinted(-2)}}}
	}
	section := func() *Section {
		return &Section{Text: []string{name}, Facts: []Fact{{name, name}}, Table: table()}
	}
	return &Page{
		Title: name, Answer: name, Figures: []Fact{{name, name}}, Notices: []string{name}, Asked: []Fact{{name, name}}, Reading: []string{name},
		Map: &Map{Text: name, Note: name, Axes: [2]string{name, name}, Points: []Point{{0, 0, 0, name, 0, true, 2}, {1, 1, 13, name, 4, false, 0}},
			Links: []Link{{0, 1, "must violated", 0}, {0, 1, "edge", 0.3}}, Kinds: []LinkKind{{"must", name, name}, {"ring", name, name}, {"fade2", name, name}},
			Clusters: []MapCluster{{Cluster: 0, Class: name, Size: name, Placed: true}, {Cluster: 13, Size: name}}, Table: table()},
		Sizes: table(), Profiles: &Profiles{Text: name, Overview: table(), Note: name, Clusters: []Profile{{0, name, name, name, table()}}},
		Typical: table(), Borderline: table(), RowsTitle: name, RowsNote: name,
		Silhouette: &Silhouette{Text: name, Note: name, Mean: 0.5, Clusters: []ClusterSilhouette{{0, name, []float64{0.9, -0.4}, 0.25}}, Table: table()},
		Confidence: &Confidence{name, table(), table()}, HowMany: section(),
		Suspects: section(), Constraints: section(), Truth: section(), Ways: section(),
		Course: &Course{Text: name, Name: name, Step: name, Steps: []int{0, 1, 2}, Values: []float64{3, math.NaN(), 1}, Shifts: []int{1}, Table: table()},
		Plan:   section(), Times: table(), Repeat: &Repeat{Facts: []Fact{{name, name}}, Command: name, Spec: name},
	}
}

// Whatever names are, the page has the same elements and attributes.
func TestNamesAreNoMarkup(t *testing.T) {
	want := skeleton(t, write(t, fullPage("plain")))
	for _, name := range hostile {
		if got := skeleton(t, write(t, fullPage(name))); got != want {
			t.Errorf("%.60q changes the page", name)
		}
	}
}

// skeleton lists the elements of a page and the names of their attributes, without the texts.
func skeleton(t *testing.T, page string) string {
	t.Helper()
	from, to := strings.Index(page, "<body>"), strings.LastIndex(page, "<script>")
	if from < 0 || to < from {
		t.Fatal("the page has no body or no script")
	}
	decoder := xml.NewDecoder(strings.NewReader(strings.ReplaceAll(page[:to], "\x1b", "")))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var b strings.Builder
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) || err != nil && strings.Contains(err.Error(), "unexpected EOF") {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			b.WriteString(start.Name.Local)
			for _, attribute := range start.Attr {
				if strings.HasPrefix(attribute.Name.Local, "on") || attribute.Name.Local == "style" {
					t.Errorf("<%s> has an attribute %s", start.Name.Local, attribute.Name.Local)
				}
				b.WriteString(" " + attribute.Name.Local)
			}
			b.WriteString("\n")
		}
	}
}

func TestAnEmptyPageHasNoSections(t *testing.T) {
	text := write(t, &Page{Title: "nothing", Answer: "There is nothing."})
	if strings.Contains(text, "<section") || strings.Contains(text, "<li>") || strings.Contains(text, "<table") {
		t.Error(text[strings.Index(text, "<body>"):strings.LastIndex(text, "<script>")])
	}
}

// Nothing is loaded, and only our own style and script are allowed.
func TestThePageNeedsNothingElse(t *testing.T) {
	text := write(t, fullPage("plain"))
	for _, part := range []string{"http://", "https://", "@import", "url(\"", "src=", "eval(", "innerHTML"} {
		if rest := strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""); strings.Contains(rest, part) {
			t.Errorf("the page has %q", part)
		}
	}
	if !strings.Contains(text, `default-src &#39;none&#39;`) && !strings.Contains(text, `default-src 'none'; style-src 'sha256-`) {
		t.Error("the page allows more than it needs")
	}
}

func TestTheFirst36ClustersLookDifferent(t *testing.T) {
	seen := map[string]int{}
	for cluster := range 36 {
		look := colorClass(cluster) + shapeOf(cluster).Name
		if other, again := seen[look]; again {
			t.Errorf("clusters %d and %d look the same", other, cluster)
		}
		seen[look] = cluster
	}
}

func TestNumbersForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Number(0), "0"}, {Number(3), "3"}, {Number(-1.25), "\u22121.25"}, {Number(1234.5678), "1235"}, {Number(123456.7), "123,457"},
		{Number(0.0123456), "0.01235"}, {Number(1e-7), "1 \u00d7 10\u207b\u2077"}, {Number(6.5e12), "6.5 \u00d7 10\u00b9\u00b2"},
		{Number(math.NaN()), "none"}, {Number(math.Inf(-1)), "\u2212infinite"}, {Number(99.996), "100"},
		{Count(1234567), "1,234,567"}, {Count(-1000), "\u22121,000"}, {Signed(0.001, 2), "0"}, {Signed(1.5, 2), "+1.50"}, {Signed(-2, 1), "\u22122.0"},
		{Fixed(-0.001, 2), "0.00"}, {Fixed(-0.5, 2), "\u22120.50"}, {Percent(0.5), "50 %"}, {Percent(0.012), "1.2 %"}, {Percent(1e-5), "< 0.1 %"},
		{Seconds(0.0001), "< 1 ms"}, {Seconds(0.25), "250 ms"}, {Seconds(1.234), "1.23 s"}, {Seconds(90), "90 s"}, {Seconds(600), "10 min"}, {Seconds(9000), "2 h 30 min"},
		{Short("abcdef", 4), "abc\u2026"}, {Short("אבגד", 4), "אבגד"}, {number(-0.01).String(), "0"}, {number(12.34).String(), "12.3"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestTicksAreRoundAndInside(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		whole  bool
	}{{0, 1, false}, {-3.7, 12.1, false}, {1e-9, 2e-9, false}, {-1e12, 1e12, false}, {0, 3, true}, {0, 1000, true}} {
		list := ticks(c.lo, c.hi, 8, c.whole)
		if len(list) < 2 || len(list) > 20 || list[0] < c.lo || list[len(list)-1] > c.hi {
			t.Errorf("%v to %v has the ticks %v", c.lo, c.hi, list)
		}
		for _, v := range list {
			if c.whole && v != math.Round(v) {
				t.Errorf("%v to %v has the tick %v", c.lo, c.hi, v)
			}
		}
	}
}

// Data that are all at one place, or on a line, are drawn within the frame.
func TestMapsOfDegenerateData(t *testing.T) {
	for name, points := range map[string][]Point{
		"none": nil, "one": {{X: 5, Y: 5}}, "same": {{X: 1e9, Y: 1e9}, {X: 1e9, Y: 1e9}}, "line": {{X: 0}, {X: 1}, {X: 2}}, "tiny": {{X: 1e-300}, {X: 2e-300, Y: 1}},
	} {
		d := (&Map{Points: points, Axes: [2]string{"x", "y"}}).draw()
		for _, dot := range d.Dots {
			if !(dot.X >= d.Left && dot.X <= d.Right && dot.Y >= d.Top && dot.Y <= d.Bottom) {
				t.Errorf("%s: a point at %v, %v", name, dot.X, dot.Y)
			}
		}
	}
	if (&Course{Steps: []int{0}, Values: []float64{math.NaN()}}).draw() != nil || (&Silhouette{}).draw() != nil {
		t.Error("something is drawn of nothing")
	}
}

// A cluster whose points are all at one place, or which has few of them, is not hidden by its name.
func TestNamesHideNoCluster(t *testing.T) {
	for what, points := range map[string][]Point{
		"27 points at one place": slices.Repeat([]Point{{X: 1, Y: 1}}, 27),
		"four vertices":          {{X: 1, Y: 1}, {X: 9, Y: 0}, {X: 0, Y: 9}, {X: 9, Y: 9}},
	} {
		m := &Map{Points: append(points, Point{X: -10, Y: -10, Cluster: 1}), Clusters: []MapCluster{{X: 1, Y: 1, Placed: true}}}
		d := m.draw()
		if name, dot := d.Names[0], d.Dots[0]; name.X != dot.X || dot.Y-name.Y < nameHeight/2 && name.Y-dot.Y < nameHeight {
			t.Errorf("%s: the name is at %v, %v, the points at %v, %v", what, name.X, name.Y, dot.X, dot.Y)
		}
	}
	var cloud []Point
	for i := range 400 {
		cloud = append(cloud, Point{X: float64(i % 20), Y: float64(i / 20)})
	}
	if d := (&Map{Points: cloud, Clusters: []MapCluster{{X: 10, Y: 10, Placed: true}}}).draw(); d.Names[0].Y < d.Dots[210].Y {
		t.Error("the name of a cloud is not in its middle")
	}
}
