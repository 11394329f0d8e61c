package wire

import (
	"errors"
	"fmt"
	"math"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// sparseUpload assembles sparse points.
type sparseUpload struct {
	limit         byteLimit
	counted       bool    // no rows are declared; they are counted as they arrive
	rows, columns int     // as declared, or the rows that have arrived
	starts        []int64 // starts of the rows whose lengths have arrived, and the end of the last
	column        []int32
	value         []float64
}

// Bytes in canonical form: the start of a row, and an entry.
const (
	rowStartBytes = 8
	entryBytes    = 12
)

// A number per column, such as a mean, takes memory that the upload did not have to transfer. Sparse points may have
// freeColumns columns, or columnsPerEntry for each entry.
const (
	freeColumns     = 1 << 22
	columnsPerEntry = 64
)

// sparse declares sparse points. If they have no rows, these are counted as their lengths arrive.
func (l byteLimit) sparse(form *cleavev1.SparsePointsForm) (*sparseUpload, error) {
	const field = "header.sparse_points"
	rows := uint64(form.GetRows())
	columns := uint64(form.GetColumns())
	switch {
	case columns == 0:
		return nil, fault.Invalid("EMPTY_DATA", "the data set has 0 columns; at least one is needed").OnField(field)
	case rows > dataset.MaxRows:
		return nil, tooManyRows(rows).OnField(field)
	case columns > dataset.MaxColumns:
		return nil, fault.Invalid("TOO_MANY_COLUMNS", "the data set has %d columns; at most %d are supported", columns,
			dataset.MaxColumns).OnField(field)
	}
	s := &sparseUpload{limit: l, counted: rows == 0, rows: int(rows), columns: int(columns), starts: []int64{0}}
	return s, l.check(headerBytes+rowStartBytes*(rows+1), field)
}

// add copies the next lengths of rows and the next entries, which need not belong to each other.
func (s *sparseUpload) add(part *cleavev1.CreateDatasetRequest) error {
	const field = "sparse_rows"
	p := part.GetSparseRows()
	if p == nil {
		return unexpectedPart(part, "sparse points", field)
	}
	lengths := p.GetLengths()
	columns := p.GetColumns()
	values := p.GetValues()
	if len(columns) != len(values) {
		return fault.Invalid("ENTRY_COUNTS_DIFFER",
			"a part of the upload has %d columns and %d values; every value needs its column",
			len(columns), len(values)).OnField(field)
	}
	have := len(s.starts) - 1 + len(lengths)
	switch {
	case s.counted && have > dataset.MaxRows:
		return tooManyRows(uint64(have)).OnField(field)
	case s.counted:
		s.rows = have
	case have > s.rows:
		return fault.Invalid("TOO_MANY_ROWS", "the upload has the lengths of at least %d rows; %d are declared", have,
			s.rows).OnField(field)
	}
	entries := uint64(len(s.column)) + uint64(len(columns))
	if err := s.limit.check(headerBytes+rowStartBytes*uint64(s.rows+1)+entryBytes*entries, field); err != nil {
		return err
	}
	for _, length := range lengths {
		s.starts = append(s.starts, s.starts[len(s.starts)-1]+int64(length))
	}
	for at, c := range columns {
		if c > math.MaxInt32 {
			return fault.Invalid("INDEX_OUT_OF_RANGE", "entry %d names column %d; the data set has %d columns",
				len(s.column), c, s.columns).OnField(field)
		}
		s.column = append(s.column, int32(c))
		s.value = append(s.value, values[at])
	}
	return nil
}

// finish returns the sparse points, if lengths and entries agree.
func (s *sparseUpload) finish() (dataset.Dataset, error) {
	const field = "sparse_rows"
	if s.rows == 0 {
		return nil, fault.Invalid("EMPTY_DATA", "the upload ended without a row; at least one is needed").OnField(field)
	}
	if have := len(s.starts) - 1; have < s.rows {
		return nil, fault.Invalid("TOO_FEW_ROWS", "the upload ended after the lengths of %d rows; %d are declared",
			have, s.rows).OnField(field)
	}
	if want := s.starts[s.rows]; want != int64(len(s.column)) {
		return nil, fault.Invalid("ENTRY_COUNTS_DIFFER", "the rows have %d entries by their lengths; the upload has %d",
			want, len(s.column)).OnField(field)
	}
	if s.columns > freeColumns && s.columns/columnsPerEntry > len(s.column) {
		return nil, fault.Invalid("TOO_FEW_ENTRIES", "the data set has %d columns but only %d entries; "+
			"number the columns that have entries from 0 on, without gaps", s.columns, len(s.column)).OnField(field)
	}
	return AsDataset(dataset.NewSparsePoints(s.rows, s.columns, s.starts, s.column, s.value))
}

// Row lengths and entries are sent separately, so that parts have about the same size whether rows are many or long.
const (
	partLengths = 1 << 18
	partEntries = 1 << 16
)

// sparseParts sends the lengths of the rows, and then the entries.
func sparseParts(p *dataset.SparsePoints, yield func(*cleavev1.CreateDatasetRequest) error) error {
	send := func(rows *cleavev1.SparseRows) error {
		return yield(&cleavev1.CreateDatasetRequest{Part: &cleavev1.CreateDatasetRequest_SparseRows{SparseRows: rows}})
	}
	for first := 0; first < p.N; first += partLengths {
		lengths := make([]uint32, min(partLengths, p.N-first))
		for at := range lengths {
			lengths[at] = uint32(p.RowStart[first+at+1] - p.RowStart[first+at])
		}
		if err := send(&cleavev1.SparseRows{Lengths: lengths}); err != nil {
			return err
		}
	}
	for first := 0; first < len(p.Column); first += partEntries {
		last := min(first+partEntries, len(p.Column))
		columns := make([]uint32, last-first)
		for at, c := range p.Column[first:last] {
			columns[at] = uint32(c)
		}
		if err := send(&cleavev1.SparseRows{Columns: columns, Values: p.Value[first:last]}); err != nil {
			return err
		}
	}
	return nil
}

// SendNeighborGraph sends the head of a graph without loops, and then its edges in portions.
func SendNeighborGraph(g *dataset.Graph, send func(*cleavev1.GetNeighborGraphResponse) error) error {
	head := &cleavev1.NeighborGraphHead{Vertices: uint32(g.N), Edges: uint64(len(g.Column) / 2)}
	if err := send(&cleavev1.GetNeighborGraphResponse{
		Part: &cleavev1.GetNeighborGraphResponse_Head{Head: head}}); err != nil {
		return err
	}
	return edgeParts(g, func(part *cleavev1.CreateDatasetRequest) error {
		return send(&cleavev1.GetNeighborGraphResponse{
			Part: &cleavev1.GetNeighborGraphResponse_Edges{Edges: part.GetEdges()}})
	})
}

// ReceiveNeighborGraph assembles a graph from the parts of a stream, which ends with io.EOF. Memory grows with what
// has arrived, except for vertices, of which few are allowed per edge. Errors of the stream are returned as they are.
func ReceiveNeighborGraph(receive func() (*cleavev1.GetNeighborGraphResponse, error)) (*dataset.Graph, error) {
	head, err := receiveHead(receive, "a graph")
	if err != nil {
		return nil, err
	}
	upload, err := byteLimit(math.MaxInt64).graph(head.GetVertices())
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	err = Receive(receive, func(part *cleavev1.GetNeighborGraphResponse) error {
		if part.GetEdges() == nil {
			return errors.New("wire: a part of a graph has no edges")
		}
		return upload.addEdges(part.GetEdges())
	})
	if err != nil {
		return nil, err
	}
	if count := dataset.CountEdges(upload.edges); uint64(count) != head.GetEdges() || head.GetVertices() == 0 {
		return nil, fmt.Errorf("wire: a graph of %d vertices and %d edges ended after %d", head.GetVertices(),
			head.GetEdges(), count)
	}
	graph, err := upload.finish()
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	return graph.(*dataset.Graph), nil
}
