package httpapi

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
)

// labelTypes are the types of content of labels and the formats of package format for those that are tables.
var labelTypes = map[string]string{typeCSV: "csv", typeParquet: "parquet"}

// labels answers a request for the labels of a job: as one JSON object, as lines of JSON, or as a table with the
// columns index (or id) and label.
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
	if kind == typeJSON {
		return writeLabelObject(ctx, w, route, in)
	}
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

// labelType returns the type of content that a request for labels wants, by the parameter format or by its Accept
// header.
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

// labelLists are the members of the JSON object of labels, in order. All but the first are left out if they are empty.
var labelLists = []struct {
	name string
	of   func(*cleavev1.GetLabelsResponse) (string, error) // the items in a part as JSON, separated by commas; "" if there are none
}{
	{"labels", func(p *cleavev1.GetLabelsResponse) (string, error) { return items(p.GetLabels()) }},
	{"rows", func(p *cleavev1.GetLabelsResponse) (string, error) { return items(p.GetRows()) }},
	{"ids", func(p *cleavev1.GetLabelsResponse) (string, error) { return items(p.GetIds()) }},
}

func items[T any](list []T) (string, error) {
	encoded, err := json.Marshal(list)
	if err != nil || len(list) == 0 {
		return "", err
	}
	return string(encoded[1 : len(encoded)-1]), nil
}

// writeLabelObject writes labels as one JSON object with a list for each column. It writes each list while its parts
// arrive, by a call of its own, because a list follows the one before and the labels of a large job would take much
// memory.
func writeLabelObject(ctx context.Context, w http.ResponseWriter, route Route, in proto.Message) error {
	var first *cleavev1.GetLabelsResponse
	for at, list := range labelLists {
		if text, _ := list.of(first); at > 0 && text == "" {
			continue
		}
		separator := `,"` + list.name + `":[`
		if at == 0 {
			separator = `{"` + list.name + `":[`
		}
		for m := range receive(ctx, route.Method, in) {
			if m.err != nil && first != nil {
				panic(http.ErrAbortHandler) // so that the client does not take a part for the whole
			}
			if m.err != nil {
				return m.err
			}
			part := m.message.(*cleavev1.GetLabelsResponse)
			if first == nil {
				first = part
				beginLabels(w, typeJSON, "json")
			}
			text, err := list.of(part)
			if err != nil {
				return err
			}
			if text != "" {
				text, separator = separator+text, ","
			}
			if _, err := w.Write([]byte(text)); err != nil {
				return nil //nolint:nilerr // the client has gone
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if first == nil { // there are none from the given one on
			beginLabels(w, typeJSON, "json")
			_, _ = w.Write([]byte(separator))
		}
		_, _ = w.Write([]byte("]"))
	}
	_, _ = w.Write([]byte("}\n"))
	return nil
}

// beginLabels sets the headers of a response with labels.
func beginLabels(w http.ResponseWriter, kind, extension string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": "labels." + extension}))
}

// labelWriter writes labels as a table while they arrive.
type labelWriter struct {
	w     http.ResponseWriter
	kind  string
	begun bool
	table format.TableWriter
}

func (l *labelWriter) begin(columns []table.Column) (err error) {
	if l.begun {
		return nil
	}
	l.begun = true
	beginLabels(l.w, l.kind, labelTypes[l.kind])
	l.table, err = format.NewTableWriter(l.w, labelTypes[l.kind], columns) // the writer of Parquet sends the headers: it writes at once
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
	_ = l.table.Close()
	return nil
}
