package format

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

const (
	dataInDefault = `<graphml><key id="w" for="edge" attr.name="weight"><default>1<data/></default></key></graphml>`
	metisText     = "% four vertices, the last without neighbors\n4 3 001\n2 1.5 3 2\n1 1.5 3 1\n1 2 2 1\n\n"

	graphMLText = `<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="edge" attr.name="weight" attr.type="double"/><key id="d1" for="node" attr.name="color"/>
  <graph edgedefault="undirected">
    <node id="a"><data key="d1">red</data></node><node id="b"/><node id="c"/><node id="d"/>
    <edge source="a" target="b"><data key="d0">1.5</data></edge>
    <edge source="c" target="a"><data key="d0"> 2 </data></edge>
    <edge source="b" target="c"/>
  </graph>
</graphml>`

	// The same graph, where the key of the weights says what those are that are not given.
	defaultText = `<graphml><key id="w" for="edge" attr.name="weight"><desc>hours</desc><default>2</default></key>
<graph edgedefault="directed"><node id="a"/><node id="b"/><node id="c"/><node id="d"/>
<edge source="a" target="b"><data key="w">1.5</data></edge><edge source="c" target="a"/>
<edge source="b" target="c" weight="1"/></graph></graphml>`

	gmlText = `Creator "somebody, who writes
over two lines"
graph [
  # a comment
  directed 0
  node [ id 10 label "a [x]" graphics [ x 1 y 2 ] ] node [ id 11 ]
  node [ id 12 ] node [ id 13 ]
  edge [ source 10 target 11 value 1.5 ]
  edge [ source 12 target 10 weight 2 ]
  edge
  [
    source 11
    target 12
  ]
]`
)

func TestGraphsOfOtherPrograms(t *testing.T) {
	want, err := dataset.GraphOf(4,
		[]dataset.Edges{dataset.EdgesOf([]dataset.Edge{{Source: 0, Target: 1, Weight: 1.5},
			{Source: 0, Target: 2, Weight: 2}, {Source: 1, Target: 2, Weight: 1}})})
	if err != nil {
		t.Fatal(err)
	}
	id, err := dataset.ID(want)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"g.graph": metisText, "g.metis": metisText, "g.graphml": graphMLText, "g.gml": gmlText,
		"default.graphml": defaultText,
		"sizes.metis":     "4 3 111 2\n9 8 7 2 1.5 3 2\n0 0 0 1 1.5 3 1\n0 0 0 1 2 2 1\n0 0 0\n",
		"unknown":         graphMLText,
	} {
		graph, err := ReadGraph(strings.NewReader(text), name, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := dataset.ID(graph); err != nil || got != id {
			t.Errorf("%s: another graph, %v", name, err)
		}
	}
}

func TestBadGraphsOfOtherPrograms(t *testing.T) {
	for _, c := range []struct{ name, text, reason, says string }{
		{"g.metis", "2 1\n2\n", "TRUNCATED_FILE", "claims 2 vertices, but the file ends after 1"},
		{"g.metis", "2000000000 1\n2\n", "TRUNCATED_FILE", "2000000000"},
		{"g.metis", "2 5\n2\n1\n", "WRONG_COUNT", "claims 5 edges"},
		{"g.metis", "3 2\n2 3\n1\n2\n", "NOT_SYMMETRIC", "between vertex 1 and a larger one"},
		{"g.metis", "2 1 1\n2 5\n1 6\n", "NOT_SYMMETRIC", "with two weights"},
		{"g.metis", "2 1\n3\n1\n", "INDEX_OUT_OF_RANGE", "line 2: vertex 3 is outside 1..2"},
		{"g.metis", "2 1\n1\n1\n", "SELF_LOOP", "line 2"},
		{"g.metis", "2 1\nx\n1\n", "NOT_AN_INDEX", `"x"`},
		{"g.metis", "2 1\n2\n1\n\n% end\n1 2\n", "TRAILING_DATA",
			"line 6: the header claims 2 vertices, but the file has more lines"},
		{"g.metis", "2 1 1\n2\n1\n", "RAGGED_ROWS", "no weight"},
		{"g.metis", "2\n", "BAD_SIZE_LINE", "line 1"},
		{"g.metis", "2 1 777\n", "BAD_SIZE_LINE", "line 1"},
		{"g.graphml", "<graphml><graph><node id='a'/>", "NOT_GRAPHML", "damaged"},
		{"g.graphml", "<svg></svg>", "NOT_GRAPHML", "not a GraphML graph"},
		{"g.graphml", dataInDefault, "NOT_GRAPHML", "not a GraphML graph"},
		{"g.graphml", "<graphml><graph><node id='a'/><node id='a'/></graph></graphml>", "DUPLICATE_INDEX", `"a"`},
		{"g.graphml", "<graphml><graph>\n<node id='a'/>\n<edge source='a' target='b'/></graph></graphml>",
			"UNKNOWN_VERTEX", "line 3"},
		{"g.graphml",
			"<graphml><graph><node id='a'/><edge source='a' target='a'><data " +
				"key='weight'>x</data></edge></graph></graphml>", "NOT_A_NUMBER", `"x"`},
		{"g.graphml", "<graphml><graph><hyperedge/></graph></graphml>", "UNSUPPORTED_GRAPH", "hyperedges"},
		{"g.graphml", "<graphml><graph></graph></graphml>", "EMPTY_DATA", "no vertices"},
		{"g.gml", "graph [ node [ id 1 ]", "TRUNCATED_FILE", "inside a list"},
		{"g.gml", "graph [ node [ id ] ]", "NOT_GML", `key "id" has no value`},
		{"g.gml", "graph [ node [ id \"1", "UNCLOSED_QUOTE", "line 1"},
		{"g.gml", "graph [ node [ id 1 ]\nedge [ source 1 target 2 ] ]", "UNKNOWN_VERTEX", "line 2"},
		{"g.gml", "graph [ node [ label 1 ] ]", "MISSING_ID", "line 1"},
		{"g.gml", strings.Repeat("a [ ", 100), "NOT_GML", "nested"},
		{"g.gml", "[ ]", "NOT_GML", "instead of a key"},
	} {
		var err error
		bytes := allocated(func() { _, err = ReadGraph(strings.NewReader(c.text), c.name, 0) })
		wantFault(t, c.text, err, c.reason, c.name, c.says)
		if bytes > 4<<20 {
			t.Errorf("%s: allocated %d bytes", c.text, bytes)
		}
	}
	g, err := Input{Path: "-", Format: "metis",
		Stdin: Peekable(strings.NewReader("2 1 10\n7 2\n8 1\n"))}.LoadNamedGraph(GraphOptions{})
	if err != nil || len(g.Notices) != 1 ||
		!strings.Contains(g.Notices[0], "weights or sizes of the vertices are not used") {
		t.Errorf("weights of vertices: got %+v, %v", g, err)
	}
	_, err = ReadGraph(strings.NewReader(metisText), "g.metis", 5)
	wantFault(t, "another number of vertices", err, "SIZE_MISMATCH", "4 vertices")
}

