package arrow

import "encoding/binary"

// The metadata of Arrow are flatbuffers: tables that point to their fields. These accessors check every place that
// something points to.

// flat is a flatbuffer. Whatever lies outside of it reads as zero, and failed tells so.
type flat struct {
	bytes  []byte
	failed bool
}

func (f *flat) at(place, size int) []byte {
	if place < 0 || size > len(f.bytes) || place > len(f.bytes)-size {
		f.failed = true
		return make([]byte, size)
	}
	return f.bytes[place : place+size]
}

func (f *flat) uint16(place int) int { return int(binary.LittleEndian.Uint16(f.at(place, 2))) }

func (f *flat) int32(place int) int { return int(int32(binary.LittleEndian.Uint32(f.at(place, 4)))) }

func (f *flat) int64(place int) int64 { return int64(binary.LittleEndian.Uint64(f.at(place, 8))) }

// root is the table that a flatbuffer is about.
func (f *flat) root() flatTable { return flatTable{f, f.int32(0)} }

// flatTable is a table, in the sense of flatbuffers: fields by their numbers.
type flatTable struct {
	*flat
	place int
}

// field is the place of a field, 0 where the table does not have it.
func (t flatTable) field(number int) int {
	list := t.place - t.int32(t.place)
	if entry := 4 + 2*number; entry < t.uint16(list) {
		if offset := t.uint16(list + entry); offset != 0 {
			return t.place + offset
		}
	}
	return 0
}

func (t flatTable) byteField(number, otherwise int) int {
	if place := t.field(number); place != 0 {
		return int(t.at(place, 1)[0])
	}
	return otherwise
}

func (t flatTable) shortField(number, otherwise int) int {
	if place := t.field(number); place != 0 {
		return t.uint16(place)
	}
	return otherwise
}

func (t flatTable) intField(number, otherwise int) int {
	if place := t.field(number); place != 0 {
		return t.int32(place)
	}
	return otherwise
}

func (t flatTable) longField(number int) int64 {
	if place := t.field(number); place != 0 {
		return t.int64(place)
	}
	return 0
}

// tableField is a table that a field points to.
func (t flatTable) tableField(number int) (flatTable, bool) {
	place := t.field(number)
	if place == 0 {
		return flatTable{t.flat, 0}, false
	}
	return flatTable{t.flat, place + t.int32(place)}, true
}

// vector is where the elements of a list are, of which each has so many bytes.
func (t flatTable) vector(number, size int) (place, count int) {
	place = t.field(number)
	if place == 0 {
		return 0, 0
	}
	place += t.int32(place)
	count = t.int32(place)
	if count < 0 || count > len(t.bytes)/size {
		t.failed = true
		return 0, 0
	}
	t.at(place+4, count*size)
	return place + 4, count
}

// tables are the elements of a list of tables.
func (t flatTable) tables(number int) []flatTable {
	place, count := t.vector(number, 4)
	list := make([]flatTable, count)
	for i := range list {
		at := place + 4*i
		list[i] = flatTable{t.flat, at + t.int32(at)}
	}
	return list
}

func (t flatTable) textField(number int) string {
	place, count := t.vector(number, 1)
	if t.failed || count == 0 {
		return ""
	}
	return string(t.at(place, count))
}
