package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
)

// labelTypes are the types of content of labels and the formats of package format for those that are tables.
var labelTypes = map[string]string{typeCSV: "csv", typeParquet: "parquet"}

// labels answers a request for the labels of a job: as one JSON object, as lines of JSON, or as a table with the
// columns index (or id) and label.
func (s *Server) labels(w http.ResponseWriter, r *http.Request, route Route, query url.Values) error {
	kind, err := labelType(r, query.Get("format"))
	if err != nil {
		return err
	}
	query.Del("format")
	in, err := s.read(w, r, route, query)
	if err != nil {
		return err
	}
	if kind == typeLines {
		return (&lineWriter{w: w, kind: typeLines}).writeAll(r.Context(), route.Method, in, false)
	}
	in.(*cleavev1.GetLabelsRequest).WithRows = true // the number or the id of each row
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if kind == typeJSON {
		return s.writeLabelObject(ctx, w, route, in)
	}
	out := &labelWriter{w: w, kind: kind, log: s.cfg.Logger}
	for m := range receive(ctx, route.Method, in) {
		err := m.err
		if err == nil {
			err = out.write(m.message.(*cleavev1.GetLabelsResponse))
		}
		if err := out.abortIfBegun(ctx, err); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return out.abortIfBegun(ctx, out.close())
}

// labelType returns the type of content that a request for labels wants, by the name of a format or, if that is empty,
// by its Accept header.
func labelType(r *http.Request, name string) (string, error) {
	switch name {
	case "":
		return accepted(r, typeJSON, typeCSV, typeParquet, typeLines)
	case "json":
		return typeJSON, nil
	case "csv":
		return typeCSV, nil
	case "parquet":
		return typeParquet, nil
	case "jsonl", "ndjson":
		return typeLines, nil
	default:
		return "", badRequest("format", "the format %.40q is not supported; use json, csv, parquet or jsonl", name)
	}
}

// writeLabelObject writes labels as one JSON object with a list for each column; rows and ids are left out if they are
// empty. Every part has labels, and either all parts have rows or ids or none has.
func (s *Server) writeLabelObject(ctx context.Context, w http.ResponseWriter, route Route, in proto.Message) error {
	parts := receive(ctx, route.Method, in)
	first := <-parts // the zero value if there are no labels
	if first.err != nil {
		return first.err
	}
	part, _ := first.message.(*cleavev1.GetLabelsResponse)
	if len(part.GetRows()) == 0 && len(part.GetIds()) == 0 {
		streamLabels(ctx, w, part, parts)
		return nil
	}
	return s.spoolLabels(ctx, w, part, parts)
}

// streamLabels writes labels without rows and ids while they arrive.
func streamLabels(ctx context.Context, w http.ResponseWriter, first *cleavev1.GetLabelsResponse, rest <-chan received) {
	beginLabels(w, typeJSON, "json")
	if _, err := fmt.Fprintf(w, `{"labels":[%s`, items(first.GetLabels())); err != nil {
		return // the client has gone
	}
	for m := range rest {
		if m.err != nil {
			panic(http.ErrAbortHandler) // so that the client does not take a part for the whole
		}
		part := m.message.(*cleavev1.GetLabelsResponse)
		if _, err := fmt.Fprintf(w, ",%s", items(part.GetLabels())); err != nil {
			return
		}
	}
	if ctx.Err() == nil {
		fmt.Fprintln(w, "]}")
	}
}

// spoolLabels copies all lists before it writes the first, so that the client gets an error if the copies have no room
// or the call breaks, not half of a response.
func (s *Server) spoolLabels(ctx context.Context, w http.ResponseWriter, first *cleavev1.GetLabelsResponse,
	rest <-chan received) error {
	labels := s.newList()
	rows := s.newList()
	ids := s.newList()
	lists := []*list{labels, rows, ids}
	for _, l := range lists {
		defer l.copy.Close()
	}
	for part := first; part != nil; {
		labels.add(items(part.GetLabels()))
		rows.add(items(part.GetRows()))
		ids.add(items(part.GetIds()))
		for _, l := range lists {
			if !l.keep() {
				return noSpace("the labels")
			}
		}
		next := <-rest
		if next.err != nil {
			return next.err
		}
		part, _ = next.message.(*cleavev1.GetLabelsResponse)
	}
	if ctx.Err() != nil {
		return nil
	}
	beginLabels(w, typeJSON, "json")
	text := []io.Reader{strings.NewReader(`{"labels":[`), labels.copy}
	if !rows.empty() {
		text = append(text, strings.NewReader(`],"rows":[`), rows.copy)
	}
	if !ids.empty() {
		text = append(text, strings.NewReader(`],"ids":[`), ids.copy)
	}
	for _, l := range lists {
		_ = l.copy.Rewind() // fails if the copy is incomplete, which keep has reported
	}
	if _, err := io.Copy(w, io.MultiReader(append(text, strings.NewReader("]}\n"))...)); err != nil {
		panic(http.ErrAbortHandler) // the client has gone, or a copy cannot be read
	}
	return nil
}

// items returns the items of a list as JSON, separated by commas.
func items[T uint32 | string](list []T) string {
	if len(list) == 0 {
		return ""
	}
	encoded, _ := json.Marshal(list) // cannot fail
	return string(encoded[1 : len(encoded)-1])
}

// list has the items of a JSON list, separated by commas. A long one is kept in a temporary file.
type list struct {
	separator string        // precedes the next items; empty if there are none yet
	added     bytes.Buffer  // what the copy does not have yet
	copy      *format.Spool // reads added; must be closed
}

func (s *Server) newList() *list {
	l := &list{}
	l.copy = s.newSpool(&l.added)
	return l
}

func (l *list) add(items string) {
	if items != "" {
		l.added.WriteString(l.separator + items)
		l.separator = ","
	}
}

func (l *list) empty() bool { return l.separator == "" }

// keep moves what was added to the copy. It reports whether there was room for it.
func (l *list) keep() bool {
	_, _ = io.Copy(io.Discard, l.copy) // reads from memory
	return !l.copy.Lost
}

// beginLabels sets the headers of a response with labels.
func beginLabels(w http.ResponseWriter, kind, extension string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment",
		map[string]string{"filename": "labels." + extension}))
}

