// Package arrow reads Arrow IPC files (also called Feather, version 2) and streams of flat columns, as internal/data/table
// has them, one record batch at a time.
//
// It checks every size before it believes it: the library of the Arrow project does more, and is several megabytes of
// program.
package arrow

import (
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/raw"
)

// The types of columns.
const (
	typeNull          = 1
	typeInt           = 2
	typeFloat         = 3
	typeBinary        = 4
	typeUtf8          = 5
	typeBool          = 6
	typeDecimal       = 7
	typeDate          = 8
	typeTime          = 9
	typeTimestamp     = 10
	typeInterval      = 11
	typeList          = 12
	typeStruct        = 13
	typeUnion         = 14
	typeFixedBinary   = 15
	typeFixedList     = 16
	typeMap           = 17
	typeDuration      = 18
	typeLargeBinary   = 19
	typeLargeUtf8     = 20
	typeLargeList     = 21
	typeRunEnd        = 22
	typeBinaryView    = 23
	typeUtf8View      = 24
	typeListView      = 25
	typeLargeListView = 26
	maxDepth          = 24
	maxFields         = 4 * table.MaxColumns
)

// field is a column as the schema describes it, or a part of one.
type field struct {
	name     string
	kind     int
	children []field
	dense    bool // of a union
	unneeded bool // what no table can hold is no reason to refuse it

	width  int                          // of a value in bytes
	to     table.Type                   // what it becomes
	values func(c *cells) error         // appends the values
	number func(b []byte) float64       // of the bytes of one value, where it becomes a number
	whole  func(b []byte) int64         // of the bytes of one value, where it becomes an integer
	above  func(b []byte) (bigger bool) // whether it is above all integers

	dictionary bool // values are indices of the dictionary of this id
	id         int64
	index      *field // the type of the indices
}

var unsupported = map[int]string{
	typeInterval: "holds intervals of months and days", typeFixedBinary: "holds bytes, not texts",
	typeList: "has lists as its cells", typeLargeList: "has lists as its cells", typeFixedList: "has lists as its cells",
	typeListView: "has lists as its cells", typeLargeListView: "has lists as its cells",
	typeStruct: "is nested", typeUnion: "has values of several types", typeMap: "has maps as its cells", typeRunEnd: "is of runs",
}

// schemaOf reads the schema, and refuses columns that no table can hold but those that are ignored.
func schemaOf(schema flatTable, ignored func(string, int) bool) ([]field, error) {
	if schema.shortField(0, 0) != 0 {
		return nil, fault.Invalid("UNSUPPORTED_FILE", "the Arrow file was written for another kind of processor (big-endian); write it anew")
	}
	count := 0
	fields := make([]field, 0, 16)
	for at, t := range schema.tables(1) {
		f, refusal := fieldOf(t, 0, &count)
		if f.name == "" {
			f.name = table.Unnamed(at)
		}
		f.unneeded = ignored(f.name, at)
		switch {
		case schema.failed || count > maxFields:
			return nil, corrupt("its schema cannot be read")
		case refusal != "" && !f.unneeded:
			return nil, fault.Invalid("UNSUPPORTED_COLUMN", "column %q %s, which no table has here; leave it out by --ignore %s", f.name, refusal, f.name).
				With("column", f.name)
		case refusal != "":
			f.to = 0
		}
		fields = append(fields, f)
	}
	if len(fields) > table.MaxColumns {
		return nil, fault.Invalid("TOO_MANY_COLUMNS", "the table has %d columns; at most %d are supported", len(fields), table.MaxColumns)
	}
	return fields, nil
}

// fieldOf reads a field and counts it and its parts.
func fieldOf(t flatTable, depth int, count *int) (f field, refusal string) {
	f.name, f.kind = t.textField(0), t.byteField(2, 0)
	if *count++; depth > maxDepth || *count > maxFields {
		t.failed = true
	}
	if t.failed {
		return f, ""
	}
	parameters, _ := t.tableField(3)
	if encoding, yes := t.tableField(4); yes {
		f.dictionary, f.id = true, encoding.longField(0)
		f.index = &field{kind: typeInt}
		index, given := encoding.tableField(1)
		if !given {
			f.index.setInt(32, true)
		} else if r := f.index.setInt(index.intField(0, 0), index.byteField(1, 0) != 0); r != "" {
			t.failed = true
		}
	}
	for _, child := range t.tables(5) {
		part, _ := fieldOf(child, depth+1, count)
		f.children = append(f.children, part)
		if t.failed {
			return f, ""
		}
	}
	return f, f.setType(parameters)
}

