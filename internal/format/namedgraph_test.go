package format

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
)

func namedGraph(t *testing.T, name, text string, o GraphOptions) (*NamedGraph, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return Input{Path: path}.LoadNamedGraph(o)
}

func TestGraphsOfNames(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		options    GraphOptions
		names      string // nil: numbers
		edges      int
		says       string
	}{
		"numbers":      {"e.csv", "0,1\n1,2\n", GraphOptions{}, "", 4, ""},
		"from one":     {"e.csv", "1,2\n2,3\n", GraphOptions{}, "", 4, "--named-vertices"},
		"one, by name": {"e.csv", "1,2\n2,3\n", GraphOptions{Named: true}, "1 2 3", 4, ""},
		"header":       {"e.csv", "from,to,weight\nann,bob,2\nbob,cat,\n", GraphOptions{}, "ann bob cat", 4, ""},
		"other order":  {"e.tsv", "weight\tdst\tsrc\n2\tbob\tann\n", GraphOptions{}, "ann bob", 2, ""},
		"no header":    {"e.csv", "ann,bob,1.5\nbob,cat,2\n", GraphOptions{}, "ann bob cat", 4, ""},
		"two columns":  {"e.csv", "ann,bob\nbob,cat\n", GraphOptions{}, "ann bob cat", 4, ""},
		"odd header":   {"e.csv", "who,whom\nann,bob\nbob,cat\n", GraphOptions{}, "ann bob cat", 4, "read as a header"},
		"white space":  {"e.txt", "# friends\nann bob\nbob cat 3\n", GraphOptions{}, "ann bob cat", 4, ""},
		"a list": {"e.csv", "src,dst\nb,a\n", GraphOptions{List: []string{"a", "lonely", "b"}},
			"a lonely b", 2, ""},
		"more": {"e.csv", "src,dst\nb,a\n", GraphOptions{Vertices: 3}, "b a unnamed 2", 2, ""},
		"taken name": {"e.csv", "src,dst\na,b\nb,unnamed 3\n", GraphOptions{Vertices: 5},
			"a b unnamed 3 unnamed 4 unnamed 5", 4, ""},
	} {
		g, err := namedGraph(t, c.file, c.text, c.options)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		said := strings.Join(g.Notices, "\n")
		if got := strings.Join(g.Names, " "); got != c.names || len(g.Column) != c.edges ||
			!strings.Contains(said, c.says) || c.says == "" && said != "" {
			t.Errorf("%s: got %q with %d entries, saying %q", name, got, len(g.Column), said)
		}
	}
}

func TestFaultsOfNamedGraphs(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		options GraphOptions
		says    string
	}{
		"a typing mistake": {"src,dst\n0,1\n1,tow\n", GraphOptions{},
			`e.csv, line 3: "tow" is not a vertex number; vertices are numbered from 0; to treat numbers as names, ` +
				`use --named-vertices`},
		"unlisted": {"src,dst\nann,bob\n", GraphOptions{List: []string{"ann", "rob"}},
			`line 2: there is no vertex "bob"; did you mean "rob"?`},
		"no name":  {"src,dst\nann,\n", GraphOptions{}, "line 2"},
		"weight":   {"src,dst,weight\nann,bob,heavy\n", GraphOptions{}, `line 2: the weight is "heavy"`},
		"ragged":   {"src,dst\nann,bob,1\n", GraphOptions{}, "line 2: the line has 3 cells"},
		"too many": {"src,dst\nann,bob\n", GraphOptions{Vertices: 1}, "names 2 vertices"},
	} {
		if _, err := namedGraph(t, "e.csv", c.text, c.options); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// Formats that number their vertices are not read as lists of names.
	for name, c := range map[string]struct{ text, reason, says string }{
		"g.graph": {"2 1 1\n2\n1\n", "RAGGED_ROWS", "line 2: the last neighbor has no weight"},
		"g.metis": {"2 1\nx\n1\n", "NOT_AN_INDEX", `line 2: "x" is not a vertex number`},
		"g.mtx": {"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 1\n", "RAGGED_ROWS",
			"line 3: the entry has 2 numbers"},
	} {
		if _, err := namedGraph(t, name, c.text, GraphOptions{}); !fault.Is(err, c.reason) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestLoadVertices(t *testing.T) {
	for text, want := range map[string]string{"a\nb\n": "a b", "id\n1\n2\n": "1 2", "name,age\nann,3\n": "ann",
		"Z\xFCrich\n": "Zürich"} {
		path := filepath.Join(t.TempDir(), "v.csv")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, err := LoadVertices(path); err != nil || strings.Join(got, " ") != want {
			t.Errorf("got %v, %v", got, err)
		}
		if err := os.WriteFile(path, []byte("a\nb\na\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadVertices(path); !fault.Is(err, "DUPLICATE_ID") ||
			!strings.Contains(err.Error(), "line 3: the vertex \"a\" is listed a second time; the first is on line 1") {
			t.Error(err)
		}
	}
}
