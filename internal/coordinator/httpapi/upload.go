package httpapi

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/format/scan"
	"github.com/cleave-project/cleave/internal/wire"
)

const (
	// memoryPerByte is how much memory a byte takes at most of an upload that is held in memory as a whole, which some
	// formats need, if it is text such as "0 1".
	memoryPerByte = 10
	// maxWholeBytes limits the body of such an upload, however much memory there is.
	maxWholeBytes = 1 << 30
)

// formatsByType are the formats of bodies, by their type of content, if the URL does not name one.
var formatsByType = map[string]string{
	typeCSV:                               "csv",
	"text/tab-separated-values":           "tsv",
	typeParquet:                           "parquet",
	"application/vnd.apache.arrow.file":   "arrow",
	"application/vnd.apache.arrow.stream": "arrow",
	"application/x-npy":                   "npy",
}

// upload stores a data set or a table. The body is a file in the format that the URL or the type of content names, or
// the messages of the call as JSON, one after another.
func (s *Server) upload(w http.ResponseWriter, r *http.Request, route Route, query url.Values) (err error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	name := query.Get("format")
	if name == "" {
		name = formatsByType[kind]
	}
	r.Body = http.MaxBytesReader(w, r.Body, s.cfg.MaxUploadBytes)
	var response proto.Message
	switch {
	case name == "" && kind != typeJSON && kind != typeLines:
		return badRequest("format", "the format of the body is unknown; add ?format=csv to the URL, or send JSON as %s",
			typeLines)
	case name == "":
		return s.uploadMessages(w, r, route)
	case route.Method.Name() == "CreateTable":
		response, err = s.uploadTable(r, name, query)
	default:
		response, err = s.uploadDataset(w, r, name, query)
	}
	if err != nil {
		return err
	}
	return writeMessage(w, response)
}

// checkParameters returns an error if a query has a parameter other than format, display_name and those named.
func checkParameters(query url.Values, names ...string) error {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(append(names, "format", "display_name"), name) {
			return badRequest(name, "the URL has a parameter %.80q, which this kind of upload does not have", name)
		}
	}
	return nil
}

// uploadMessages passes the messages of a call on.
func (s *Server) uploadMessages(w http.ResponseWriter, r *http.Request, route Route) error {
	stream, err := open(r.Context(), route.Method)
	if err != nil {
		return err
	}
	held, _ := s.cfg.Memory.ReserveNow(0)
	defer held.Release()
	body := &messageLimiter{from: r.Body, limit: s.cfg.MaxMessageBytes, held: held}
	decoder := json.NewDecoder(body)
	for err == nil {
		body.read = 0
		var text json.RawMessage
		if err := decoder.Decode(&text); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return readError(err, "the body is not a sequence of JSON messages")
		}
		m := newMessage(route.Method.Input())
		if err := unmarshal(text, m); err != nil {
			return err
		}
		err = stream.SendMsg(m) // io.EOF if the call has ended; RecvMsg returns why
	}
	_ = stream.CloseSend()
	out := newMessage(route.Method.Output())
	if err := stream.RecvMsg(out); err != nil {
		return err
	}
	return writeMessage(w, out)
}

// readError returns read errors of a body unchanged, and turns parse errors into bad requests.
func readError(err error, what string) error {
	_, isLarge := errors.AsType[*http.MaxBytesError](err)
	_, isFault := errors.AsType[*fault.Error](err)
	if isLarge || isFault {
		return err
	}
	return badRequest("", "%s: %v", what, err)
}

// options returns how a table is to be read, by the parameters of its URL. Parameters with other names are refused,
// except for others.
func options(name string, query url.Values, others ...string) (format.TableOptions, error) {
	if err := checkParameters(query, append(others, "header", "delimiter", "decimals")...); err != nil {
		return format.TableOptions{}, err
	}
	o := format.TableOptions{Format: name, Header: query.Get("header"), Decimals: query.Get("decimals"), Name: bodyName}
	if d := query.Get("delimiter"); len(d) == 1 {
		o.Delimiter = d[0]
	} else if d != "" {
		return o, badRequest("delimiter", "the delimiter is %.20q; it must be one character", d)
	}
	if o.Header != "" && o.Header != "yes" && o.Header != "no" {
		return o, badRequest("header", "header is %.20q; it must be yes or no", o.Header)
	}
	if o.Decimals != "" && o.Decimals != "." && o.Decimals != "," {
		return o, badRequest("decimals", "decimals is %.20q; it must be . or ,", o.Decimals)
	}
	return o, nil
}

