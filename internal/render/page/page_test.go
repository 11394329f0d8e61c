package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/render/picture"
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
	`</script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `{{.Title}}`,
	`<!--`, `]]>`,
	"\x00\x1b[31m", "\u202eright to left", strings.Repeat("long", 500), `javascript:alert(1)`, `&lt;b&gt;`,
}

// fullPage has a text in every place that a page has.
func fullPage(t *testing.T, name string) *Page {
	t.Helper()
	table := func() *Table {
		cluster := 1
		return &Table{Caption: name, Note: name,
			Columns: []Column{{Name: name}, {Name: name, Numbers: true, Mark: &cluster}},
			Rows: [][]Cell{{Named(name), Text(name)}, {OfCluster(1, name), ShareBar(name, 0.5)},
				{Named(""), DifferenceBar(name, -0.5).Tinted(-2)}}}
	}
	section := func(id string, chart *picture.Figure) *Section {
		return &Section{
			ID: id, Title: name, Text: []string{name}, Facts: []Fact{{name, name}}, Command: name,
			Details: &Details{name, []string{name}, name},
			Chart:   &Chart{chart, name, table()}, Tables: []*Table{table(), nil},
			Profiles: []Profile{{0, name, name, name, table()}}, Note: name,
		}
	}
	plot := picture.ClustersPlot{
		XY: [][2]float64{{0, 0}, {1, 1}, {2, 0}}, Labels: []int32{0, 1, 1}, K: 2, Axes: [2]string{name, name},
		Label: name, Noun: name, Classes: []string{name, name},
		Pairs: []constraint.Pair{{I: 0, J: 1, Kind: constraint.MustLink}}, Truth: []int32{0, 0, 1},
		Describe: func(int) string { return name },
		Fade:     func(int) int { return 2 }, FadeName: func(int) string { return name }, Title: name, Subtitle: name,
		Sizes: []int{1, 9},
	}
	course := picture.ObjectivePlot{Name: name, Label: name, Step: name, Iterations: []int{0, 1, 2},
		Values: []float64{3, math.NaN(), 1}, Shifts: []int{1}}.Figure()
	silhouette := picture.SilhouettePlot{Label: name, Mean: 0.5,
		Clusters: []picture.ClusterSilhouette{{Cluster: 0, Class: name, Values: []float64{0.9, -0.4},
			Mean: 0.25}}}.Figure()
	return &Page{
		Title: name, Answer: name, Figures: []Fact{{name, name}}, Notices: []string{name},
		Sections: []*Section{section("clusters", plot.Figure()), nil, section("separation", silhouette),
			section("objective", course), section("plan", nil)},
	}
}

// Whatever names are, the page has the same elements and attributes.
func TestNamesAreNoMarkup(t *testing.T) {
	want := skeleton(t, write(t, fullPage(t, "plain")))
	for _, name := range hostile {
		if got := skeleton(t, write(t, fullPage(t, name))); got != want {
			t.Errorf("%.60q changes the page", name)
		}
	}
}

// skeleton lists the elements of a page and the names of their attributes, without the texts.
func skeleton(t *testing.T, page string) string {
	t.Helper()
	from := strings.Index(page, "<body>")
	to := strings.LastIndex(page, "<script>")
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
	text := write(t, fullPage(t, "plain"))
	for _, part := range []string{"http://", "https://", "@import", "url(\"", "src=", "eval(", "innerHTML"} {
		if rest := strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""); strings.Contains(rest, part) {
			t.Errorf("the page has %q", part)
		}
	}
	if !strings.Contains(text, `default-src &#39;none&#39;`) &&
		!strings.Contains(text, `default-src 'none'; style-src 'sha256-`) {
		t.Error("the page allows more than it needs")
	}
}

func TestNumbersForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Number(0), "0"}, {Number(3), "3"}, {Number(-1.25), "\u22121.25"}, {Number(1234.5678), "1235"},
		{Number(123456.7), "123,457"},
		{Number(0.0123456), "0.01235"}, {Number(1e-7), "1 \u00d7 10\u207b\u2077"},
		{Number(6.5e12), "6.5 \u00d7 10\u00b9\u00b2"},
		{Number(math.NaN()), "none"}, {Number(math.Inf(-1)), "\u2212infinite"}, {Number(99.996), "100"},
		{Signed(0.001, 2), "0"}, {Signed(1.5, 2), "+1.50"}, {Signed(-2, 1), "\u22122.0"},
		{Fixed(-0.001, 2), "0.00"}, {Fixed(-0.5, 2), "\u22120.50"}, {Percent(0.5), "50%"}, {Percent(0.012), "1.2%"},
		{Percent(1e-5), "< 0.1%"},
		{Short("abcdef", 4), "abc\u2026"}, {Short("אבגד", 4), "אבגד"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
