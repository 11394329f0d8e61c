package parquet

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/cleave-project/cleave/internal/fault"
)

// How pages are compressed.
const (
	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2
	codecZstd   = 6
	codecLZ4    = 7
)

// The kinds of pages.
const (
	pageData       = 0
	pageIndex      = 1
	pageDictionary = 2
	pageDataV2     = 3
)

// maxPageHeader is the most that the header of a page has, statistics of long texts included.
const maxPageHeader = 1 << 20

// chunk reads a column of a row group, page by page.
type chunk struct {
	*File
	*column
	extent
	at, end int64 // the next page, and where the chunk ends

	inPage  int     // values that are left of the current page, empty ones too
	levels  *hybrid // whether values are there; nil where all are
	values  decoder
	page    []byte // the memory of the current page
	block   []byte // the memory of its compressed form
	present []uint32

	dictionary cells // the values that indices speak of
	buffer     [1 << 10]uint32
}

func (c *chunk) corrupt(format string, args ...any) *fault.Error {
	return corrupt("column %q: "+format, append([]any{c.name}, args...)...).With("column", c.name)
}

// nextPage goes to the next page of data.
func (c *chunk) nextPage() error {
	for {
		if c.at >= c.end {
			return c.corrupt("it has fewer values than its row group has rows")
		}
		header, err := c.header()
		if err != nil {
			return err
		}
		packed := header.integer(3, -1)
		if packed < 0 || packed > c.end-c.at {
			return c.corrupt("a page claims %d bytes where %d are left", packed, c.end-c.at)
		}
		kind := header.integer(1, -1)
		if kind != pageData && kind != pageDataV2 && kind != pageDictionary {
			c.at += packed
			continue
		}
		if cap(c.block) < int(packed) {
			c.block = make([]byte, packed)
		}
		c.block = c.block[:packed]
		if err := c.readAt(c.block, c.at); err != nil {
			return err
		}
		c.at += packed
		if sum := header.field(4); sum != nil && uint32(sum.number) != crc32.ChecksumIEEE(c.block) {
			return c.corrupt("the checksum of a page is wrong")
		}
		switch kind {
		case pageDictionary:
			err = c.readDictionary(header)
		case pageData:
			return c.beginPage(header)
		case pageDataV2:
			return c.beginPageV2(header)
		}
		if err != nil {
			return err
		}
	}
}

// header reads the header of the next page. How long it is, is known only when it has been read.
func (c *chunk) header() (*value, error) {
	for size := int64(1 << 8); ; size *= 8 {
		size = min(size, c.end-c.at)
		bytes := make([]byte, size)
		if err := c.readAt(bytes, c.at); err != nil {
			return nil, err
		}
		r := &thriftReader{rest: bytes}
		v := r.structure(0)
		switch {
		case !r.failed:
			c.at += size - int64(len(r.rest))
			return &v, nil
		case !r.short || size == c.end-c.at || size >= maxPageHeader:
			return nil, c.corrupt("the header of a page cannot be read")
		}
	}
}

// unpack undoes the compression of a block, into so many bytes.
func (c *chunk) unpack(block []byte, size int64) ([]byte, error) {
	if c.codec == codecNone {
		return block, nil
	}
	if err := c.unpacker.Take(int64(len(block)), size); err != nil {
		return nil, err
	}
	var page []byte
	var err error
	switch c.codec {
	case codecSnappy:
		page, err = c.unpacker.Snappy(c.page, block, int(size))
	case codecGzip:
		page, err = c.unpacker.Gzip(c.page, block, int(size))
	case codecZstd:
		page, err = c.unpacker.Zstd(c.page, block, int(size))
	case codecLZ4:
		page, err = c.unpacker.LZ4(c.page, block, int(size))
	default:
		err = errors.New("unknown compression")
	}
	if err != nil {
		return nil, c.corrupt("a page cannot be decompressed: %v", err)
	}
	c.page = page
	return page, nil
}

// readDictionary reads the page of the values that indices speak of.
func (c *chunk) readDictionary(header *value) error {
	data, err := c.unpack(c.block, header.integer(2, -1))
	if err != nil {
		return err
	}
	h := header.field(7)
	count, encoding := h.integer(1, -1), h.integer(2, -1)
	if encoding != encodingPlain && encoding != encodingPlainDictionary {
		return c.corrupt("its dictionary is in encoding %d", encoding)
	}
	// Each value has a byte at least; texts have their length.
	if count < 0 || count > int64(len(data)) || c.physical == physicalBoolean {
		return c.corrupt("its dictionary claims %d values in %d bytes", count, len(data))
	}
	c.dictionary = cells{}
	plain := plainDecoder{column: c.column, data: data}
	if !plain.decode(&c.dictionary, int(count)) {
		return c.corrupt("its dictionary is cut short or has values out of range")
	}
	return nil
}

func (c *chunk) beginPage(header *value) error {
	data, err := c.unpack(c.block, header.integer(2, -1))
	if err != nil {
		return err
	}
	h := header.field(5)
	var levels []byte
	if c.optional {
		if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) > int64(len(data)-4) {
			return c.corrupt("a page has no marks of empty cells")
		}
		if h.integer(3, encodingRLE) != encodingRLE {
			return c.corrupt("a page marks empty cells in encoding %d", h.integer(3, -1))
		}
		length := binary.LittleEndian.Uint32(data)
		levels, data = data[4:4+length], data[4+length:]
	}
	return c.begin(h, h.integer(2, -1), levels, data)
}

// beginPageV2 is for pages whose levels are not compressed.
func (c *chunk) beginPageV2(header *value) error {
	h := header.field(8)
	before, length := h.integer(6, 0), h.integer(5, 0)
	if before < 0 || length < 0 || before+length > int64(len(c.block)) {
		return c.corrupt("a page has no marks of empty cells")
	}
	levels := c.block[before : before+length]
	data := c.block[before+length:]
	if h.integer(7, 1) != 0 {
		var err error
		if data, err = c.unpack(data, header.integer(2, -1)-before-length); err != nil {
			return err
		}
	}
	return c.begin(h, h.integer(4, -1), levels, data)
}

// begin sets up what decodes the values of a page.
func (c *chunk) begin(h *value, encoding int64, levels, data []byte) error {
	count := h.integer(1, -1)
	if count < 0 || count > c.extent.values {
		return c.corrupt("a page claims %d values where the column has %d", count, c.extent.values)
	}
	c.extent.values -= count
	c.inPage, c.levels = int(count), nil
	if c.optional {
		c.levels = &hybrid{data: levels, width: 1}
	}
	var refusal string
	if c.values, refusal = c.decoderOf(encoding, data); refusal != "" {
		return c.corrupt("%s", refusal)
	}
	return nil
}