// labelWriter writes labels as a table while they arrive.
type labelWriter struct {
	w     http.ResponseWriter
	kind  string
	log   hclog.Logger
	begun bool // bytes of the table may have been sent
	table format.TableWriter
}

func (l *labelWriter) begin(columns []table.Column) (err error) {
	if l.begun {
		return nil
	}
	beginLabels(l.w, l.kind, labelTypes[l.kind])
	// the writer of Parquet sends the headers: it writes at once
	l.table, err = format.NewTableWriter(l.w, labelTypes[l.kind], columns)
	if l.begun = err == nil; !l.begun {
		l.w.Header().Del("Content-Disposition")
	}
	return err
}

// abortIfBegun returns err while the client can still be sent an error instead of the table. After that it panics,
// which breaks the connection, so that the client does not take a part for the whole.
func (l *labelWriter) abortIfBegun(ctx context.Context, err error) error {
	if err != nil && l.begun {
		if ctx.Err() == nil {
			l.log.Warn("a table of labels broke off", "error", err)
		}
		panic(http.ErrAbortHandler)
	}
	return err
}

func (l *labelWriter) write(part *cleavev1.GetLabelsResponse) error {
	columns := labelColumns(part)
	if err := l.begin(columns); err != nil {
		return err
	}
	t, err := table.New(columns)
	if err != nil {
		return err
	}
	return l.table.Write(t)
}

// labelColumns returns labels as the columns of a table.
func labelColumns(part *cleavev1.GetLabelsResponse) []table.Column {
	row := table.Column{Name: "index", Type: table.Integer}
	if len(part.GetIds()) > 0 {
		row = table.Column{Name: "id", Type: table.Text, Texts: part.GetIds()}
	}
	label := table.Column{Name: "label", Type: table.Integer}
	for at, cluster := range part.GetLabels() {
		label.Integers = append(label.Integers, int64(cluster))
		switch {
		case row.Type == table.Text:
		case len(part.GetRows()) > 0:
			row.Integers = append(row.Integers, int64(part.GetRows()[at]))
		default:
			row.Integers = append(row.Integers, int64(part.GetFirstIndex())+int64(at))
		}
	}
	return []table.Column{row, label}
}

func (l *labelWriter) close() error {
	if err := l.begin(labelColumns(nil)); err != nil {
		return err
	}
	return l.table.Close()
}
