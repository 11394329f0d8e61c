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
	limit  byteLimit
	header *cleavev1.DatasetHeader
	form   uploadForm // what the header declares; nil before it has arrived
}

// uploadForm assembles a data set of one kind.
type uploadForm interface {
	// add adds what a part has. It fails if that is not what the form is made of.
	add(part *cleavev1.CreateDatasetRequest) error
	finish() (dataset.Dataset, error)
}

// NewUpload returns an Upload of at most limit bytes in canonical form.
func NewUpload(limit int64) *Upload { return &Upload{limit: byteLimit(limit)} }

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
func (u *Upload) Add(part *cleavev1.CreateDatasetRequest) (err error) {
	header := part.GetHeader()
	switch {
	case u.header == nil && header == nil:
		return fault.Invalid("HEADER_MISSING", "the upload does not begin with a header").OnField("header")
	case header == nil:
		return u.form.add(part)
	case u.header != nil:
		return fault.Invalid("HEADER_REPEATED", "the upload has a second header; it comes once, and first").
			OnField("header")
	}
	if err := CheckName("header.display_name", header.GetDisplayName()); err != nil {
		return err
	}
	u.header = header
	u.form, err = u.limit.formOf(header)
	return err
}

// Finish returns the data set made of all parts. The Upload must not be used afterward.
func (u *Upload) Finish() (dataset.Dataset, error) {
	if u.header == nil {
		return nil, fault.Invalid("HEADER_MISSING", "the upload is empty; it begins with a header").OnField("header")
	}
	return u.form.finish()
}

// Name returns the display name in the header.
func (u *Upload) Name() string { return u.header.GetDisplayName() }

// byteLimit is the most that a data set may take in canonical form.
type byteLimit int64

func (l byteLimit) check(bytes uint64, field string) error {
	if bytes <= uint64(l) {
		return nil
	}
	return fault.New(fault.ResourceExhausted, "DATASET_TOO_LARGE",
		"the data set takes %d bytes; this coordinator takes at most %d in one data set", bytes, l).
		OnField(field).With("limit_bytes", itoa(uint64(l)))
}

