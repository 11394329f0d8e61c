package dataset

import "io"

// Part is some consecutive rows of dense or sparse points. It knows where they are in the canonical bytes, so that
// they can be read without the others.
type Part struct {
	N, D     int      // rows and columns of all points
	From, To int      // the rows of the part
	Entries  *Entries // of sparse points; nil for dense points
}

// Entries is where the entries of a part of sparse points begin and end among all entries.
type Entries struct{ From, To, All int64 }

// Span is a range of canonical bytes.
type Span struct{ Offset, Length int64 }

// Bytes returns the number of canonical bytes of all points.
func (p Part) Bytes() int64 {
	if p.Entries != nil {
		return CompressedBytes(int64(p.N), p.Entries.All)
	}
	_, length := RowRange(p.D, 0, p.N)
	return headerSize + length
}

// Spans returns where the rows are: one range of bytes of dense points, three of sparse points, because row starts,
// columns and values lie apart.
func (p Part) Spans() []Span {
	if p.Entries == nil {
		offset, length := RowRange(p.D, p.From, p.To)
		return []Span{{offset, length}}
	}
	columns := headerSize + 8*int64(p.N+1)
	values := columns + 4*p.Entries.All
	first, count := p.Entries.From, p.Entries.To-p.Entries.From
	return []Span{
		{headerSize + 8*int64(p.From), 8 * int64(p.To-p.From+1)},
		{columns + 4*first, 4 * count},
		{values + 8*first, 8 * count},
	}
}

// Read reads the rows. open returns a reader of the canonical bytes of all points that starts at an offset.
func (p Part) Read(open func(offset int64) io.Reader) (Dataset, error) {
	spans := p.Spans()
	rows := p.To - p.From
	if p.Entries == nil {
		values, err := readSpan(spans[0], open, 8, getFloats)
		if err != nil {
			return nil, err
		}
		return NewPoints(rows, p.D, values)
	}
	starts, err := readSpan(spans[0], open, 8, getLongs)
	if err != nil {
		return nil, err
	}
	if starts[0] != p.Entries.From || starts[rows] != p.Entries.To {
		return nil, corrupt("rows start at other entries than expected")
	}
	for at := range starts {
		starts[at] -= p.Entries.From
	}
	columns, err := readSpan(spans[1], open, 4, getInts)
	if err != nil {
		return nil, err
	}
	values, err := readSpan(spans[2], open, 8, getFloats)
	if err != nil {
		return nil, err
	}
	return newCanonicalPoints(rows, p.D, starts, columns, values)
}

// readSpan reads the values of a span, which take size bytes each.
func readSpan[T any](s Span, open func(offset int64) io.Reader, size int, get func([]T, []byte)) ([]T, error) {
	count := int(s.Length) / size
	return readBlocks(open(s.Offset), make([]T, 0, count), count, size, get)
}
