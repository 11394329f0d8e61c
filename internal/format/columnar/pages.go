package columnar

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/thrift/lib/go/thrift"

	"github.com/cleave-project/cleave/internal/fault"
)

// The metadata of Parquet files are structs in Thrift's compact protocol.

// thriftOf returns a decoder that rejects lists and texts longer than the bytes given.
func thriftOf(b []byte) (thrift.TProtocol, *thrift.TMemoryBuffer) {
	buffer := &thrift.TMemoryBuffer{Buffer: bytes.NewBuffer(b)}
	return thrift.NewTCompactProtocolConf(buffer, &thrift.TConfiguration{MaxMessageSize: int32(min(len(b), 1<<30))}),
		buffer
}

// eachField calls visit for the fields of the next struct. Fields that visit does not read are skipped, which checks
// that they are complete.
func eachField(p thrift.TProtocol, visit func(id int16, kind thrift.TType) (read bool, err error)) error {
	ctx := context.Background()
	if _, err := p.ReadStructBegin(ctx); err != nil {
		return err
	}
	for {
		_, kind, id, err := p.ReadFieldBegin(ctx)
		if err != nil {
			return err
		}
		if kind == thrift.STOP {
			return p.ReadStructEnd(ctx)
		}
		read, err := visit(id, kind)
		if err == nil && !read {
			err = thrift.SkipDefaultDepth(ctx, p, kind)
		}
		if err != nil {
			return err
		}
	}
}

// integers reads the integer fields of the next struct into the variables given for their ids, and visits the others;
// see eachField.
func integers(p thrift.TProtocol, into map[int16]*int32,
	visit func(id int16, kind thrift.TType) (read bool, err error)) error {
	return eachField(p, func(id int16, kind thrift.TType) (read bool, err error) {
		place := into[id]
		if place == nil || kind != thrift.I32 {
			return visit(id, kind)
		}
		*place, err = p.ReadI32(context.Background())
		return true, err
	})
}

// skip is a visit that reads nothing.
func skip(int16, thrift.TType) (read bool, err error) { return false, nil }

// element holds the fields of a schema element that are validated.
type element struct {
	name     string
	children int32
	logical  int16 // the id of its logical type; 0 if it has none
}

// readElement reads an element of the schema, of which only the name, the number of children and the type matter
// here.
func readElement(p thrift.TProtocol) (e element, err error) {
	err = integers(p, map[int16]*int32{5: &e.children}, func(id int16, kind thrift.TType) (read bool, err error) {
		switch {
		case id == 4 && kind == thrift.STRING:
			e.name, err = p.ReadString(context.Background())
			return true, err
		case id == 10 && kind == thrift.STRUCT: // a union: its one field is the type
			return true, eachField(p, func(id int16, _ thrift.TType) (bool, error) {
				e.logical = id
				return false, nil
			})
		}
		return false, nil
	})
	return e, err
}

// The ids of the logical types that the library knows are 1 to lastLogical, except noLogical. It panics at any other.
const lastLogical, noLogical = 18, 9

// checkFooter checks that everything the metadata of a file list is present, that logical types are known, and that the
// schema is a tree of limited depth. The library would allocate what a list claims, and recurse as deep as the schema
// says.
func checkFooter(footer []byte) error {
	p, _ := thriftOf(footer)
	return eachField(p, func(id int16, kind thrift.TType) (bool, error) {
		if id != 2 || kind != thrift.LIST {
			return false, nil
		}
		element, count, err := p.ReadListBegin(context.Background())
		if err != nil || element != thrift.STRUCT {
			return true, corrupt(parquetName, "its schema cannot be read")
		}
		var open []int32 // the number of children still missing in each open group
		for at := range count {
			e, err := readElement(p)
			if err != nil {
				return true, err
			}
			if e.logical < 0 || e.logical > lastLogical || e.logical == noLogical {
				return true,
					fault.Invalid("UNSUPPORTED_COLUMN",
						"column %q has the logical type %d of Parquet, which Cleave does not know; write the file "+
							"again without the column, or with its values as numbers or text",
						e.name, e.logical).With("column", e.name)
			}
			children := e.children
			if at > 0 && len(open) == 0 || children < 0 || int(children) > count-at-1 || len(open) > maxDepth {
				return true, corrupt(parquetName, "its schema is inconsistent")
			}
			if len(open) > 0 {
				open[len(open)-1]--
			}
			if children > 0 {
				open = append(open, children)
			}
			for len(open) > 0 && open[len(open)-1] == 0 {
				open = open[:len(open)-1]
			}
		}
		if len(open) > 0 {
			return true, corrupt(parquetName, "its schema is inconsistent")
		}
		return true, nil
	})
}

