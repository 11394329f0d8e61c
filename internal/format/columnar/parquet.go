package columnar

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
	"github.com/cleave-project/cleave/internal/parallel"
)

const parquetName = "Parquet"

// freeCells is the number of cells that a file may have regardless of its size: a run of equal values takes hardly any
// bytes.
const freeCells = 1 << 20

// A batch has this many cells, within these limits on its rows.
const (
	batchCells = 1 << 20
	leastRows  = 1 << 8
	mostRows   = 1 << 16
)

// Parquet reads the rows of a Parquet file in portions. It is not safe for concurrent use.
type Parquet struct {
	budget
	r       io.ReaderAt
	size    int64        // of the file, in bytes
	reader  *file.Reader // knows the metadata; pages are read and checked here
	columns []column     // of the table, in the order of the schema
	chunks  []*chunk     // of the current row group, for each column; nil for one that is not read

	group   int   // the next row group
	end     int   // the row group after the last one to read
	inGroup int64 // remaining rows of the current group
	whole   bool  // see Whole
}

// column describes a column of the file and how its cells are converted.
type column struct {
	name     string
	leaf     int          // the position in the row groups; -1 if the column is not read and its cells are empty
	optional bool         // cells may be missing
	unneeded bool         // cells that a table cannot hold are read as empty instead of failing
	physical parquet.Type // how values are stored
	to       table.Type   // what they become
	values   meaning
}

// chunk reads a column of a row group.
type chunk struct {
	*Parquet
	*column
	from, size, values int64 // the offset and the bytes in the file, and the number of values, missing ones included
	codec              compress.Compression
	group              *file.RowGroupReader

	reader file.ColumnChunkReader // nil before the first read
	blank  int                    // pages without values still to come
	defs   []int16                // of the rows read last: 0 where the cell is missing
	block  []byte                 // a page before and after decompression
	page   []byte
	texts  texts
}

// OpenParquet reads the metadata of a file. It calls ignores once with the names of the columns, which it may change.
// Columns and cells that a table cannot hold are an error, except in columns for which ignores returns true: such cells
// are read as empty.
func OpenParquet(r io.ReaderAt, size int64, ignores func(names []string) []bool) (f *Parquet, err error) {
	defer rescue(parquetName, &err)
	f = &Parquet{r: r, size: size}
	f.read.Store(size)
	footer, err := f.footer()
	if err != nil {
		return nil, err
	}
	if err := checkFooter(footer); err != nil {
		return nil, err
	}
	read, err := metadata.NewFileMetaData(footer, nil)
	if err != nil {
		return nil, err
	}
	if read.IsSetEncryptionAlgorithm() {
		return nil, fault.Invalid("ENCRYPTED_FILE",
			"columns of the Parquet file are encrypted; write it without encryption")
	}
	read.SetSourceFileSize(size)
	if err := f.readSchema(read.Schema.Root(), ignores); err != nil {
		return nil, err
	}
	if err := f.checkGroups(read); err != nil {
		return nil, err
	}
	properties := parquet.NewReaderProperties(&f.budget)
	properties.BufferedStreamEnabled = true
	properties.MaxCompressedPageSize, properties.MaxUncompressedPageSize = size, maxBlock
	f.reader, err = file.NewParquetReader(io.NewSectionReader(markedReader{r}, 0, size), file.WithMetadata(read),
		file.WithReadProps(properties))
	f.end = read.NumRowGroups()
	return f, err
}

// Group is the number of rows of a row group, and their size.
type Group struct {
	Rows, Bytes int64 // compressed bytes
}

// Groups returns the sizes of all row groups, and their columns.
func (f *Parquet) Groups() []Group {
	groups := make([]Group, f.reader.NumRowGroups())
	for at := range groups {
		m := f.reader.MetaData().RowGroup(at)
		groups[at].Rows = m.NumRows()
		for c := range m.NumColumns() {
			if chunk, err := m.ColumnChunk(c); err == nil {
				groups[at].Bytes += chunk.TotalCompressedSize()
			}
		}
	}
	return groups
}

// Restrict makes Next return the rows of the groups [from, to) only.
func (f *Parquet) Restrict(from, to int) error {
	if from < 0 || to < from || to > f.reader.NumRowGroups() {
		return corrupt(parquetName, "it has %d row groups, and groups %d to %d were expected", f.reader.NumRowGroups(),
			from, to)
	}
	f.group, f.end = from, to
	return nil
}

// markedReader wraps a reader and marks its errors, to distinguish them from errors of the library.
type markedReader struct{ io.ReaderAt }

