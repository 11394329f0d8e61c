package parquet

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/raw"
)

// The physical types of values.
const (
	physicalBoolean = iota
	physicalInt32
	physicalInt64
	physicalInt96
	physicalFloat
	physicalDouble
	physicalBytes
	physicalFixed
)

// kind is how the values of a page are decoded.
type kind int

const (
	kindIntegers kind = iota
	kindNumbers
	kindTexts
)

// column is a column of the file, and how its values become cells.
type column struct {
	name     string
	leaf     int // its number among the columns of row groups; -1: it is not read, and its cells are empty
	optional bool
	unneeded bool // what no table can hold is no reason to refuse it
	physical int
	width    int // of one value in bytes; 0 where they differ

	kind kind       // as it is decoded
	to   table.Type // as it becomes
	// From what is decoded to what the table holds, where they differ.
	fromInteger func(int64) (float64, bool) // integers to numbers
	checkInt    func(int64) (int64, bool)   // integers to integers
	fromBytes   func([]byte) (float64, bool)
	toText      func([]byte) string
}

// setType finds the type of a column, or says why no table can hold it.
func (c *column) setType(v *value) (refusal string) {
	switch {
	case v.integer(5, 0) > 0 || v.field(1) == nil:
		return "is nested"
	case v.integer(3, 0) == 2:
		return "has lists as its cells"
	}
	c.physical = int(v.integer(1, -1))
	if c.physical < physicalBoolean || c.physical > physicalFixed {
		return "is of an unknown type"
	}
	c.width = [...]int{0, 4, 8, 12, 4, 8, 0, int(v.integer(2, 0))}[c.physical]
	if c.physical == physicalFixed && (c.width <= 0 || c.width > table.MaxTextBytes) {
		return "has cells of an impossible length"
	}
	means := meaningOf(v)
	switch c.physical {
	case physicalBoolean:
		c.kind, c.to = kindIntegers, table.Integer
	case physicalInt32, physicalInt64:
		return c.setInteger(means)
	case physicalInt96: // the old form of times
		c.kind, c.to = kindNumbers, table.Number
		c.fromBytes = int96Seconds
	case physicalFloat, physicalDouble:
		c.kind, c.to = kindNumbers, table.Number
	default:
		return c.setBytes(means)
	}
	return ""
}

func (c *column) setInteger(m meaning) (refusal string) {
	c.kind, c.to = kindIntegers, table.Integer
	switch m.what {
	case meansUnsigned:
		if c.physical == physicalInt32 {
			c.checkInt = func(v int64) (int64, bool) { return int64(uint32(v)), true }
		} else {
			c.checkInt = func(v int64) (int64, bool) { return v, v >= 0 || c.unneeded }
		}
	case meansDecimal:
		c.to = table.Number
		c.fromInteger = func(v int64) (float64, bool) { return raw.Decimal(big.NewInt(v), m.scale), true }
	case meansSeconds:
		c.to = table.Number
		c.fromInteger = func(v int64) (float64, bool) { return float64(v) * m.seconds, true }
		if m.seconds < 1 { // a division rounds once
			perSecond := math.Round(1 / m.seconds)
			c.fromInteger = func(v int64) (float64, bool) { return float64(v) / perSecond, true }
		}
	}
	return ""
}

func (c *column) setBytes(m meaning) (refusal string) {
	c.kind, c.to = kindTexts, table.Text
	switch {
	case m.what == meansDecimal:
		c.kind, c.to = kindNumbers, table.Number
		c.fromBytes = func(b []byte) (float64, bool) {
			if len(b) > 32 {
				return 0, false
			}
			return raw.Decimal(raw.SignedBytes(b), m.scale), true
		}
	case m.what == meansHalf && c.width == 2:
		c.kind, c.to = kindNumbers, table.Number
		c.fromBytes = func(b []byte) (float64, bool) { return raw.Half(binary.LittleEndian.Uint16(b)), true }
	case m.what == meansUUID && c.width == 16:
		c.toText = func(b []byte) string {
			s := hex.EncodeToString(b)
			return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
		}
	case m.what == meansOther:
		return "holds " + m.name
	case c.physical == physicalFixed && m.what != meansText:
		return "holds bytes, not texts"
	}
	return ""
}

// meaning is what the schema says about the values of a column beyond how they are stored.
type meaning struct {
	what    int
	scale   int     // of decimals
	seconds float64 // that a unit of time has
	name    string
}

const (
	meansNothing = iota
	meansText
	meansDecimal
	meansSeconds
	meansUnsigned
	meansUUID
	meansHalf
	meansOther
)

// meaningOf reads the logical type, or the converted type of older files.
func meaningOf(v *value) meaning {
	if logical := v.field(10); logical != nil && len(logical.fields) == 1 {
		parameters := &logical.fields[0].value
		switch logical.fields[0].id {
		case 1, 4, 12:
			return meaning{what: meansText}
		case 5:
			return decimalMeaning(parameters.integer(1, 0))
		case 6:
			return meaning{what: meansSeconds, seconds: 86400}
		case 7, 8:
			unit := parameters.field(2)
			for id, seconds := range map[int16]float64{1: 1e-3, 2: 1e-6, 3: 1e-9} {
				if unit.field(id) != nil {
					return meaning{what: meansSeconds, seconds: seconds}
				}
			}
		case 10:
			if parameters.integer(2, 1) == 0 {
				return meaning{what: meansUnsigned}
			}
			return meaning{}
		case 14:
			return meaning{what: meansUUID}
		case 15:
			return meaning{what: meansHalf}
		case 13, 16, 17, 18:
			return meaning{what: meansOther, name: "values that have parts of their own"}
		}
	}
	switch v.integer(6, -1) {
	case 0, 4, 19:
		return meaning{what: meansText}
	case 5:
		return decimalMeaning(v.integer(7, 0))
	case 6:
		return meaning{what: meansSeconds, seconds: 86400}
	case 7, 9:
		return meaning{what: meansSeconds, seconds: 1e-3}
	case 8, 10:
		return meaning{what: meansSeconds, seconds: 1e-6}
	case 11, 12, 13, 14:
		return meaning{what: meansUnsigned}
	case 20:
		return meaning{what: meansOther, name: "values that have parts of their own"}
	case 21:
		return meaning{what: meansOther, name: "intervals of months and days"}
	}
	return meaning{}
}

func decimalMeaning(scale int64) meaning {
	if scale < 0 || scale > raw.MaxScale {
		return meaning{what: meansOther, name: "decimals of an impossible scale"}
	}
	return meaning{what: meansDecimal, scale: int(scale)}
}

// int96Seconds is a time: nanoseconds of a day, and the day by the Julian calendar.
func int96Seconds(b []byte) (float64, bool) {
	const epoch = 2440588 // the Julian day of 1970-01-01
	nanoseconds, day := int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint32(b[8:]))
	return float64((day-epoch)*86400) + float64(nanoseconds)/1e9, true
}
