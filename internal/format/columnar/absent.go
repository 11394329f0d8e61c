//go:build small

// Package columnar reads and writes nothing in a small program; see make small.
package columnar

import (
	"io"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
)

func absent() error {
	return fault.New(fault.FailedPrecondition, "FORMAT_ABSENT", "this program was built without Parquet and Arrow (-tags small); build it without the tag, as make build does")
}

// OpenParquet returns an error.
func OpenParquet(io.ReaderAt, int64, func(names []string) []bool) (*Parquet, error) {
	return nil, absent()
}

// OpenArrow returns an error.
func OpenArrow(io.Reader, func(names []string) []bool) (*Arrow, error) { return nil, absent() }

// NewWriter returns an error.
func NewWriter(io.Writer, []table.Column) (*Writer, error) { return nil, absent() }

// Parquet, Arrow and Writer have no values in a small program, so their methods are never called.
type (
	Parquet struct{ reader }
	Arrow   struct{ reader }
	Writer  struct{}
	reader  struct{}
)

// Group is a row group of a Parquet file.
type Group struct{ Rows, Bytes int64 }

func (reader) Columns() []table.Column     { return nil }
func (reader) Close()                      {}
func (reader) Next() (*table.Table, error) { return nil, absent() }

// Groups returns nothing.
func (*Parquet) Groups() []Group { return nil }

// Restrict returns an error.
func (*Parquet) Restrict(_, _ int) error { return absent() }

// Whole does nothing.
func (*Parquet) Whole() {}

// Write returns an error.
func (*Writer) Write(*table.Table) error { return absent() }

// Close does nothing.
func (*Writer) Close() error { return nil }