// Kinds of pages, and the encodings whose values have headers of their own.
const (
	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3

	encodingDelta       = 5
	encodingDeltaLength = 6
	encodingDeltaText   = 7
)

// maxPageHeader is the maximum size of a page header, including statistics with long texts.
const maxPageHeader = 1 << 20

// page is the header of a page.
type page struct {
	kind, encoding    int32 // as the specification of Parquet numbers them
	unpacked, packed  int32 // bytes of the page after the header, decompressed and as stored
	values, rows      int32 // how many
	defined, repeated int32 // bytes of the levels of a version 2 page, which are never compressed
	sum               int32 // CRC-32 of the stored bytes
	sums              bool  // whether sum is set
	plain             bool  // the values of a version 2 page are not compressed
}

// readPage parses a page header and returns its size.
func readPage(b []byte) (h page, size int, err error) {
	p, rest := thriftOf(b)
	h = page{kind: -1, unpacked: -1, packed: -1, values: -1, encoding: -1, rows: -1}
	err = integers(p, map[int16]*int32{1: &h.kind, 2: &h.unpacked, 3: &h.packed},
		func(id int16, kind thrift.TType) (read bool, err error) {
			switch {
			case id == 4 && kind == thrift.I32:
				h.sums = true
				h.sum, err = p.ReadI32(context.Background())
				return true, err
			case kind != thrift.STRUCT:
			case id == 5 || id == 7:
				return true, integers(p, map[int16]*int32{1: &h.values, 2: &h.encoding}, skip)
			case id == 8:
				into := map[int16]*int32{1: &h.values, 3: &h.rows, 4: &h.encoding, 5: &h.defined, 6: &h.repeated}
				return true, integers(p, into, func(id int16, kind thrift.TType) (bool, error) {
					if id != 7 || kind != thrift.BOOL {
						return false, nil
					}
					compressed, err := p.ReadBool(context.Background())
					h.plain = !compressed
					return true, err
				})
			}
			return false, nil
		})
	return h, len(b) - rest.Len(), err
}

// checkPages checks the pages of a column before the library reads them, and counts those without values, at which the
// library stops.
func (c *chunk) checkPages() (blank int, err error) {
	values, end := int64(0), c.from+c.size
	for at := c.from; values < c.values; {
		h, size, err := c.pageHeader(at, end)
		if err != nil {
			return 0, err
		}
		at += size
		switch {
		case h.packed < 0 || int64(h.packed) > end-at:
			return 0, c.corrupt("a page claims %d bytes, but %d are left", h.packed, end-at)
		case h.kind == pageDictionary && (h.values < 0 || h.values > h.unpacked):
			return 0, c.corrupt("its dictionary claims %d values in %d bytes", h.values, h.unpacked)
		case h.kind != pageDictionary && h.kind != pageData && h.kind != pageDataV2:
			return 0, c.corrupt("a page has the unknown kind %d", h.kind)
		case h.kind != pageDictionary && (h.values < 0 || int64(h.values) > c.values-values):
			return 0, c.corrupt("a page claims %d values, but the column has %d", h.values, c.values)
		case h.kind == pageDataV2 && h.rows != h.values:
			return 0, c.corrupt("a page claims %d values for %d rows", h.values, h.rows)
		}
		if err := checkGrowth(int64(h.packed), int64(h.unpacked)); err != nil {
			return 0, err
		}
		if err := c.checkBody(h, at); err != nil {
			return 0, err
		}
		at += int64(h.packed)
		if h.kind != pageDictionary {
			values += int64(h.values)
			if h.values == 0 {
				blank++
			}
		}
	}
	return blank, nil
}

