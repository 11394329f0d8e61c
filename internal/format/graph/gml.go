package graph

import (
	"bytes"
	"errors"
	"html"
	"io"
	"strings"

	"github.com/cleave-project/cleave/internal/format/scan"
)

// GML is pairs of a key and a value, where a value may be a list of pairs in brackets:
//
//	graph [ node [ id 1 label "a" ] edge [ source 1 target 2 value 3 ] ]
//
// Vertices are identified by their labels if all have distinct ones, otherwise by their ids, which many programs
// invent. The weight of an edge is called weight or value. Everything else describes drawing and is skipped.
type gml struct {
	*scan.Lines
	graph  *listedGraph
	labels []string // of the vertices
	rest   []byte   // the unread part of the current line
}

const maxGMLDepth = 64

// ReadGML reads the nodes and edges of a file and skips everything else.
func ReadGML(s *scan.Source, vertices int) (*Graph, error) {
	r := &gml{Lines: scan.NewLines(s, scan.AnyWhiteSpace), graph: newListedGraph(s)}
	if err := r.list(0, "", nil); err != nil {
		return nil, err
	}
	g, err := r.graph.finish(vertices)
	if err == nil {
		g.nameVertices(s, r.labels, "label")
	}
	return g, err
}

// list reads pairs up to the end of a list, or of the file at depth 0. It stores the attributes of a vertex or an edge
// in values.
func (r *gml) list(depth int, within string, values map[string]string) error {
	if depth > maxGMLDepth {
		return r.Invalid("NOT_GML", "lists are nested too deeply")
	}
	for {
		key, err := r.token()
		switch {
		case errors.Is(err, io.EOF) && depth == 0, err == nil && key == "]" && depth > 0:
			return nil
		case errors.Is(err, io.EOF):
			return r.Source.Invalid("TRUNCATED_FILE", "the file ends inside a list")
		case err != nil:
			return err
		case key == "[" || key == "]" || key[0] == '"':
			return r.Invalid("NOT_GML", "found %s instead of a key", scan.Quote([]byte(key)))
		}
		value, err := r.token()
		if errors.Is(err, io.EOF) || err == nil && value == "]" {
			return r.Invalid("NOT_GML", "key %s has no value", scan.Quote([]byte(key)))
		}
		if err != nil {
			return err
		}
		if value != "[" {
			if values != nil {
				values[key] = html.UnescapeString(strings.Trim(value, `"`))
			}
			continue
		}
		if err := r.element(depth, within, key); err != nil {
			return err
		}
	}
}

// element reads a list: the graph, a vertex, an edge, or something to skip.
func (r *gml) element(depth int, within, key string) error {
	var values map[string]string
	line := r.LineNumber
	if within == "graph" && (key == "node" || key == "edge") {
		values = map[string]string{}
	}
	if err := r.list(depth+1, key, values); err != nil || values == nil {
		return err
	}
	if key == "node" {
		r.labels = append(r.labels, values["label"])
		return r.graph.addVertex(values["id"], line)
	}
	weight := values["weight"]
	if weight == "" {
		weight = values["value"]
	}
	number, err := r.graph.weightOf(weight, line)
	r.graph.edges = append(r.graph.edges, listedEdge{values["source"], values["target"], number, line})
	return err
}

// token returns the next word, bracket, or quoted text with its quotes.
func (r *gml) token() (string, error) {
	for {
		r.rest = bytes.TrimLeft(r.rest, " \t\r")
		if len(r.rest) > 0 && r.rest[0] != '#' {
			break
		}
		line, err := r.ReadLine()
		if err != nil {
			return "", err
		}
		r.rest = line
	}
	switch c := r.rest[0]; c {
	case '[', ']':
		r.rest = r.rest[1:]
		return string(c), nil
	case '"':
		return r.quoted()
	}
	end := bytes.IndexAny(r.rest, " \t\r[]\"")
	if end < 0 {
		end = len(r.rest)
	}
	word := string(r.rest[:end])
	r.rest = r.rest[end:]
	return word, nil
}

// quoted reads a quoted text, which may span lines.
func (r *gml) quoted() (string, error) {
	text := []byte{'"'}
	r.rest = r.rest[1:]
	line := r.LineNumber
	for {
		if at := bytes.IndexByte(r.rest, '"'); at >= 0 {
			text = append(text, r.rest[:at+1]...)
			r.rest = r.rest[at+1:]
			return string(text), nil
		}
		text = append(append(text, r.rest...), '\n')
		next, err := r.ReadLine()
		if errors.Is(err, io.EOF) || len(text) > scan.MaxLine {
			r.LineNumber = line
			return "", r.Invalid("UNCLOSED_QUOTE", "a quoted text is not closed")
		}
		if err != nil {
			return "", err
		}
		r.rest = next
	}
}
