package columnar

import (
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
)

const maxMetadata = 64 << 20

// messages passes the messages of a stream to the library after checking what they claim.
type messages struct {
	budget
	r       io.Reader
	start   []byte // bytes already read from r
	file    bool   // a file rather than a stream: a footer follows, see checkEnd
	ended   bool   // checkEnd found the footer to be right
	batches int    // read so far, to compare with the footer

	// From the schema: the number of fields, the number of view arrays in batches and dictionaries, and the number of
	// bytes that names and other metadata may still take.
	fields, views int
	dictionaries  map[int64]int
	texts         int
}

// Retain does nothing: the reader is not shared.
func (m *messages) Retain() {}

// Release does nothing; see Retain.
func (m *messages) Release() {}

// Message returns the next message, io.EOF at the end of the stream.
func (m *messages) Message() (message *ipc.Message, err error) {
	defer rescueEOF(arrowName, &err)
	prefix, err := m.next(8)
	switch {
	case err != nil:
		return nil, err
	case len(prefix) == 0:
		return nil, io.EOF
	case len(prefix) < 8:
		return nil, corrupt(arrowName, "the file ends between messages")
	case string(prefix[:4]) != scan.ArrowContinuation:
		return nil, corrupt(arrowName, "a message has an invalid start (files written before 2019 are not supported; "+
			"write the file again)")
	}
	size := int64(int32(binary.LittleEndian.Uint32(prefix[4:])))
	if size == 0 {
		return nil, io.EOF
	}
	if size < 0 || size > maxMetadata {
		return nil, corrupt(arrowName, "a message claims %d bytes of metadata", size)
	}
	metadata, err := m.next(size)
	if err != nil {
		return nil, err
	}
	if int64(len(metadata)) < size {
		return nil, corrupt(arrowName, "the file ends inside the metadata of a message")
	}
	top := rootOf(metadata)
	length := top.long(10)
	if length < 0 {
		return nil, corrupt(arrowName, "the metadata of a message cannot be read")
	}
	body, err := m.next(length)
	if err != nil {
		return nil, err
	}
	if int64(len(body)) < length {
		return nil, corrupt(arrowName, "a message claims %d bytes, but %d are left", length, len(body))
	}
	body, err = m.check(top, body)
	if err != nil {
		return nil, err
	}
	return ipc.NewMessage(memory.NewBufferBytes(metadata), memory.NewBufferBytes(body)), nil
}

// next reads size bytes, fewer at the end. Its memory grows as bytes arrive.
func (m *messages) next(size int64) ([]byte, error) {
	b := make([]byte, 0, min(size, 1<<16))
	b = append(b, m.start[:min(int64(len(m.start)), size)]...)
	m.start = m.start[len(b):]
	for int64(len(b)) < size {
		if len(b) == cap(b) {
			b = append(make([]byte, 0, min(4*int64(cap(b)), size)), b...)
		}
		n, err := io.ReadFull(m.r, b[len(b):cap(b)])
		b = b[:len(b)+n]
		m.read.Add(int64(n))
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return nil, &readError{err}
		}
	}
	return b, nil
}

// flat is a flatbuffer table. Access outside the buffer panics; see rescue.
type flat struct{ flatbuffers.Table }

func rootOf(b []byte) flat {
	return flat{flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}}
}

// long returns a 64-bit field, 0 if it is missing.
func (t flat) long(slot flatbuffers.VOffsetT) int64 { return t.GetInt64Slot(slot, 0) }

// table returns the table that a field points to.
func (t flat) table(slot flatbuffers.VOffsetT) (flat, bool) {
	at := flatbuffers.UOffsetT(t.Offset(slot))
	if at == 0 {
		return flat{}, false
	}
	return flat{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(t.Pos + at)}}, true
}

// vector returns the position and number of the elements of a list. It panics if they are not all inside the buffer.
func (t flat) vector(slot flatbuffers.VOffsetT, size int) (at flatbuffers.UOffsetT, count int) {
	offset := flatbuffers.UOffsetT(t.Offset(slot))
	if offset == 0 {
		return 0, 0
	}
	at = t.Vector(offset)
	count = t.VectorLen(offset)
	if count < 0 || int64(at)+int64(count)*int64(size) > int64(len(t.Bytes)) {
		panic(corrupt(arrowName, "the metadata of a message cannot be read"))
	}
	return at, count
}

// tables calls visit for each table in a list.
func (t flat) tables(slot flatbuffers.VOffsetT, visit func(flat)) {
	at, count := t.vector(slot, 4)
	for i := range count {
		visit(flat{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at + 4*flatbuffers.UOffsetT(i))}})
	}
}