// bodyName names the body in errors.
const bodyName = "the body"

// eachBatch opens the table in a body and calls send with a function that returns its next rows. It calls send again if
// later rows show that the first ones were misread. The reader that it returns is closed, but still has its notices.
func (s *Server) eachBatch(body io.Reader, o format.TableOptions, send func(columns []table.Column,
	next func() (*table.Table, error)) error) (*format.TableReader, error) {
	spool := s.newSpool(body)
	defer spool.Close()
	o.Stdin = spool
	reader, err := format.OpenTable([]string{"-"}, o)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	for {
		err := send(reader.Columns(), reader.Next)
		if !errors.Is(err, format.ErrRestarted) {
			return reader, err
		}
	}
}

// newSpool returns a reader of body that keeps a copy of what it reads. If the disk has no room, it drops the copy and
// sets Lost.
func (s *Server) newSpool(body io.Reader) *format.Spool {
	spool := format.NewSpool(body)
	spool.Room = s.cfg.HasRoom
	return spool
}

// fill reads a body to its end, rewinds it and returns its size. It stops reading once the copy is lost, because the
// upload cannot succeed then.
func fill(body *format.Spool) (size int64, err error) {
	for !body.Lost {
		n, err := io.CopyN(io.Discard, body, 1<<20)
		size += n
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	if body.Rewind() != nil {
		return 0, noSpace(bodyName)
	}
	return size, nil
}

// isCompressed reports whether a body begins like a gzip, Zstandard, bzip2 or zip file, and may unpack to much more.
func isCompressed(body *bufio.Reader) bool {
	for _, magic := range []string{"\x1f\x8b", "\x28\xb5\x2f\xfd", "BZh", "PK"} {
		if start, _ := body.Peek(len(magic)); string(start) == magic {
			return true
		}
	}
	return false
}

// noSpace returns the error for a spool that is incomplete.
func noSpace(what string) error {
	return fault.New(fault.ResourceExhausted, "DISK_FULL",
		"the coordinator has no space for a copy of %s in its TMPDIR; ask its operator to make room", what)
}

// uploadTable stores a table, a batch of rows at a time.
func (s *Server) uploadTable(r *http.Request, name string, query url.Values) (proto.Message, error) {
	o, err := options(name, query)
	if err != nil {
		return nil, err
	}
	response := &cleavev1.CreateTableResponse{}
	read, err := s.eachBatch(r.Body, o, func(_ []table.Column, next func() (*table.Table, error)) (err error) {
		response.Table, err = wire.SendBatches(r.Context(), cleavev1.NewTableServiceClient(connection(r.Context())),
			query.Get("display_name"), next)
		return err
	})
	if err != nil {
		return nil, err
	}
	response.Notices = read.Notices()
	response.Decimals = read.Decimals()
	return response, nil
}

// uploadDataset stores a data set: points of a table a batch of rows at a time, everything else as a whole.
func (s *Server) uploadDataset(w http.ResponseWriter, r *http.Request, name string,
	query url.Values) (proto.Message, error) {
	in := format.Input{Path: "-", Format: name, Label: bodyName, MaxBytes: s.wholeLimit(),
		Stdin: format.Peekable(r.Body)}
	kind := query.Get("kind")
	if kind == "" || kind == "points" {
		found, err := in.Kind()
		if fault.Is(err, "UNKNOWN_FORMAT") { // that error names a flag
			err = fault.Invalid("UNKNOWN_FORMAT", "the format %.40q is not supported; use one of %s", name,
				strings.Join(format.Formats(), ", ")).OnField("format")
		}
		if err != nil {
			return nil, err
		}
		if found == format.InputTable {
			return s.uploadPoints(r, name, query)
		}
		kind = cmp.Or(kind, map[format.InputKind]string{format.InputDense: "points", format.InputSparse: "sparse",
			format.InputGraph: "graph"}[found])
	}
	if err := checkParameters(query, "kind"); err != nil {
		return nil, err
	}
	body := s.newSpool(http.MaxBytesReader(w, struct {
		io.Reader
		io.Closer
	}{in.Stdin, r.Body}, in.MaxBytes))
	defer body.Close()
	size, err := fill(body) // at the pace of the client, before it takes memory
	if err != nil {
		return nil, err
	}
	in.Stdin = format.Peekable(body)
	if isCompressed(in.Stdin.(*bufio.Reader)) {
		size = min(in.MaxBytes, max(scan.FreeBytes, scan.MaxGrowth*size)) // it unpacks to no more
	}
	held, err := s.cfg.Memory.Reserve(r.Context(), memoryPerByte*size, s.cfg.WriteStall)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	data, err := readDataset(in, kind)
	if err != nil {
		return nil, err
	}
	stored, err := wire.SendDataset(r.Context(), cleavev1.NewDatasetServiceClient(connection(r.Context())),
		query.Get("display_name"), data, wire.UploadStart{})
	return &cleavev1.CreateDatasetResponse{Dataset: stored}, err
}

// wholeLimit returns how large the body of an upload may be that is held in memory as a whole, and how much it may
// decompress to.
func (s *Server) wholeLimit() int64 {
	share := max(s.cfg.UploadMemory/memoryPerByte, int64(s.cfg.MaxMessageBytes))
	return min(share, maxWholeBytes, s.cfg.MaxUploadBytes)
}

func readDataset(in format.Input, kind string) (dataset.Dataset, error) {
	switch kind {
	case "points":
		points, _, err := in.LoadPoints()
		return wire.AsDataset(points, err)
	case "sparse":
		return wire.AsDataset(in.LoadSparsePoints(0))
	case "kernel":
		return wire.AsDataset(in.LoadKernel())
	case "graph":
		g, err := in.LoadNamedGraph(format.GraphOptions{})
		if err != nil {
			return nil, err
		}
		if g.Names != nil {
			return nil, badRequest("format", "the vertices of the graph have names; data sets number them from 0")
		}
		return g.Graph, nil
	}
	return nil, badRequest("kind", "the kind %.40q is not supported; use points, sparse, kernel or graph", kind)
}

// uploadPoints stores the rows of a table of numbers as points.
func (s *Server) uploadPoints(r *http.Request, name string, query url.Values) (proto.Message, error) {
	o, err := options(name, query, "kind")
	if err != nil {
		return nil, err
	}
	response := &cleavev1.CreateDatasetResponse{}
	read, err := s.eachBatch(r.Body, o, func(columns []table.Column, next func() (*table.Table, error)) (err error) {
		response.Dataset, err = wire.SendPoints(r.Context(), cleavev1.NewDatasetServiceClient(connection(r.Context())),
			query.Get("display_name"), len(columns), rowsOf(next))
		return err
	})
	if err != nil {
		return nil, err
	}
	response.Notices = read.Notices()
	return response, nil
}

// rowsOf returns the cells of successive batches of a table of numbers, row by row.
func rowsOf(next func() (*table.Table, error)) iter.Seq2[[]float64, error] {
	return func(yield func([]float64, error) bool) {
		for rows := 0; ; {
			batch, err := next()
			if errors.Is(err, io.EOF) {
				return
			}
			var values []float64
			if err == nil {
				values, err = valuesOf(batch, rows)
				rows += batch.Rows()
			}
			if !yield(values, err) {
				return
			}
		}
	}
}

// valuesOf returns the cells of a table of numbers row by row. first is the number of its first row.
func valuesOf(t *table.Table, first int) ([]float64, error) {
	values := make([]float64, t.Rows()*len(t.Columns))
	for at := range t.Columns {
		c := &t.Columns[at]
		if c.Type == table.Text {
			return nil, fault.Invalid("BAD_COLUMNS",
				"column %.60q holds text, but points have numbers only; upload the file as a table: POST "+
					"/v1/tables?format=...", c.Name)
		}
		for row := range t.Rows() {
			if c.IsEmpty(row) {
				return nil, fault.Invalid("MISSING_VALUE",
					"row %d has no value in column %.60q, but points cannot have missing values; upload the file as "+
						"a table: POST /v1/tables?format=...", first+row, c.Name)
			}
			values[row*len(t.Columns)+at] = c.Number(row)
		}
	}
	return values, nil
}