// Programs number the vertices of GML as they like, and write what they are called as labels.
func TestLabelsOfGML(t *testing.T) {
	for _, c := range []struct{ first, second, third, names, notice string }{
		{`label "7"`, `label "Beak &amp; Co"`, `label "&#233;"`, "7 Beak & Co é",
			`standard input: vertices are identified by label, such as "7"`},
		{`label "5"`, `label "3"`, `label "4"`, "5 3 4", ""},
		{`label "a"`, `label "b"`, `label "a"`, "5 3 4",
			`standard input: vertices are identified by id, because several have the label "a"`},
		{`label "a"`, ``, `label "b"`, "5 3 4", ""},
		{`label "a"`, "label \"\xE9\"", `label "b"`, "5 3 4", ""},
	} {
		text := "graph [ node [ id 5 " + c.first + " ] node [ " + c.second + " id 3 ] node [ id 4 " + c.third +
			" ] edge [ source 3 target 4 ] edge [ source 4 target 5 ] ]"
		g, err := Input{Path: "-", Format: "gml", Stdin: Peekable(strings.NewReader(text))}.LoadNamedGraph(
			GraphOptions{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if strings.Join(g.Names, " ") != c.names || strings.Join(g.Notices, "\n") != c.notice {
			t.Errorf("%s: %q, %q; want %q, %q", text, g.Names, g.Notices, c.names, c.notice)
		}
	}
}

// Programs make up the ids of GraphML too, and write what vertices are called as data.
func TestNamesInGraphML(t *testing.T) {
	for _, c := range []struct{ data, names, notice string }{
		{"name|ann,name|bob", "ann bob", `standard input: vertices are identified by name, such as "ann"`},
		{"Label|A &amp; B,Label|C", "A & B C", `standard input: vertices are identified by label, such as "A & B"`},
		{"label|ann,label|ann", "n0 n1",
			`standard input: vertices are identified by id, because several have the label "ann"`},
		{"name|ann,label|bob", "n0 n1", ""},
		{"club|ann,club|bob", "n0 n1", ""},
		{"name|n0,name|n1", "n0 n1", ""},
	} {
		text, keys := "", ""
		for at, data := range strings.Split(c.data, ",") {
			name, value, _ := strings.Cut(data, "|")
			keys += fmt.Sprintf("<key id='d%d' for='node' attr.name='%s' attr.type='string'/>", at, name)
			text += fmt.Sprintf("<node id='n%d'><data key='d%d'>%s</data></node>", at, at, value)
		}
		text = "<graphml>" + keys + "<graph>" + text + "<edge source='n0' target='n1'/></graph></graphml>"
		g, err := Input{Path: "-", Stdin: Peekable(strings.NewReader(text))}.LoadNamedGraph(GraphOptions{})
		if err != nil || strings.Join(g.Names, " ") != c.names || strings.Join(g.Notices, "\n") != c.notice {
			t.Errorf("%s: %+v, %v", text, g, err)
		}
	}
}

// GraphML may be in the encodings of Western Europe.
func TestGraphMLInLatin1(t *testing.T) {
	text := "<?xml version='1.0' encoding='ISO-8859-1'?><graphml><graph><node id='Jos\xe9'/><node id='b'/><edge " +
		"source='Jos\xe9' target='b'/></graph></graphml>"
	in := Input{Path: "-", Stdin: Peekable(strings.NewReader(text))}
	g, err := in.LoadNamedGraph(GraphOptions{})
	if err != nil || len(g.Names) != 2 || g.Names[0] != "José" {
		t.Errorf("got %+v, %v", g, err)
	}
	_, err = ReadGraph(strings.NewReader(strings.Replace(text, "ISO-8859-1", "EBCDIC", 1)), "g.graphml", 0)
	wantFault(t, "EBCDIC", err, "NOT_GRAPHML", "g.graphml, line 1", "save the file as UTF-8")
}
