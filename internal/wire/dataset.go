package wire

import (
	"math"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// Kind returns the kind of a data set, or 0 if it is unknown.
func Kind(p cleavev1.DatasetKind) dataset.Kind { return kinds[p] }

// DatasetProto describes a data set. The caller sets the id, name and time.
func DatasetProto(d dataset.Dataset) *cleavev1.Dataset {
	p := &cleavev1.Dataset{
		Kind:  kinds.write(d.Kind()),
		Rows:  uint32(d.Rows()),
		Bytes: uint64(dataset.EncodedSize(d)),
	}
	switch d := d.(type) {
	case *dataset.Points:
		p.Columns = uint32(d.D)
	case *dataset.Kernel:
		p.Columns = uint32(d.N)
	case *dataset.Graph:
		p.NonZeros = uint64(len(d.Column))
	case *dataset.SparsePoints:
		p.Columns = uint32(d.D)
		p.NonZeros = uint64(d.NonZeros())
	}
	return p
}

// Upload assembles a data set from the parts of an upload, in the order they arrive. It trusts nothing: memory grows
// with what has arrived, never with what the header claims, and stops at the limit.
type Upload struct {
	limit int64 // in canonical bytes
	form  *cleavev1.DatasetHeader

	counted  bool   // points without declared rows, which are counted as they arrive
	want     uint64 // dense: number of values declared, or the most that the limit allows
	columns  uint64
	rows     uint64
	values   []float64
	edges    []dataset.Edges
	count    int // number of edges
	vertices int // declared number, or 0
	sparse   sparseRows
}

// NewUpload returns an Upload of at most limit bytes in canonical form.
func NewUpload(limit int64) *Upload { return &Upload{limit: limit} }

// Bytes in canonical form: the header of a data set, a value, an edge in both directions, a vertex.
const (
	headerBytes = 24
	valueBytes  = ValueBytes
	edgeBytes   = 24
	vertexBytes = 8
)

// Vertices without edges take memory that the upload did not have to transfer. A graph may have freeVertices of them,
// or verticesPerEdge for each edge it has.
const (
	freeVertices    = 1 << 22
	verticesPerEdge = 64
)

// Add adds the next part. The first one must be the header. After an error the Upload must not be used.
func (u *Upload) Add(part *cleavev1.CreateDatasetRequest) error {
	header := part.GetHeader()
	switch {
	case u.form == nil && header == nil:
		return fault.Invalid("HEADER_MISSING", "the upload does not begin with a header").OnField("header")
	case u.form == nil:
		return u.begin(header)
	case header != nil:
		return fault.Invalid("HEADER_REPEATED", "the upload has a second header; it comes once, and first").OnField("header")
	}
	return u.addPart(part)
}

// addPart adds what follows the header, if it has the form that the header declared.
func (u *Upload) addPart(part *cleavev1.CreateDatasetRequest) error {
	what, wanted := "points or a kernel matrix", "values"
	switch u.form.GetForm().(type) {
	case *cleavev1.DatasetHeader_Graph:
		what, wanted = "a graph", "edges"
	case *cleavev1.DatasetHeader_SparsePoints:
		what, wanted = "sparse points", "sparse_rows"
	}
	var field string
	var add func() error
	switch part := part.GetPart().(type) {
	case *cleavev1.CreateDatasetRequest_Values:
		field, add = "values", func() error { return u.addValues(part.Values.GetValues()) }
	case *cleavev1.CreateDatasetRequest_Edges:
		field, add = "edges", func() error { return u.addEdges(part.Edges) }
	case *cleavev1.CreateDatasetRequest_SparseRows:
		field, add = "sparse_rows", func() error { return u.addSparseRows(part.SparseRows) }
	default:
		return fault.Invalid("PART_EMPTY", "a part of the upload has neither values nor edges nor sparse rows")
	}
	if field != wanted {
		return fault.Invalid("UNEXPECTED_PART", "the upload of %s has %s; send %s", what, field, wanted).OnField(field)
	}
	return add()
}

// Name returns the display name in the header.
func (u *Upload) Name() string { return u.form.GetDisplayName() }

// begin accepts the header, if what it declares is supported and fits.
func (u *Upload) begin(header *cleavev1.DatasetHeader) error {
	u.form = header
	if err := CheckName("header.display_name", header.GetDisplayName()); err != nil {
		return err
	}
	switch form := header.GetForm().(type) {
	case *cleavev1.DatasetHeader_Points:
		if u.counted = form.Points.GetRows() == 0; u.counted {
			return u.declareColumns(uint64(form.Points.GetColumns()))
		}
		return u.declare(uint64(form.Points.GetRows()), uint64(form.Points.GetColumns()), "header.points")
	case *cleavev1.DatasetHeader_Kernel:
		return u.declare(uint64(form.Kernel.GetRows()), uint64(form.Kernel.GetRows()), "header.kernel")
	case *cleavev1.DatasetHeader_Graph:
		vertices := uint64(form.Graph.GetVertices())
		if vertices > dataset.MaxRows {
			return tooManyRows(vertices).OnField("header.graph.vertices")
		}
		u.vertices = int(vertices)
		return u.fits(headerBytes+vertexBytes*vertices, "header.graph.vertices")
	case *cleavev1.DatasetHeader_SparsePoints:
		return u.declareSparse(form.SparsePoints)
	}
	return fault.Invalid("FORM_MISSING", "the header does not say whether points, sparse points, a graph or a kernel matrix follows").OnField("header")
}

// DeclaredRows returns the number of rows that the header of an upload declares, or 0 if it does not say.
func DeclaredRows(header *cleavev1.DatasetHeader) uint32 {
	switch form := header.GetForm().(type) {
	case *cleavev1.DatasetHeader_Points:
		return form.Points.GetRows()
	case *cleavev1.DatasetHeader_Kernel:
		return form.Kernel.GetRows()
	case *cleavev1.DatasetHeader_Graph:
		return form.Graph.GetVertices()
	case *cleavev1.DatasetHeader_SparsePoints:
		return form.SparsePoints.GetRows()
	}
	return 0
}

// declare declares the rows and columns of dense data. No memory is taken before values arrive.
func (u *Upload) declare(rows, columns uint64, field string) error {
	if rows == 0 || columns == 0 {
		return fault.Invalid("EMPTY_DATA", "the data set has %d rows and %d columns; at least one of each is needed", rows, columns).OnField(field)
	}
	if rows > dataset.MaxRows {
		return tooManyRows(rows).OnField(field)
	}
	count := rows * columns // below 2^63: the API has 32 bits for each, and rows has at most 31
	if count > math.MaxInt64/(2*valueBytes) {
		return fault.Invalid("SIZE_OVERFLOW", "%d rows of %d columns are more values than can be counted", rows, columns).OnField(field)
	}
	u.rows, u.columns, u.want = rows, columns, count
	return u.fits(headerBytes+valueBytes*count, field)
}

// declareColumns declares the columns of points whose rows are counted when the upload ends.
func (u *Upload) declareColumns(columns uint64) error {
	const field = "header.points"
	if columns == 0 {
		return fault.Invalid("EMPTY_DATA", "the data set has 0 columns; at least one is needed").OnField(field)
	}
	u.columns, u.want = columns, uint64(max(0, u.limit-headerBytes))/valueBytes
	return u.fits(headerBytes, field)
}

func (u *Upload) fits(bytes uint64, field string) error {
	if bytes <= uint64(u.limit) {
		return nil
	}
	return fault.New(fault.ResourceExhausted, "DATASET_TOO_LARGE",
		"the data set takes %d bytes; this coordinator takes at most %d in one data set", bytes, u.limit).
		OnField(field).With("limit_bytes", itoa(uint64(u.limit)))
}

// addValues copies the next values of dense data.
func (u *Upload) addValues(values []float64) error {
	have := uint64(len(u.values)) + uint64(len(values))
	if u.counted {
		if err := u.fits(headerBytes+valueBytes*have, "values"); err != nil {
			return err
		}
	}
	if have > u.want {
		return fault.Invalid("TOO_MANY_VALUES", "the upload has at least %d values; %d rows of %d columns are %d",
			have, u.rows, u.columns, u.want).OnField("values")
	}
	if have > uint64(cap(u.values)) {
		// Double the capacity, but never beyond what was declared, so that the last copy is exact.
		grown := make([]float64, len(u.values), min(u.want, max(2*uint64(cap(u.values)), have)))
		copy(grown, u.values)
		u.values = grown
	}
	u.values = append(u.values, values...)
	return nil
}

// addEdges copies the next edges. Without weights, all have the weight 1.
func (u *Upload) addEdges(p *cleavev1.Edges) error {
	sources, targets, weights := p.GetSources(), p.GetTargets(), p.GetWeights()
	if len(sources) != len(targets) || len(weights) != 0 && len(weights) != len(sources) {
		return fault.Invalid("EDGE_COUNTS_DIFFER", "a part of the upload has %d sources, %d targets and %d weights; "+
			"they must be equally many, but weights may be left out", len(sources), len(targets), len(weights)).OnField("edges")
	}
	total := uint64(u.count) + uint64(len(sources))
	if err := u.fits(headerBytes+vertexBytes*uint64(u.vertices)+edgeBytes*total, "edges"); err != nil {
		return err
	}
	if at := len(u.edges); at == 0 || u.edges[at-1].Len() >= partEdges { // small parts share a list
		u.edges = append(u.edges, dataset.Edges{Source: make([]int32, 0, len(sources)), Target: make([]int32, 0, len(sources))})
	}
	list := &u.edges[len(u.edges)-1]
	for at := range sources {
		if end := max(sources[at], targets[at]); end >= dataset.MaxRows {
			return fault.Invalid("INDEX_OUT_OF_RANGE", "edge %d (%d-%d) names vertex %d; at most %d vertices are supported",
				u.count+at, sources[at], targets[at], end, dataset.MaxRows).OnField("edges")
		}
		weight := 1.0
		if len(weights) > 0 {
			weight = weights[at]
		}
		list.Append(int32(sources[at]), int32(targets[at]), weight)
	}
	u.count += len(sources)
	return nil
}

// Finish returns the data set made of all parts. The Upload must not be used afterward.
func (u *Upload) Finish() (dataset.Dataset, error) {
	switch u.form.GetForm().(type) {
	case *cleavev1.DatasetHeader_Points, *cleavev1.DatasetHeader_Kernel:
		if u.counted {
			if err := u.countRows(); err != nil {
				return nil, err
			}
		}
		if have := uint64(len(u.values)); have < u.want {
			return nil, fault.Invalid("TOO_FEW_VALUES", "the upload ended after %d values; %d rows of %d columns are %d",
				have, u.rows, u.columns, u.want).OnField("values")
		}
	}
	switch u.form.GetForm().(type) {
	case *cleavev1.DatasetHeader_Points:
		return AsDataset(dataset.NewPoints(int(u.rows), int(u.columns), u.values))
	case *cleavev1.DatasetHeader_Kernel:
		return AsDataset(dataset.NewKernel(int(u.rows), int(u.columns), u.values))
	case *cleavev1.DatasetHeader_Graph:
		return u.finishGraph()
	case *cleavev1.DatasetHeader_SparsePoints:
		return u.finishSparse()
	}
	return nil, fault.Invalid("HEADER_MISSING", "the upload is empty; it begins with a header").OnField("header")
}

// countRows sets the number of rows from the values that have arrived.
func (u *Upload) countRows() error {
	have := uint64(len(u.values))
	u.rows = have / u.columns
	switch {
	case have == 0:
		return fault.Invalid("EMPTY_DATA", "the upload ended without a row; at least one is needed").OnField("values")
	case have%u.columns != 0:
		return fault.Invalid("TOO_FEW_VALUES", "the upload ended after %d values of row %d, which has %d columns",
			have%u.columns, u.rows, u.columns).OnField("values")
	case u.rows > dataset.MaxRows:
		return tooManyRows(u.rows).OnField("values")
	}
	u.want = have
	return nil
}

// finishGraph returns the graph. If no vertices were declared, there are as many as edges name.
func (u *Upload) finishGraph() (dataset.Dataset, error) {
	vertices := u.vertices
	if vertices == 0 {
		for _, e := range u.edges {
			for at, source := range e.Source {
				vertices = max(vertices, int(source)+1, int(e.Target[at])+1)
			}
		}
	}
	if vertices > freeVertices && vertices/verticesPerEdge > u.count {
		return nil, fault.Invalid("TOO_FEW_EDGES", "the graph has %d vertices but only %d edges; "+
			"number the vertices that have edges from 0 on, without gaps", vertices, u.count).OnField("edges")
	}
	if err := u.fits(headerBytes+vertexBytes*uint64(vertices+1)+edgeBytes*uint64(u.count), "edges"); err != nil {
		return nil, err
	}
	return AsDataset(dataset.GraphOf(u.vertices, u.edges))
}

// AsDataset prevents a nil pointer from becoming a non-nil interface.
func AsDataset[D dataset.Dataset](d D, err error) (dataset.Dataset, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

func tooManyRows(rows uint64) *fault.Error {
	return fault.Invalid("TOO_MANY_ROWS", "the data set has %d rows; at most %d are supported", rows, dataset.MaxRows)
}

// maxNameBytes limits display names, which are stored where values are small.
const maxNameBytes = 1000

// CheckName rejects a name that is too long to store.
func CheckName(field, name string) error {
	if len(name) <= maxNameBytes {
		return nil
	}
	return fault.Invalid("NAME_TOO_LONG", "%s has %d bytes; at most %d are kept", field, len(name), maxNameBytes).OnField(field)
}
