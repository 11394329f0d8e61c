package graph

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/text/encoding/charmap"

	"github.com/cleave-project/cleave/internal/format/scan"
)

// ReadGraphML reads vertices and edges, the "weight" of edges, and the "name" or "label" of vertices, because many
// programs invent the ids. Edge directions are ignored. Everything else in the file describes drawing, so an XML
// decoder is all that is needed.
func ReadGraphML(s *scan.Source, vertices int) (*Graph, error) {
	input := &scan.Counter{From: s}
	r := &graphML{
		listedGraph: newListedGraph(s), input: input, decoder: xml.NewDecoder(input), weight: 1,
		nameKeys: map[string]string{}, called: map[string][]string{},
	}
	r.decoder.CharsetReader = westernXML
	for {
		token, err := r.decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, r.xmlError(err)
		}
		if err := r.take(token); err != nil {
			return nil, err
		}
	}
	if !r.isGraph {
		return nil, s.Invalid("NOT_GRAPHML", "the file is XML, but not a GraphML graph")
	}
	g, err := r.finish(vertices)
	if err == nil {
		r.nameByData(g)
	}
	return g, err
}

// graphML is the state of the reader between two tokens.
type graphML struct {
	*listedGraph
	input     *scan.Counter
	decoder   *xml.Decoder
	isGraph   bool
	weightKey string  // key of the data elements that hold edge weights
	weight    float64 // of edges without one
	inKey     bool    // inside the declaration of weightKey
	inEdge    bool
	inWeight  bool
	nameKeys  map[string]string   // maps the keys of vertex data to "name" or "label"
	called    map[string][]string // the names and labels of all vertices, by "name" or "label"
	inVertex  bool
	inName    string // "name" or "label" inside such an element, otherwise ""
	text      strings.Builder
}

func (r *graphML) line() int {
	line, _ := r.decoder.InputPos()
	return line
}

// take reads the next token.
func (r *graphML) take(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		return r.start(t)
	case xml.CharData:
		if r.inWeight || r.inName != "" {
			r.text.Write(t)
		}
	case xml.EndElement:
		switch {
		case t.Name.Local == "edge":
			r.inEdge = false
		case t.Name.Local == "node":
			r.inVertex = false
		case t.Name.Local == "data" && r.inName != "":
			r.called[r.inName][len(r.names)-1] = strings.TrimSpace(r.text.String())
			r.inName = ""
		case t.Name.Local == "key":
			r.inKey = false
		case t.Name.Local == "default" && r.inWeight:
			return r.endWeight(&r.weight)
		case t.Name.Local == "data" && r.inWeight && r.inEdge:
			return r.endWeight(&r.edges[len(r.edges)-1].weight)
		}
	}
	return nil
}

// endWeight parses the collected text as a weight.
func (r *graphML) endWeight(into *float64) (err error) {
	r.inWeight = false
	*into, err = r.weightOf(strings.TrimSpace(r.text.String()), r.line())
	return err
}

// start reads the beginning of an element.
func (r *graphML) start(t xml.StartElement) error {
	attribute := func(name string) string {
		for _, a := range t.Attr {
			if a.Name.Local == name {
				return a.Value
			}
		}
		return ""
	}
	switch t.Name.Local {
	case "graph":
		r.isGraph, r.inVertex = true, false
	case "key":
		on := attribute("for")
		name := attribute("attr.name")
		if name == "weight" && (on == "edge" || on == "all" || on == "") {
			r.weightKey = attribute("id")
			r.inKey = true
		}
		if lower := strings.ToLower(name); on != "edge" && on != "graph" && (lower == "name" || lower == "label") {
			r.nameKeys[attribute("id")] = lower
		}
	case "default":
		if r.inKey {
			r.inWeight = true
			r.text.Reset()
		}
	case "node":
		r.inVertex = true
		for _, what := range vertexNames {
			r.called[what] = append(r.called[what], "")
		}
		return r.addVertex(attribute("id"), r.line())
	case "edge":
		weight := r.weight
		if given := attribute("weight"); given != "" { // some programs write it as an attribute
			var err error
			weight, err = r.weightOf(given, r.line())
			if err != nil {
				return err
			}
		}
		r.inEdge = true
		r.edges = append(r.edges, listedEdge{attribute("source"), attribute("target"), weight, r.line()})
	case "data":
		if key := attribute("key"); r.inEdge && (key == r.weightKey && key != "" || key == "weight") {
			r.inWeight = true
			r.text.Reset()
		} else if what := r.nameKeys[key]; r.inVertex && what != "" {
			r.inName = what
			r.text.Reset()
		}
	case "hyperedge":
		return r.at(r.line(), "UNSUPPORTED_GRAPH",
			"the file has hyperedges, which are not supported; every edge must have two vertices")
	}
	return nil
}

// vertexNames are the vertex data that can name a vertex, in order of preference.
var vertexNames = []string{"name", "label"}

// nameByData names the vertices by the first of vertexNames that all of them have.
func (r *graphML) nameByData(g *Graph) {
	for _, what := range vertexNames {
		if !slices.Contains(r.called[what], "") {
			g.nameVertices(r.Source, r.called[what], what)
			return
		}
	}
}

// xmlError turns an error of the decoder into a fault, except for failed reads, which are not the fault of the file.
func (r *graphML) xmlError(err error) error {
	if r.input.Failed {
		return r.ReadError(err)
	}
	var syntax *xml.SyntaxError
	line := r.line()
	problem := strings.TrimPrefix(err.Error(), "xml: ")
	if errors.As(err, &syntax) {
		line, problem = syntax.Line, syntax.Msg
	}
	return r.at(line, "NOT_GRAPHML", "the XML is damaged: %.200s", strings.ToValidUTF8(problem, "?"))
}

// westernXML decodes XML in Western European encodings other than UTF-8.
func westernXML(label string, input io.Reader) (io.Reader, error) {
	switch strings.ToLower(label) {
	case "iso-8859-1", "latin1", "windows-1252", "us-ascii", "ascii":
		return charmap.Windows1252.NewDecoder().Reader(input), nil
	}
	return nil, fmt.Errorf("the encoding %.40q is not supported; save the file as UTF-8", label)
}
