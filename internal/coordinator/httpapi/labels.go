package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"mime"
	"net/http"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
)

// labelTypes are the types of content of labels and the formats of package format for those that are tables.
var labelTypes = map[string]string{typeCSV: "csv", typeParquet: "parquet"}

// labels answers a request for the labels of a job: as one JSON object, as lines of JSON, or as a table with the columns
// index (or id) and label.
func (s *Server) labels(w http.ResponseWriter, r *http.Request, route Route) error {
	kind, err := labelType(r)
	if err != nil {
		return err
	}
	in, err := s.read(w, r, route, "format")
	if err != nil {
		return err
	}
	if kind == typeLines {
		return (&lineWriter{w: w, kind: typeLines}).writeAll(r.Context(), route.Method, in, false)
	}
	in.(*cleavev1.GetLabelsRequest).WithRows = true // the number or the id of each row
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	out := &labelWriter{w: w, kind: kind}
	for m := range receive(ctx, route.Method, in) {
		if m.err != nil && out.begun {
			panic(http.ErrAbortHandler) // so that the client does not take a part for the whole
		}
		if m.err != nil {
			return m.err
		}
		if err := out.write(m.message.(*cleavev1.GetLabelsResponse)); err != nil {
			return nil //nolint:nilerr // the client has gone
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return out.close()
}

// labelType returns the type of content that a request for labels wants, by the parameter format or by its Accept header.
func labelType(r *http.Request) (string, error) {
	offers := []string{typeJSON, typeCSV, typeParquet, typeLines}
	switch name := r.URL.Query().Get("format"); name {
	case "":
		return accepted(r, offers...)
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

// labelWriter writes labels as they arrive.
type labelWriter struct {
	w     http.ResponseWriter
	kind  string
	begun bool

	table format.TableWriter         // of a table
	all   cleavev1.GetLabelsResponse // of JSON, whose columns follow each other
}

func (l *labelWriter) begin(columns []table.Column) (err error) {
	if l.begun {
		return nil
	}
	l.begun = true
	tabular := labelTypes[l.kind]
	name := "labels." + cmp.Or(tabular, "json")
	l.w.Header().Set("Content-Type", l.kind)
	l.w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	if tabular != "" {
		l.table, err = format.NewTableWriter(l.w, tabular, columns) // the writer of Parquet sends the headers: it writes at once
	}
	return err
}

func (l *labelWriter) write(part *cleavev1.GetLabelsResponse) error {
	if l.kind == typeJSON {
		l.all.Labels = append(l.all.Labels, part.GetLabels()...)
		l.all.Rows = append(l.all.Rows, part.GetRows()...)
		l.all.Ids = append(l.all.Ids, part.GetIds()...)
		return nil
	}
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
	if l.kind == typeJSON {
		if err := l.begin(nil); err != nil {
			return err
		}
		object := struct {
			Labels []uint32 `json:"labels"`
			Rows   []uint32 `json:"rows,omitempty"`
			IDs    []string `json:"ids,omitempty"`
		}{l.all.GetLabels(), l.all.GetRows(), l.all.GetIds()}
		_ = json.NewEncoder(l.w).Encode(object)
		return nil
	}
	if err := l.begin(labelColumns(&l.all)); err != nil {
		return err
	}
	_ = l.table.Close()
	return nil
}
