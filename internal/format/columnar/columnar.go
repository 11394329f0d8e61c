// Package columnar reads and writes tables in the formats of the Arrow project: Parquet files, and Arrow IPC files
// (also called Feather, version 2) and streams, a batch of rows at a time.
//
// The Arrow project's library decodes and encodes. It allocates what some headers claim, recurses as deep as a schema
// is nested, and panics on unexpected input. So this package first checks that metadata, page headers and delta
// encodings claim no more bytes than there are, limits the size of decompressed blocks, and turns panics into errors.
package columnar

import (
	"cmp"
	"errors"
	"io"
	"math"
	"math/big"
	"slices"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// maxBlock is the largest decompressed size of a block, in bytes.
const maxBlock = 1 << 30

// maxDepth is how deep the columns of a schema may be nested.
const maxDepth = 24

// checkGrowth returns an error if the claimed decompressed size of a block is too large for its compressed size.
func checkGrowth(packed, size int64) error {
	if size < 0 || size > maxBlock {
		return fault.Invalid("FILE_GROWS_TOO_MUCH", "a block claims %d bytes; at most %d are read at once",
			size, maxBlock)
	}
	if size > scan.FreeBytes+scan.MaxGrowth*packed {
		return tooMuchGrowth()
	}
	return nil
}

func tooMuchGrowth() *fault.Error {
	return fault.Invalid("FILE_GROWS_TOO_MUCH",
		"the file decompresses to more than %d times its size, which looks like a mistake or an attack", scan.MaxGrowth)
}

// budget allocates memory for the library and limits it in proportion to the bytes read. It is safe for concurrent use.
type budget struct {
	memory.GoAllocator
	read atomic.Int64 // bytes of the file
	used atomic.Int64 // bytes allocated for their decompressed form
}

// take reserves size more bytes, or returns an error.
func (b *budget) take(size int64) error {
	if size > maxBlock || b.used.Add(size) > 2*scan.FreeBytes+scan.MaxGrowth*b.read.Load() {
		return tooMuchGrowth()
	}
	return nil
}

// Allocate panics if take fails, because the library's interface cannot return an error; see rescue.
func (b *budget) Allocate(size int) []byte {
	if err := b.take(int64(size)); err != nil {
		panic(err)
	}
	return b.GoAllocator.Allocate(size)
}

func (b *budget) Reallocate(size int, old []byte) []byte {
	if size > cap(old) {
		if err := b.take(int64(size)); err != nil {
			panic(err)
		}
	}
	return b.GoAllocator.Reallocate(size, old)
}

// rescue turns a panic into an error, and an error of the library into a fault.
func rescue(kind string, err *error) { settle(kind, recover(), err) }

// rescueEOF is rescue for calls where io.EOF is not an error.
func rescueEOF(kind string, err *error) {
	if p := recover(); p != nil || *err != io.EOF {
		settle(kind, p, err)
	}
}

func settle(kind string, panicked any, err *error) {
	if bad, ok := panicked.(error); ok {
		*err = bad
	} else if panicked != nil {
		*err = corrupt(kind, "%v", panicked)
	}
	*err = explained(kind, *err)
}

// explained turns an error of the library into a fault. Failed reads of the file are returned unchanged.
func explained(kind string, err error) error {
	var known *fault.Error
	var reading *readError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.As(err, &reading):
		return reading.error
	}
	return corrupt(kind, "%v", err)
}

// readError is a failed read, as opposed to invalid content.
type readError struct{ error }

func corrupt(kind, format string, args ...any) *fault.Error {
	return fault.Invalid("CORRUPT_FILE", "the "+kind+" file is damaged or cut short: "+format, args...)
}

func unsupported(column string, at int, refusal string) *fault.Error {
	return fault.Invalid("UNSUPPORTED_COLUMN", "column %q %s, which Cleave does not support; skip it with --ignore %s",
		column, refusal, table.TypedInList(column, at)).With("column", column)
}

// nameColumns names the columns of a file, some of which may have none, and reports which of them are not needed.
func nameColumns(names []string, ignores func(names []string) []bool) (unneeded []bool, err error) {
	if len(names) > table.MaxColumns {
		return nil, fault.Invalid("TOO_MANY_COLUMNS", "the table has %d columns; at most %d are supported", len(names),
			table.MaxColumns)
	}
	for at, name := range names {
		names[at] = cmp.Or(name, table.Unnamed(at))
	}
	return ignores(names), nil
}

// checkCells returns an error for cells that a table cannot hold, or marks them as empty if the column is not needed.
// Integers above the range of int64 have become negative if they had no sign.
func checkCells(c *table.Column, unneeded, unsigned bool) error {
	c.MarkNaN()
	if unneeded {
		c.MarkUnrepresentable()
	}
	if !unsigned {
		return nil
	}
	for row, v := range c.Integers {
		switch {
		case v >= 0 || c.IsEmpty(row):
		case unneeded:
			c.MarkEmpty(row)
		default:
			return fault.Invalid("NOT_AN_INTEGER", "column %q: %d is above %d, the largest integer supported", c.Name,
				uint64(v), int64(math.MaxInt64)).
				With("column", c.Name)
		}
	}
	return nil
}

// nothing returns a column of empty cells.
func nothing(name string, rows int) table.Column {
	return table.Column{Name: name, Type: table.Text, Texts: make([]string, rows),
		Empty: slices.Repeat([]bool{true}, rows)}
}

// Dates, times and Booleans become the texts that CSV files have for them, so that recipes treat them alike.

// momentBytes is the memory that such a text takes, in addition to the 8 bytes of every cell.
const momentBytes = 40

// dateText returns a date, given in days since 1970.
func dateText(days int64) string { return time.Unix(days*86400, 0).UTC().Format(time.DateOnly) }

// timestampText returns a date and time, given in units since 1970.
func timestampText(v, perSecond int64) string {
	return timeOf(v, perSecond).Format("2006-01-02 15:04:05.999999999")
}

// clockText returns a time of day, given in units since midnight.
func clockText(v, perSecond int64) string { return timeOf(v, perSecond).Format("15:04:05.999999999") }

func timeOf(v, perSecond int64) time.Time {
	return time.Unix(v/perSecond, v%perSecond*(1e9/perSecond)).UTC()
}

// maxScale is the largest scale of decimals.
const maxScale = 100

// decimal returns unscaled / 10^scale, rounded once.
func decimal(unscaled *big.Int, scale int) float64 {
	const exact = 22 // the largest exponent of an exact power of ten
	if scale <= exact && unscaled.IsInt64() {
		if v := unscaled.Int64(); v >= -1<<53 && v <= 1<<53 {
			return float64(v) / math.Pow10(scale)
		}
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	v, _ := new(big.Rat).SetFrac(unscaled, power).Float64()
	return v
}

// signedBytes parses a big-endian two's complement integer.
func signedBytes(b []byte) *big.Int {
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}