// check validates what a message claims, and decompresses its body.
func (m *messages) check(top flat, body []byte) ([]byte, error) {
	header, ok := top.table(8)
	if !ok {
		return nil, corrupt(arrowName, "a message has no header")
	}
	m.texts = 16 * len(top.Bytes)
	m.checkPairs(top, 12)
	views := m.views
	switch kind := ipc.MessageType(top.GetByteSlot(6, 0)); kind {
	case ipc.MessageSchema:
		m.checkPairs(header, 8)
		header.tables(6, func(f flat) { m.views += m.checkField(f, 0) })
		return body, nil
	case ipc.MessageRecordBatch:
	case ipc.MessageDictionaryBatch:
		views = m.dictionaries[header.long(4)]
		header, ok = header.table(6)
		if !ok {
			return nil, corrupt(arrowName, "the header of a dictionary cannot be read")
		}
	default:
		return nil, corrupt(arrowName, "found a message of kind %d where rows are expected", kind)
	}
	body, err := m.unfold(header, body)
	// Checked last, because lists of a damaged message may overlap with what unfold writes.
	m.checkPairs(top, 12)
	_, buffers := header.vector(8, 16)
	header.vector(6, 16)
	place, lists := header.vector(12, 8)
	for i := range lists {
		if n := header.GetInt64(place + 8*flatbuffers.UOffsetT(i)); n < 0 || n > int64(buffers) {
			lists = -1
			break
		}
	}
	if lists < views {
		return nil, corrupt(arrowName, "a batch does not declare the number of buffers of its texts")
	}
	return body, err
}

// checkField validates a field of the schema and its children. Damaged ones may point to each other, which the library
// would follow without end. It returns the number of view arrays that a batch has for the field.
func (m *messages) checkField(f flat, depth int) (views int) {
	m.fields++
	if depth > maxDepth || m.fields > 4*table.MaxColumns {
		panic(corrupt(arrowName, "its schema cannot be read"))
	}
	m.checkText(f, 4)
	m.checkPairs(f, 16)
	means, ok := f.table(10)
	switch kind := f.GetByteSlot(8, 0); {
	case ok && kind == 10: // timestamps have a zone
		m.checkText(means, 6)
	case kind == 23 || kind == 24:
		views++
	}
	f.tables(14, func(child flat) { views += m.checkField(child, depth+1) })
	if encoding, ok := f.table(12); ok {
		id := encoding.long(4)
		m.dictionaries[id] = max(m.dictionaries[id], views)
		return 0
	}
	return views
}

func (m *messages) checkPairs(t flat, slot flatbuffers.VOffsetT) {
	t.tables(slot, func(pair flat) {
		m.checkText(pair, 4)
		m.checkText(pair, 6)
	})
}

func (m *messages) checkText(t flat, slot flatbuffers.VOffsetT) {
	_, size := t.vector(slot, 1)
	m.texts -= size
	if m.texts < 0 {
		panic(corrupt(arrowName, "its schema cannot be read"))
	}
}

// unfold decompresses the buffers of a batch and updates their positions in its metadata: each now follows eight bytes
// that mark it as uncompressed. The library would allocate what each of them claims.
func (m *messages) unfold(batch flat, body []byte) ([]byte, error) {
	compression, ok := batch.table(10)
	if !ok {
		return body, nil
	}
	unpack := unpackFrame
	switch compression.GetByteSlot(4, 0) {
	case 0:
	case 1:
		unpack = unpackZstd
	default:
		return nil, fault.Invalid("UNSUPPORTED_COMPRESSION",
			"the Arrow file has an unknown compression; write it with LZ4, with Zstandard or uncompressed")
	}
	type buffer struct {
		at      flatbuffers.UOffsetT // of the buffer's entry in the metadata
		block   []byte
		size    int64
		unpacks func(into, block []byte) error
	}
	var buffers []buffer
	total := int64(0)
	place, count := batch.vector(8, 16)
	for i := range count {
		at := place + 16*flatbuffers.UOffsetT(i)
		from := batch.GetInt64(at)
		size := batch.GetInt64(at + 8)
		switch {
		case from < 0 || size < 0 || from > int64(len(body)) || size > int64(len(body))-from:
			return nil, corrupt(arrowName, "a buffer claims %d bytes at byte %d of a batch of %d", size,
				from, len(body))
		case size == 0:
			continue
		case size < 8:
			return nil, corrupt(arrowName, "a compressed buffer has only %d bytes", size)
		}
		b := buffer{at, body[from+8 : from+size], int64(binary.LittleEndian.Uint64(body[from:])), unpack}
		if b.size == -1 { // stored uncompressed, because compression would not shrink it
			b.size = size - 8
			b.unpacks = func(into, block []byte) error { copy(into, block); return nil }
		}
		if err := checkGrowth(size, b.size); err != nil {
			return nil, err
		}
		buffers = append(buffers, b)
		total += 8 + (b.size+7)&^7
	}
	if err := m.take(total); err != nil {
		return nil, err
	}
	out := make([]byte, 0, total)
	for _, b := range buffers {
		batch.MutateInt64(b.at, int64(len(out)))
		batch.MutateInt64(b.at+8, 8+b.size)
		out = binary.LittleEndian.AppendUint64(out, math.MaxUint64)
		into := out[len(out) : len(out)+int(b.size)]
		if err := b.unpacks(into, b.block); err != nil {
			return nil, corrupt(arrowName, "a buffer cannot be decompressed: %v", err)
		}
		out = out[:len(out)+(len(into)+7)&^7]
	}
	return out, nil
}