// pageHeader reads a page header, whose length is not known in advance.
func (c *chunk) pageHeader(at, end int64) (*page, int64, error) {
	if at >= end {
		return nil, 0, c.corrupt("it has fewer values than its row group has rows")
	}
	for size := int64(1 << 8); ; size *= 8 {
		size = min(size, end-at)
		b := make([]byte, size)
		if err := c.readAt(b, at); err != nil {
			return nil, 0, err
		}
		if h, used, err := readPage(b); err == nil {
			return &h, int64(used), nil
		}
		if size == end-at || size >= maxPageHeader {
			return nil, 0, c.corrupt("the header of a page cannot be read")
		}
	}
}

// checkBody checks the checksum and the embedded lengths of a page, where it has any.
func (c *chunk) checkBody(h *page, at int64) error {
	delta := h.kind != pageDictionary && (h.encoding == encodingDelta || h.encoding == encodingDeltaLength ||
		h.encoding == encodingDeltaText)
	if !h.sums && !delta {
		return nil
	}
	if cap(c.block) < int(h.packed) {
		c.block = make([]byte, h.packed)
	}
	block := c.block[:h.packed]
	if err := c.readAt(block, at); err != nil {
		return err
	}
	if h.sums && uint32(h.sum) != crc32.ChecksumIEEE(block) {
		return c.corrupt("the checksum of a page is wrong")
	}
	if !delta {
		return nil
	}
	levels := int64(h.defined) + int64(h.repeated)
	if h.defined < 0 || h.repeated < 0 || levels > int64(len(block)) || levels > int64(h.unpacked) {
		return c.corrupt("a page has no definition levels")
	}
	data := block[levels:]
	if !h.plain {
		codec, err := compress.GetCodec(c.codec)
		if err != nil {
			return err
		}
		size := int(int64(h.unpacked) - levels)
		if cap(c.page) < size {
			c.page = c.Allocate(size)
		}
		data, err = compress.Decode(codec, c.page[:size:size], data)
		if err != nil {
			return c.corrupt("a page cannot be decompressed: %v", err)
		}
	}
	if h.kind == pageData && c.optional {
		if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) > int64(len(data)-4) {
			return c.corrupt("a page has no definition levels")
		}
		data = data[4+binary.LittleEndian.Uint32(data):]
	}
	data, ok := skipDeltas(data)
	if ok && h.encoding == encodingDeltaText {
		_, ok = skipDeltas(data)
	}
	if !ok {
		return c.corrupt("a delta-encoded page is cut short or has blocks of an invalid size")
	}
	return nil
}

// skipDeltas skips integers in the encoding DELTA_BINARY_PACKED. It exists because the library allocates a block of as
// many values as the header claims. The format requires blocks of a multiple of 128 values and miniblocks of a multiple
// of 32.
func skipDeltas(data []byte) (rest []byte, ok bool) {
	next := func() uint64 {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			data, n = nil, 0
			ok = false
		}
		data = data[n:]
		return v
	}
	ok = true
	block := next()
	minis := next()
	count := next()
	_ = next()
	if !ok || block == 0 || block > 1<<20 || block%128 != 0 || minis == 0 || block%(32*minis) != 0 {
		return nil, false
	}
	perMini := block / minis
	for left := int64(count) - 1; ok && left > 0; {
		next() // the minimum delta
		if !ok || minis > uint64(len(data)) {
			return nil, false
		}
		widths := data[:minis]
		data = data[minis:]
		for _, width := range widths {
			if left <= 0 {
				break
			}
			size := perMini * uint64(width) / 8
			if size > uint64(len(data)) {
				return nil, false
			}
			data = data[size:]
			left -= int64(perMini)
		}
	}
	return data, ok
}

func (c *chunk) corrupt(format string, args ...any) *fault.Error {
	return corrupt(parquetName, "column %q: "+format, append([]any{c.name}, args...)...).With("column", c.name)
}