// setType finds how values are stored and what they become, or says why no table can hold them.
func (f *field) setType(t flatTable) (refusal string) {
	if reason := unsupported[f.kind]; reason != "" {
		f.dense = f.kind == typeUnion && t.shortField(0, 0) == 1
		return reason
	}
	f.values = (*cells).fixed
	switch f.kind {
	case typeNull:
		f.to, f.values = table.Text, (*cells).nothing
	case typeInt:
		return f.setInt(t.intField(0, 0), t.byteField(1, 0) != 0)
	case typeFloat:
		return f.setFloat(t.shortField(0, 0))
	case typeBool:
		f.to, f.values = table.Integer, (*cells).booleans
	case typeBinary, typeUtf8:
		f.to, f.width, f.values = table.Text, 4, (*cells).texts
	case typeLargeBinary, typeLargeUtf8:
		f.to, f.width, f.values = table.Text, 8, (*cells).texts
	case typeBinaryView, typeUtf8View:
		f.to, f.width, f.values = table.Text, viewSize, (*cells).views
	case typeDecimal:
		return f.setDecimal(t.intField(1, 0), t.intField(2, 128))
	case typeDate:
		if t.shortField(0, 1) == 0 {
			f.setSeconds(4, 86400, 1)
		} else {
			f.setSeconds(8, 1, 1000)
		}
	case typeTime:
		f.setSeconds(t.intField(1, 32)/8, 1, perSecond(t.shortField(0, 1)))
	case typeTimestamp:
		f.setSeconds(8, 1, perSecond(t.shortField(0, 0)))
	case typeDuration:
		f.setSeconds(8, 1, perSecond(t.shortField(0, 1)))
	default:
		return "is of an unknown type"
	}
	return ""
}

func perSecond(unit int) float64 {
	switch unit {
	case 0:
		return 1
	case 1:
		return 1e3
	case 2:
		return 1e6
	}
	return 1e9
}

func (f *field) setInt(bits int, signed bool) (refusal string) {
	f.to, f.width, f.values = table.Integer, bits/8, (*cells).fixed
	f.whole = integerOf(f.width, signed)
	if f.whole == nil {
		return "holds integers of an impossible size"
	}
	if f.width == 8 && !signed {
		f.above = func(b []byte) bool { return b[7] >= 0x80 }
	}
	return ""
}

func (f *field) setFloat(precision int) (refusal string) {
	f.to = table.Number
	switch precision {
	case 0:
		f.width, f.number = 2, func(b []byte) float64 { return raw.Half(order.Uint16(b)) }
	case 1:
		f.width, f.number = 4, func(b []byte) float64 { return float64(floatOf(b)) }
	case 2:
		f.width, f.number = 8, doubleOf
	default:
		return "holds numbers of an impossible size"
	}
	return ""
}

func (f *field) setDecimal(scale, bits int) (refusal string) {
	if scale < 0 || scale > raw.MaxScale || bits != 32 && bits != 64 && bits != 128 && bits != 256 {
		return "holds decimals of an impossible size"
	}
	f.to, f.width = table.Number, bits/8
	f.number = func(b []byte) float64 {
		var reversed [32]byte
		for at := range b {
			reversed[len(b)-1-at] = b[at]
		}
		return raw.Decimal(raw.SignedBytes(reversed[:len(b)]), scale)
	}
	return ""
}

// setSeconds is for times: units of so many seconds, or so many units for each second.
func (f *field) setSeconds(width int, seconds, perSecond float64) {
	if width != 4 {
		width = 8
	}
	whole := integerOf(width, true)
	f.to, f.width = table.Number, width
	f.number = func(b []byte) float64 { return float64(whole(b)) * seconds / perSecond }
}
