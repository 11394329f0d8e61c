package parquet

import (
	"encoding/binary"
)

// The metadata of Parquet are structs in Thrift's compact protocol. They are read into trees of values, so that
// unknown fields cost nothing and no list is larger than the bytes that it was read from.

// value is one value of Thrift; which of its fields is used follows from its type.
type value struct {
	number int64   // integers, and 1 for true
	bytes  []byte  // texts, a part of the input
	list   []value // elements of a list
	fields []field // of a struct
}

type field struct {
	id int16
	value
}

// field is a field of a struct by its id, nil where it is missing.
func (v *value) field(id int16) *value {
	if v == nil {
		return nil
	}
	for at := range v.fields {
		if v.fields[at].id == id {
			return &v.fields[at].value
		}
	}
	return nil
}

// integer is a field that is an integer, or otherwise where it is missing.
func (v *value) integer(id int16, otherwise int64) int64 {
	if f := v.field(id); f != nil {
		return f.number
	}
	return otherwise
}

func (v *value) text(id int16) string {
	if f := v.field(id); f != nil {
		return string(f.bytes)
	}
	return ""
}

func (v *value) elements(id int16) []value {
	if f := v.field(id); f != nil {
		return f.list
	}
	return nil
}

// The types of the compact protocol.
const (
	typeStop   = 0
	typeTrue   = 1
	typeFalse  = 2
	typeByte   = 3
	typeI16    = 4
	typeI32    = 5
	typeI64    = 6
	typeDouble = 7
	typeBinary = 8
	typeList   = 9
	typeSet    = 10
	typeStruct = 12
)

const maxDepth = 24

// thriftReader reads values; after the first mistake, failed is set and everything is zero. short tells that the mistake
// was the end of the input.
type thriftReader struct {
	rest          []byte
	failed, short bool
}

func (r *thriftReader) fail() { r.failed, r.rest = true, nil }

func (r *thriftReader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.short = !r.failed
		r.fail()
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *thriftReader) byte() byte {
	if b := r.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *thriftReader) unsigned() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.short = n == 0 && !r.failed
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *thriftReader) signed() int64 {
	v := r.unsigned()
	return int64(v>>1) ^ -int64(v&1)
}

func (r *thriftReader) structure(depth int) value {
	var v value
	id := int16(0)
	for !r.failed {
		header := r.byte()
		kind := header & 15
		if kind == typeStop {
			break
		}
		if delta := int16(header >> 4); delta != 0 {
			id += delta
		} else {
			id = int16(r.signed())
		}
		f := field{id: id}
		if kind == typeTrue || kind == typeFalse {
			f.number = int64(2 - kind)
		} else {
			f.value = r.value(kind, depth+1)
		}
		v.fields = append(v.fields, f)
	}
	return v
}

func (r *thriftReader) value(kind byte, depth int) value {
	var v value
	if depth > maxDepth {
		r.fail()
		return v
	}
	switch kind {
	case typeTrue, typeFalse, typeByte: // as an element of a list, a boolean is a byte
		v.number = int64(int8(r.byte()))
	case typeI16, typeI32, typeI64:
		v.number = r.signed()
	case typeDouble:
		if b := r.take(8); b != nil {
			v.number = int64(binary.LittleEndian.Uint64(b)) // no double says anything that is needed here
		}
	case typeBinary:
		v.bytes = r.take(r.unsigned())
	case typeList, typeSet:
		header := r.byte()
		size := uint64(header >> 4)
		if size == 15 {
			size = r.unsigned()
		}
		if size > uint64(len(r.rest)) { // each element has a byte at least
			r.short = !r.failed
			r.fail()
			return v
		}
		v.list = make([]value, 0, size)
		for range size {
			if r.failed {
				break
			}
			v.list = append(v.list, r.value(header&15, depth+1))
		}
	case typeStruct:
		v = r.structure(depth)
	default: // maps occur in no metadata that are read here
		r.fail()
	}
	return v
}

// thriftWriter writes structs: begin, fields in the order of their ids, end.
type thriftWriter struct {
	bytes []byte
	last  []int16 // the id of the last field, for each struct that is open
}

func (w *thriftWriter) begin() { w.last = append(w.last, 0) }

func (w *thriftWriter) end() {
	w.bytes = append(w.bytes, typeStop)
	w.last = w.last[:len(w.last)-1]
}

func (w *thriftWriter) header(id int16, kind byte) {
	last := &w.last[len(w.last)-1]
	w.bytes = append(w.bytes, byte(id-*last)<<4|kind)
	*last = id
}

func (w *thriftWriter) varint(v int64) { w.bytes = binary.AppendVarint(w.bytes, v) }

func (w *thriftWriter) i32(id int16, v int) { w.header(id, typeI32); w.varint(int64(v)) }

func (w *thriftWriter) i64(id int16, v int64) { w.header(id, typeI64); w.varint(v) }

func (w *thriftWriter) rawText(s string) {
	w.bytes = append(binary.AppendUvarint(w.bytes, uint64(len(s))), s...)
}

func (w *thriftWriter) text(id int16, s string) { w.header(id, typeBinary); w.rawText(s) }

// list begins a list; its elements follow.
func (w *thriftWriter) list(id int16, kind byte, size int) {
	w.header(id, typeList)
	if size < 15 {
		w.bytes = append(w.bytes, byte(size)<<4|kind)
		return
	}
	w.bytes = binary.AppendUvarint(append(w.bytes, 15<<4|kind), uint64(size))
}

// structure is a field that is a struct, with the fields that write writes.
func (w *thriftWriter) structure(id int16, write func()) {
	w.header(id, typeStruct)
	w.element(write)
}

// element is a struct in a list.
func (w *thriftWriter) element(write func()) {
	w.begin()
	write()
	w.end()
}