func (s markedReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := s.ReaderAt.ReadAt(p, at)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = &readError{err}
	}
	return n, err
}

// readAt reads all of p.
func (f *Parquet) readAt(p []byte, at int64) error {
	n, err := markedReader{f.r}.ReadAt(p, at)
	var reading *readError
	if n == len(p) || errors.As(err, &reading) {
		return err
	}
	return corrupt(parquetName, "the file ends at byte %d", at+int64(n))
}

// footer reads the metadata at the end of a file.
func (f *Parquet) footer() ([]byte, error) {
	const tail = 8
	var ends [len(scan.ParquetMagic) + tail]byte
	if f.size < int64(len(ends)) {
		return nil, corrupt(parquetName, "the file has only %d bytes", f.size)
	}
	if err := f.readAt(ends[:len(scan.ParquetMagic)], 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := f.readAt(ends[len(scan.ParquetMagic):], f.size-tail); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch end := string(ends[len(ends)-len(scan.ParquetMagic):]); {
	case end == "PARE":
		return nil, fault.Invalid("ENCRYPTED_FILE", "the Parquet file is encrypted; write it without encryption")
	case end != scan.ParquetMagic || string(ends[:len(scan.ParquetMagic)]) != scan.ParquetMagic:
		return nil, corrupt(parquetName, "the footer is missing")
	}
	length := int64(binary.LittleEndian.Uint32(ends[len(scan.ParquetMagic):]))
	if length > f.size-int64(len(ends)) {
		return nil, corrupt(parquetName, "the footer claims %d bytes of metadata, but the file has %d", length, f.size)
	}
	footer := make([]byte, length)
	return footer, f.readAt(footer, f.size-tail-length)
}

// readSchema collects the columns: the children of the root, each of which has leaves in the row groups.
func (f *Parquet) readSchema(root *schema.GroupNode, ignores func(names []string) []bool) error {
	names := make([]string, root.NumFields())
	for at := range names {
		names[at] = root.Field(at).Name()
	}
	unneeded, err := nameColumns(names, ignores)
	if err != nil {
		return err
	}
	leaf := 0
	for at := range names {
		node := root.Field(at)
		c := column{name: names[at], leaf: leaf, optional: node.RepetitionType() == parquet.Repetitions.Optional,
			unneeded: unneeded[at]}
		if refusal := c.setType(node); refusal != "" {
			if !c.unneeded {
				return unsupported(c.name, at, refusal)
			}
			c.leaf, c.to = -1, table.Text
		}
		f.columns = append(f.columns, c)
		leaf += leaves(node)
	}
	return nil
}

// leaves counts the stored columns of a field: a field that is not nested has one.
func leaves(node schema.Node) (count int) {
	group, ok := node.(*schema.GroupNode)
	if !ok {
		return 1
	}
	for at := range group.NumFields() {
		count += leaves(group.Field(at))
	}
	return count
}

// checkGroups checks what the row groups claim against the size of the file.
func (f *Parquet) checkGroups(read *metadata.FileMetaData) error {
	rows, cells := int64(0), int64(0)
	for at := range read.NumRowGroups() {
		g := read.RowGroup(at)
		if g.NumRows() < 0 || g.NumRows() > math.MaxInt32 {
			return corrupt(parquetName, "a row group claims %d rows", g.NumRows())
		}
		rows += g.NumRows()
		cells += g.NumRows() * int64(len(f.columns))
		if cells > freeCells+scan.MaxGrowth*f.size {
			return fault.Invalid("FILE_GROWS_TOO_MUCH",
				"the file of %d bytes claims at least %d rows of %d columns, more than %d cells per byte, which "+
					"looks like a mistake or an attack",
				f.size, rows, len(f.columns), scan.MaxGrowth)
		}
		for i := range f.columns {
			if c := &f.columns[i]; c.leaf >= 0 && g.NumRows() > 0 {
				if _, err := f.chunkOf(g, c); err != nil {
					return err
				}
			}
		}
	}
	if read.NumRows != rows {
		return corrupt(parquetName, "its metadata claim %d rows, but its row groups have %d", read.NumRows, rows)
	}
	return nil
}

// chunkOf locates a column of a row group.
func (f *Parquet) chunkOf(g *metadata.RowGroupMetaData, c *column) (*chunk, error) {
	if c.leaf >= g.NumColumns() {
		return nil, corrupt(parquetName, "a row group has no column %q", c.name)
	}
	m, err := g.ColumnChunk(c.leaf)
	if err != nil {
		return nil, corrupt(parquetName, "column %q: %v", c.name, err)
	}
	if m.FilePath() != "" {
		return nil, fault.Invalid("UNSUPPORTED_FILE",
			"column %q is in another file, %.60q; write all columns to one file", c.name, m.FilePath())
	}
	if m.CryptoMetadata() != nil {
		return nil, fault.Invalid("ENCRYPTED_FILE", "column %q is encrypted; write the file without encryption",
			c.name).With("column", c.name)
	}
	e := &chunk{Parquet: f, column: c, from: m.DataPageOffset(), size: m.TotalCompressedSize(), values: m.NumValues(),
		codec: m.Compression()}
	if m.HasDictionaryPage() && m.DictionaryPageOffset() > 0 && m.DictionaryPageOffset() < e.from {
		e.from = m.DictionaryPageOffset()
	}
	switch {
	case e.from < int64(len(scan.ParquetMagic)) || e.size < 0 || e.from > f.size || e.size > f.size-e.from:
		return nil, corrupt(parquetName, "column %q claims %d bytes at byte %d of a file of %d", c.name, e.size,
			e.from, f.size)
	case m.Type() != c.physical:
		return nil, corrupt(parquetName, "column %q has another type in its row group than in the schema", c.name)
	case e.values != g.NumRows():
		return nil, corrupt(parquetName, "column %q has %d values for %d rows", c.name, e.values, g.NumRows())
	}
	switch e.codec {
	case compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Zstd,
		compress.Codecs.Lz4Raw:
		return e, nil
	}
	name := map[compress.Compression]string{compress.Codecs.Lzo: "LZO", compress.Codecs.Brotli: "Brotli",
		compress.Codecs.Lz4: "the old form of LZ4"}[e.codec]
	if name == "" {
		name = "something unknown"
	}
	return nil,
		fault.Invalid("UNSUPPORTED_COMPRESSION",
			"column %q is compressed with %s, which is not supported; write the file with Snappy, Zstandard or gzip",
			c.name, name).
			With("column", c.name)
}

// Columns returns the columns, without cells.
func (f *Parquet) Columns() []table.Column {
	columns := make([]table.Column, len(f.columns))
	for at := range f.columns {
		columns[at] = table.Column{Name: f.columns[at].name, Type: f.columns[at].to}
	}
	return columns
}

// Close releases the memory of the reader, but does not close the file.
func (f *Parquet) Close() { f.chunks = nil }

// Whole makes batches as large as row groups, for callers that want all rows at once. Memory stays proportional to the
// bytes that the file actually has.
func (f *Parquet) Whole() { f.whole = true }

// Next returns the next rows, io.EOF after the last.
func (f *Parquet) Next() (t *table.Table, err error) {
	for f.inGroup == 0 {
		if f.group == f.end {
			return nil, io.EOF
		}
		if err := f.beginGroup(); err != nil {
			return nil, err
		}
	}
	defer rescue(parquetName, &err)
	rows := min(f.batchRows(), f.inGroup)
	f.inGroup -= rows
	columns := f.Columns()
	err = parallel.Run(context.Background(), runtime.GOMAXPROCS(0), len(columns), func(at int) (err error) {
		defer rescue(parquetName, &err)
		if f.columns[at].leaf < 0 {
			columns[at] = nothing(f.columns[at].name, int(rows))
			return nil
		}
		return f.chunks[at].fill(&columns[at], int(rows))
	})
	if err != nil {
		return nil, err
	}
	return table.New(columns)
}

// batchRows returns the number of rows to read at a time.
func (f *Parquet) batchRows() int64 {
	const growth = 2 // the maximum size of a batch, relative to the file
	columns := max(len(f.columns), 1)
	if f.whole && f.inGroup <= growth*f.size/8/int64(columns) {
		return f.inGroup
	}
	return int64(max(leastRows, min(mostRows, batchCells/columns)))
}

// beginGroup opens the columns of the next row group.
func (f *Parquet) beginGroup() (err error) {
	defer rescue(parquetName, &err)
	group := f.reader.RowGroup(f.group)
	f.group++
	f.inGroup = group.NumRows()
	if f.inGroup == 0 {
		return nil
	}
	f.chunks = make([]*chunk, len(f.columns))
	for at := range f.columns {
		c := &f.columns[at]
		if c.leaf < 0 {
			continue
		}
		f.chunks[at], err = f.chunkOf(group.MetaData(), c)
		if err != nil {
			return err
		}
		f.chunks[at].group = group
	}
	return nil
}