// formOf returns the form that a header declares, if that is supported and fits.
func (l byteLimit) formOf(header *cleavev1.DatasetHeader) (uploadForm, error) {
	switch form := header.GetForm().(type) {
	case *cleavev1.DatasetHeader_Points:
		rows := uint64(form.Points.GetRows())
		u := &denseUpload{limit: l, counted: rows == 0, rows: rows, columns: uint64(form.Points.GetColumns())}
		return u, u.declare("header.points")
	case *cleavev1.DatasetHeader_Kernel:
		rows := uint64(form.Kernel.GetRows())
		u := &denseUpload{limit: l, kernel: true, rows: rows, columns: rows}
		return u, u.declare("header.kernel")
	case *cleavev1.DatasetHeader_Graph:
		return l.graph(form.Graph.GetVertices())
	case *cleavev1.DatasetHeader_SparsePoints:
		return l.sparse(form.SparsePoints)
	}
	return nil,
		fault.Invalid("FORM_MISSING", "the header does not say whether points, sparse points, a graph or a kernel "+
			"matrix follows").OnField("header")
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

// unexpectedPart returns the fault of a part that is not what the upload is made of.
func unexpectedPart(part *cleavev1.CreateDatasetRequest, what, wanted string) error {
	m := part.ProtoReflect()
	field := m.WhichOneof(m.Descriptor().Oneofs().ByName("part"))
	if field == nil {
		return fault.Invalid("PART_EMPTY", "a part of the upload has neither values nor edges nor sparse rows")
	}
	return fault.Invalid("UNEXPECTED_PART", "the upload of %s has %s; send %s", what, field.Name(), wanted).
		OnField(string(field.Name()))
}

// denseUpload assembles points or a kernel matrix.
type denseUpload struct {
	limit         byteLimit
	kernel        bool
	counted       bool // no rows are declared; they are counted when the upload ends
	rows, columns uint64
	want          uint64 // number of values declared, or the most that the limit allows
	values        []float64
}

// declare checks the declared rows and columns. No memory is taken before values arrive.
func (u *denseUpload) declare(field string) error {
	switch {
	case u.counted && u.columns == 0:
		return fault.Invalid("EMPTY_DATA", "the data set has 0 columns; at least one is needed").OnField(field)
	case u.counted:
		u.want = uint64(max(0, u.limit-headerBytes)) / valueBytes
		return u.limit.check(headerBytes, field)
	case u.rows == 0 || u.columns == 0:
		return fault.Invalid("EMPTY_DATA", "the data set has %d rows and %d columns; at least one of each is needed",
			u.rows, u.columns).OnField(field)
	case u.rows > dataset.MaxRows:
		return tooManyRows(u.rows).OnField(field)
	}
	u.want = u.rows * u.columns // below 2^63: the API has 32 bits for each, and rows has at most 31
	if u.want > math.MaxInt64/(2*valueBytes) {
		return fault.Invalid("SIZE_OVERFLOW", "%d rows of %d columns are more values than can be counted", u.rows,
			u.columns).OnField(field)
	}
	return u.limit.check(headerBytes+valueBytes*u.want, field)
}

// add copies the next values.
func (u *denseUpload) add(part *cleavev1.CreateDatasetRequest) error {
	if part.GetValues() == nil {
		return unexpectedPart(part, "points or a kernel matrix", "values")
	}
	values := part.GetValues().GetValues()
	have := uint64(len(u.values)) + uint64(len(values))
	if u.counted {
		if err := u.limit.check(headerBytes+valueBytes*have, "values"); err != nil {
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

func (u *denseUpload) finish() (dataset.Dataset, error) {
	have := uint64(len(u.values))
	if u.counted {
		u.rows, u.want = have/u.columns, have
	}
	switch {
	case u.counted && have == 0:
		return nil, fault.Invalid("EMPTY_DATA", "the upload ended without a row; at least one is needed").
			OnField("values")
	case u.counted && have%u.columns != 0:
		return nil, fault.Invalid("TOO_FEW_VALUES", "the upload ended after %d values of row %d, which has %d columns",
			have%u.columns, u.rows, u.columns).OnField("values")
	case u.rows > dataset.MaxRows:
		return nil, tooManyRows(u.rows).OnField("values")
	case have < u.want:
		return nil, fault.Invalid("TOO_FEW_VALUES", "the upload ended after %d values; %d rows of %d columns are %d",
			have, u.rows, u.columns, u.want).OnField("values")
	case u.kernel:
		return AsDataset(dataset.NewKernel(int(u.rows), int(u.columns), u.values))
	}
	return AsDataset(dataset.NewPoints(int(u.rows), int(u.columns), u.values))
}

// graphUpload assembles a graph.
type graphUpload struct {
	limit    byteLimit
	vertices int // declared number; 0 means as many as edges name
	edges    []dataset.Edges
	count    int // number of edges
}

// graph declares a graph.
func (l byteLimit) graph(vertices uint32) (*graphUpload, error) {
	const field = "header.graph.vertices"
	if vertices > dataset.MaxRows {
		return nil, tooManyRows(uint64(vertices)).OnField(field)
	}
	return &graphUpload{limit: l, vertices: int(vertices)}, l.check(headerBytes+vertexBytes*uint64(vertices), field)
}

func (u *graphUpload) add(part *cleavev1.CreateDatasetRequest) error {
	if part.GetEdges() == nil {
		return unexpectedPart(part, "a graph", "edges")
	}
	return u.addEdges(part.GetEdges())
}

// addEdges copies the next edges. Without weights, all have the weight 1.
func (u *graphUpload) addEdges(p *cleavev1.Edges) error {
	sources := p.GetSources()
	targets := p.GetTargets()
	weights := p.GetWeights()
	if len(sources) != len(targets) || len(weights) != 0 && len(weights) != len(sources) {
		return fault.Invalid("EDGE_COUNTS_DIFFER", "a part of the upload has %d sources, %d targets and %d weights; "+
			"they must be equally many, but weights may be left out", len(sources), len(targets), len(weights)).
			OnField("edges")
	}
	total := uint64(u.count) + uint64(len(sources))
	if err := u.limit.check(headerBytes+vertexBytes*uint64(u.vertices)+edgeBytes*total, "edges"); err != nil {
		return err
	}
	if at := len(u.edges); at == 0 || u.edges[at-1].Len() >= partEdges { // small parts share a list
		u.edges = append(u.edges, dataset.Edges{Source: make([]int32, 0, len(sources)),
			Target: make([]int32, 0, len(sources))})
	}
	list := &u.edges[len(u.edges)-1]
	for at := range sources {
		if end := max(sources[at], targets[at]); end >= dataset.MaxRows {
			return fault.Invalid("INDEX_OUT_OF_RANGE",
				"edge %d (%d-%d) names vertex %d; at most %d vertices are supported",
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

func (u *graphUpload) finish() (dataset.Dataset, error) {
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
	if err := u.limit.check(headerBytes+vertexBytes*uint64(vertices+1)+edgeBytes*uint64(u.count), "edges"); err != nil {
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
	return fault.Invalid("NAME_TOO_LONG", "%s has %d bytes; at most %d are kept", field, len(name), maxNameBytes).
		OnField(field)
}
