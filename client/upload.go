package client

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"iter"
	"math"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// UploadPoints uploads points, all with the same number of values, and returns the ID of the data set, which its
// content determines. It sends nothing if the coordinator has the data set.
func (c *Client) UploadPoints(ctx context.Context, name string, points [][]float64) (string, error) {
	if len(points) == 0 {
		return "", ofFault(fault.Invalid("EMPTY_DATA", "there are no points"))
	}
	columns := len(points[0])
	values := make([]float64, 0, len(points)*columns)
	for row, point := range points {
		if len(point) != columns {
			return "", ofFault(fault.Invalid("SIZE_MISMATCH", "point %d has %d values, and the first has %d", row,
				len(point), columns))
		}
		values = append(values, point...)
	}
	return c.UploadMatrix(ctx, name, values, columns)
}

// UploadMatrix is UploadPoints for the values of all points in one slice, point by point. The slice must not change
// during the call.
func (c *Client) UploadMatrix(ctx context.Context, name string, values []float64, columns int) (string, error) {
	if columns < 1 || len(values)%columns != 0 {
		return "", ofFault(fault.Invalid("SIZE_MISMATCH", "%d values do not fill rows of %d columns",
			len(values), columns))
	}
	points, err := dataset.NewPoints(len(values)/columns, columns, values)
	if err != nil {
		return "", asError(err)
	}
	return c.uploadDataset(ctx, name, points)
}

// UploadRows uploads points while they are produced, in constant memory, and returns the ID of the data set. It ends
// with the first error of rows. If the connection breaks, it ranges over rows again from the start, so rows must yield
// the same points each time; it fails if they differ from those that were already sent. Slices may be reused.
func (c *Client) UploadRows(ctx context.Context, name string, columns int,
	rows iter.Seq2[[]float64, error]) (id string, _ error) {
	if columns < 1 {
		return "", ofFault(fault.Invalid("SIZE_MISMATCH", "points need one column or more, not %d", columns))
	}
	checked := &checkedRows{columns: columns, rows: rows}
	err := c.Retry(ctx, func(ctx context.Context, _ func()) error {
		stored, err := wire.SendPoints(ctx, c.Datasets, name, columns, checked.all)
		id = stored.GetDatasetId()
		return err
	})
	return id, err
}

