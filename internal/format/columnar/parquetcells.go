package columnar

import (
	"encoding/binary"
	"encoding/hex"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// meaning describes how values are converted to cells.
type meaning struct {
	unsigned bool                              // integers have no sign
	integer  func(int64) float64               // converts integers that become numbers
	moment   func(int64) string                // converts integers that are dates or times
	number   func([]byte) (v float64, ok bool) // converts bytes that become numbers; ok is false for too many
	text     func([]byte) string               // converts bytes that become texts; nil if they are texts already
}

// setType sets the type that a column is converted to, or returns the reason why a table cannot hold it.
func (c *column) setType(node schema.Node) (refusal string) {
	leaf, ok := node.(*schema.PrimitiveNode)
	switch {
	case !ok:
		return "is nested"
	case leaf.RepetitionType() == parquet.Repetitions.Repeated:
		return "holds lists"
	}
	c.physical = leaf.PhysicalType()
	switch c.physical {
	case parquet.Types.Boolean, parquet.Types.Int96:
		c.to = table.Text
	case parquet.Types.Int32, parquet.Types.Int64:
		return c.setInteger(leaf.LogicalType())
	case parquet.Types.Float, parquet.Types.Double:
		c.to = table.Number
	case parquet.Types.ByteArray, parquet.Types.FixedLenByteArray:
		return c.setBytes(leaf.LogicalType(), leaf.TypeLength())
	default:
		return "has an unknown type"
	}
	return ""
}

// setInteger decides how a column stored as integers is read. It returns why it cannot be, or "".
func (c *column) setInteger(means schema.LogicalType) (refusal string) {
	c.to = table.Text
	switch m := means.(type) {
	case schema.DecimalLogicalType:
		return c.setDecimal(int(m.Scale()))
	case schema.DateLogicalType:
		c.values.moment = dateText
	case schema.TimeLogicalType:
		c.setTime(clockText, m.TimeUnit())
	case schema.TimestampLogicalType:
		c.setTime(timestampText, m.TimeUnit())
	case schema.IntLogicalType:
		c.to = table.Integer
		c.values.unsigned = !m.IsSigned()
	default:
		c.to = table.Integer
	}
	return ""
}

// setTime reads integers as times by format, which gets how many units a second has.
func (c *column) setTime(format func(v, perSecond int64) string, unit schema.TimeUnitType) {
	perSecond := map[schema.TimeUnitType]int64{schema.TimeUnitMillis: 1e3, schema.TimeUnitMicros: 1e6}[unit]
	if perSecond == 0 {
		perSecond = 1e9
	}
	c.values.moment = func(v int64) string { return format(v, perSecond) }
}

// setDecimal reads integers, and big-endian integers of up to 32 bytes, as numbers with scale digits after the point.
// It returns why it cannot, or "".
func (c *column) setDecimal(scale int) (refusal string) {
	if scale < 0 || scale > maxScale {
		return "holds decimals of an invalid scale"
	}
	c.to = table.Number
	c.values.integer = func(v int64) float64 { return decimal(big.NewInt(v), scale) }
	c.values.number = func(b []byte) (float64, bool) {
		if len(b) > 32 {
			return 0, false
		}
		return decimal(signedBytes(b), scale), true
	}
	return ""
}

// setBytes decides how a column stored as bytes is read. It returns why it cannot be, or "".
func (c *column) setBytes(means schema.LogicalType, width int) (refusal string) {
	fixed := c.physical == parquet.Types.FixedLenByteArray
	if fixed && (width <= 0 || width > table.MaxTextBytes) {
		return "has cells of an invalid length"
	}
	c.to = table.Text
	switch m := means.(type) {
	case schema.StringLogicalType, schema.EnumLogicalType, schema.JSONLogicalType:
		return ""
	case schema.DecimalLogicalType:
		return c.setDecimal(int(m.Scale()))
	case schema.Float16LogicalType:
		c.to = table.Number
		c.values.number = func(b []byte) (float64, bool) {
			return scan.Half(binary.LittleEndian.Uint16(b)), true
		}
		return ""
	case schema.UUIDLogicalType:
		c.values.text = func(b []byte) string {
			s := hex.EncodeToString(b)
			return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
		}
		return ""
	case schema.IntervalLogicalType:
		return "holds intervals of months and days"
	case schema.NoLogicalType, schema.UnknownLogicalType, schema.NullLogicalType, nil:
		if fixed {
			return "holds bytes, not text"
		}
		return ""
	}
	return "holds values of the logical type " + means.String()
}

// fill reads the next rows of a column.
func (c *chunk) fill(out *table.Column, rows int) (err error) {
	if c.reader == nil {
		c.blank, err = c.checkPages()
		if err != nil {
			return err
		}
		c.reader, err = c.group.Column(c.leaf)
		if err != nil {
			return err
		}
	}
	size := int64(8)
	if c.column.values.moment != nil || c.physical == parquet.Types.Int96 {
		size += momentBytes
	}
	if err := c.take(size * int64(rows)); err != nil {
		return err
	}
	out.Make(rows)
	switch r := c.reader.(type) {
	case *file.Float64ColumnChunkReader:
		err = fillInto(c, out, r.ReadBatchInPage, out.Numbers)
	case *file.Float32ColumnChunkReader:
		err = convert(c, out, rows, r.ReadBatchInPage, func(row int, v float32) error {
			out.Numbers[row] = float64(v)
			return nil
		})
	case *file.Int64ColumnChunkReader:
		if out.Type == table.Integer {
			err = fillInto(c, out, r.ReadBatchInPage, out.Integers)
			break
		}
		err = convert(c, out, rows, r.ReadBatchInPage, func(row int, v int64) error {
			c.integer(out, row, v)
			return nil
		})
	case *file.Int32ColumnChunkReader:
		err = convert(c, out, rows, r.ReadBatchInPage, func(row int, v int32) error {
			if c.column.values.unsigned {
				c.integer(out, row, int64(uint32(v)))
			} else {
				c.integer(out, row, int64(v))
			}
			return nil
		})
	case *file.BooleanColumnChunkReader:
		err = convert(c, out, rows, r.ReadBatchInPage, func(row int, v bool) error {
			out.Texts[row] = strconv.FormatBool(v)
			return nil
		})
	case *file.Int96ColumnChunkReader:
		err = convert(c, out, rows, r.ReadBatchInPage, func(row int, v parquet.Int96) error {
			out.Texts[row] = int96Text(v)
			return nil
		})
	case *file.ByteArrayColumnChunkReader:
		err = convert(c, out, rows, r.ReadBatchInPage, func(row int, v parquet.ByteArray) error {
			return c.bytes(out, row, v)
		})
	case *file.FixedLenByteArrayColumnChunkReader:
		err = convert(c, out, rows, r.ReadBatchInPage, func(row int, v parquet.FixedLenByteArray) error {
			return c.bytes(out, row, v)
		})
	default:
		err = c.corrupt("its type is unknown")
	}
	if err != nil {
		return err
	}
	return checkCells(out, c.unneeded, c.column.values.unsigned)
}

// integer converts an integer.
func (c *chunk) integer(out *table.Column, row int, v int64) {
	switch means := &c.column.values; {
	case means.moment != nil:
		out.Texts[row] = means.moment(v)
	case means.integer != nil:
		out.Numbers[row] = means.integer(v)
	default:
		out.Integers[row] = v
	}
}

// bytes converts a byte value. It does not retain b.
func (c *chunk) bytes(out *table.Column, row int, b []byte) error {
	means := &c.column.values
	switch {
	case out.Empty != nil && out.Empty[row]:
	case means.number != nil:
		v, ok := means.number(b)
		if !ok {
			return c.corrupt("a decimal has %d bytes", len(b))
		}
		out.Numbers[row] = v
	case means.text != nil:
		out.Texts[row] = means.text(b)
	case len(b) > table.MaxTextBytes && c.unneeded:
		out.MarkEmpty(row)
	case len(b) > table.MaxTextBytes:
		return fault.Invalid("BAD_TEXT", "column %q: %.60q is not a text; it must have at most %d bytes of UTF-8",
			c.name, b, table.MaxTextBytes).
			With("column", c.name)
	default:
		var err error
		out.Texts[row], err = c.texts.keep(&c.budget, b)
		return err
	}
	return nil
}

// int96Text converts a legacy timestamp: nanoseconds of the day, and the Julian day number.
func int96Text(b parquet.Int96) string {
	const epoch = 2440588 // the Julian day of 1970-01-01
	nanoseconds := int64(binary.LittleEndian.Uint64(b[:]))
	day := int64(binary.LittleEndian.Uint32(b[8:]))
	return time.Unix((day-epoch)*86400, nanoseconds).UTC().Format("2006-01-02 15:04:05.999999999")
}

// readBatch is the method of the library's readers that reads the present values of one page. Definition levels tell
// which rows have one.
type readBatch[T any] func(n int64, values []T, defs, reps []int16) (total int64, present int, err error)

// Limits on the number of values read at a time, which bound the memory for levels and converted values. Texts may be
// much longer than their encoded bytes.
const (
	stepRows  = 1 << 15
	stepTexts = 1 << 10
)

// fillInto reads values that need no conversion.
func fillInto[T any](c *chunk, out *table.Column, read readBatch[T], values []T) error {
	for at := 0; at < len(values); {
		n, err := readSome(c, out, at, read, values[at:min(len(values), at+stepRows)])
		if err != nil {
			return err
		}
		at += n
	}
	return nil
}

// convert reads values and calls put for each, including empty ones.
func convert[T any](c *chunk, out *table.Column, rows int, read readBatch[T], put func(row int, v T) error) error {
	step := stepRows
	if c.physical == parquet.Types.ByteArray || c.physical == parquet.Types.FixedLenByteArray {
		step = stepTexts
	}
	values := make([]T, min(rows, step))
	for at := 0; at < rows; {
		n, err := readSome(c, out, at, read, values[:min(rows-at, step)])
		if err != nil {
			return err
		}
		for i, v := range values[:n] {
			if err := put(at+i, v); err != nil {
				return err
			}
		}
		at += n
	}
	return nil
}

// readSome reads the next values of a page, and marks rows without one as empty.
func readSome[T any](c *chunk, out *table.Column, at int, read readBatch[T], values []T) (int, error) {
	var defs []int16
	if c.optional {
		if len(c.defs) < len(values) {
			c.defs = make([]int16, len(values))
		}
		defs = c.defs[:len(values)]
	}
	total, present, err := read(int64(len(values)), values, defs, nil)
	switch n := int(total); {
	case err != nil:
		return 0, c.corrupt("%v", explained(parquetName, err))
	case n == 0 && c.blank > 0:
		c.blank--
		return 0, nil
	case n == 0:
		return 0, c.corrupt("the column has fewer values than its row group has rows")
	case !c.optional && present == n:
		return n, nil
	case n > len(defs):
		return 0, c.corrupt("a page has fewer values than it claims")
	default:
		return n, spread(c, out, at, defs[:n], values, present)
	}
}

// spread moves values to the rows that have one, and marks the others as empty.
func spread[T any](c *chunk, out *table.Column, at int, defs []int16, values []T, present int) error {
	next := 0
	for _, d := range defs {
		next += int(d)
	}
	if next != present || present > len(defs) {
		return c.corrupt("a page has %d values, but its definition levels imply %d", present, next)
	}
	if present == len(defs) {
		return nil
	}
	if out.Empty == nil {
		out.Empty = make([]bool, out.Len())
	}
	empty := out.Empty[at : at+len(defs)]
	for row := len(defs) - 1; row >= 0; row-- {
		var v T
		empty[row] = defs[row] == 0
		if !empty[row] {
			next--
			v = values[next]
		}
		values[row] = v
	}
	return nil
}

// texts copies texts out of temporary memory. Texts of a dictionary that occur often are copied only once.
type texts struct {
	recent [1 << 10]string
	block  strings.Builder
}

// keep returns a copy of bytes as a string.
func (t *texts) keep(b *budget, bytes []byte) (string, error) {
	if len(bytes) == 0 {
		return "", nil
	}
	// Equal texts of a dictionary are the same bytes.
	place := uintptr(unsafe.Pointer(unsafe.SliceData(bytes)))
	known := &t.recent[(place>>2^place>>12)%uintptr(len(t.recent))]
	if *known == string(bytes) {
		return *known, nil
	}
	if t.block.Cap()-t.block.Len() < len(bytes) {
		size := max(len(bytes), 1<<14)
		if err := b.take(int64(size)); err != nil {
			return "", err
		}
		t.block = strings.Builder{}
		t.block.Grow(size)
	}
	from := t.block.Len()
	t.block.Write(bytes)
	*known = t.block.String()[from:]
	return *known, nil
}