// checkedRows are the points of an upload, which is repeated if the connection breaks.
type checkedRows struct {
	columns int
	rows    iter.Seq2[[]float64, error]
	count   int    // the most points that a pass over rows has yielded
	sum     uint32 // checksum of these points
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// all yields the points, up to the first that does not have the right number of columns. It ends with an error if an
// earlier pass yielded other points, or more.
func (r *checkedRows) all(yield func([]float64, error) bool) {
	count, sum := 0, uint32(0)
	var values []byte
	for row, err := range r.rows {
		switch {
		case err != nil:
			err = Final(explaining(err, fault.Invalid("BAD_ROWS", "%v", err)))
		case len(row) != r.columns:
			err = ofFault(fault.Invalid("SIZE_MISMATCH", "point %d has %d values instead of %d", count,
				len(row), r.columns))
		default:
			values = values[:0]
			for _, value := range row {
				values = binary.LittleEndian.AppendUint64(values, math.Float64bits(value))
			}
			count++
			sum = crc32.Update(sum, castagnoli, values)
			if count == r.count && sum != r.sum {
				err = r.notRepeated()
			}
		}
		if count > r.count {
			r.count, r.sum = count, sum
		}
		if !yield(row, err) {
			return
		}
	}
	if count < r.count {
		yield(nil, r.notRepeated())
	}
}

func (r *checkedRows) notRepeated() error {
	return ofFault(fault.Invalid("BAD_ROWS",
		"the connection broke, and reading the points again gave other points within the first %d, or fewer; "+
			"pass an iterator that yields the same points each time", r.count))
}

// Edge is an undirected edge of a graph. Vertices are numbered from 0.
type Edge struct {
	Source, Target int
	Weight         float64
}

// UploadGraph uploads a graph and returns the ID of the data set. If vertices is 0, the largest vertex of an edge
// determines their number. Weights of repeated edges are added. It sends nothing if the coordinator has the graph.
func (c *Client) UploadGraph(ctx context.Context, name string, vertices int, edges []Edge) (string, error) {
	list := make([]dataset.Edge, len(edges))
	for at, e := range edges {
		if e.Source < 0 || e.Target < 0 || e.Source >= dataset.MaxRows || e.Target >= dataset.MaxRows {
			return "",
				ofFault(fault.Invalid("INDEX_OUT_OF_RANGE",
					"edge %d connects the vertices %d and %d; they must be numbers from 0 to %d", at, e.Source,
					e.Target, dataset.MaxRows-1))
		}
		list[at] = dataset.Edge{Source: int32(e.Source), Target: int32(e.Target), Weight: e.Weight}
	}
	graph, err := dataset.NewGraph(vertices, list)
	if err != nil {
		return "", asError(err)
	}
	return c.uploadDataset(ctx, name, graph)
}

func (c *Client) uploader() wire.Uploader {
	return wire.Uploader{Datasets: c.Datasets, Tables: c.Tables, Retry: c.Retry}
}

func (c *Client) uploadDataset(ctx context.Context, name string, data dataset.Dataset) (string, error) {
	id, err := c.uploader().Dataset(ctx, name, data, nil)
	return id, asError(err)
}

// UploadTable uploads a table, such as constraints, seeds or rows to cluster, and returns its ID, which its content
// determines. It sends nothing if the coordinator has the table. All columns have the same number of cells.
func (c *Client) UploadTable(ctx context.Context, name string, columns ...*cleavev1.Column) (string, error) {
	t, err := wire.TableRows(&cleavev1.TableRows{Columns: columns})
	if err != nil {
		return "", asError(err)
	}
	id, err := c.uploader().Table(ctx, name, t, nil)
	return id, asError(err)
}

// ImportTable makes a table of objects in an object store, which the workers read; see TableService.ImportTable.
// Without a request ID the import gets one, so that it reads the same versions of the objects if the connection breaks
// and it is repeated. progress is called about once a second; it may be nil.
func (c *Client) ImportTable(ctx context.Context, request *cleavev1.ImportTableRequest,
	progress func(*cleavev1.ImportProgress)) (imported *cleavev1.ImportedTable, _ error) {
	request = proto.CloneOf(request)
	if request.GetRequestId() == "" {
		request.RequestId = uuid.NewString()
	}
	err := c.Retry(ctx, func(ctx context.Context, _ func()) error {
		stream, err := c.Tables.ImportTable(ctx, request)
		if err != nil {
			return err
		}
		return wire.Receive(stream.Recv, func(m *cleavev1.ImportTableResponse) error {
			if now := m.GetProgress(); now != nil && progress != nil {
				progress(now)
			}
			imported = m.GetImported()
			return nil
		})
	})
	if err == nil && imported == nil {
		err = badAnswer("the coordinator ended the import without a table")
	}
	return imported, err
}

// Integers returns a column of integers for UploadTable. It keeps cells. To leave cells empty, list their rows in
// EmptyRows of the result.
func Integers(name string, cells ...int64) *cleavev1.Column {
	return &cleavev1.Column{Name: name,
		Cells: &cleavev1.Column_Integers{Integers: &cleavev1.IntegerCells{Values: cells}}}
}

// Numbers returns a column of numbers, as Integers does.
func Numbers(name string, cells ...float64) *cleavev1.Column {
	return &cleavev1.Column{Name: name, Cells: &cleavev1.Column_Numbers{Numbers: &cleavev1.NumberCells{Values: cells}}}
}

// Texts returns a column of texts, as Integers does.
func Texts(name string, cells ...string) *cleavev1.Column {
	return &cleavev1.Column{Name: name, Cells: &cleavev1.Column_Texts{Texts: &cleavev1.TextCells{Values: cells}}}
}
