// Package invalid contains the errors of the mathematics: what is wrong with the input, in which row, and the values
// that matter. It knows no API, and gives no advice. Package refusal turns these errors into what users see.
package invalid

import (
	"errors"
	"fmt"
	"strings"
)

// Reason says what is wrong, as a technical phrase. It is an error, so that errors.Is(err, ZeroRow) finds it in an
// *Error and in what wraps one.
type Reason string

func (r Reason) Error() string { return string(r) }

// Error is input that a computation refuses.
type Error struct {
	Reason Reason
	Row    int // counted from 0; -1 if the error is not about one row
	Column int // counted from 0; -1 if the error is not about one value of a row
	values []any
}

// New returns an error about the input as a whole. Values are names and values that alternate, as in log/slog:
//
//	invalid.New(invalid.KAboveRows, "k", 5, "rows", 3)
func New(reason Reason, values ...any) *Error { return InCell(-1, -1, reason, values...) }

// InRow returns an error about one row.
func InRow(row int, reason Reason, values ...any) *Error { return InCell(row, -1, reason, values...) }

// InCell returns an error about one value of a row.
func InCell(row, column int, reason Reason, values ...any) *Error {
	return &Error{Reason: reason, Row: row, Column: column, values: values}
}

// Error returns the place, the reason and the values.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Column >= 0:
		fmt.Fprintf(&b, "row %d, column %d: ", e.Row, e.Column)
	case e.Row >= 0:
		fmt.Fprintf(&b, "row %d: ", e.Row)
	}
	b.WriteString(string(e.Reason))
	for at := 0; at < len(e.values); at += 2 {
		fmt.Fprintf(&b, ", %v=%v", e.values[at], e.values[at+1])
	}
	return b.String()
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Reason }

// Value returns the value with this name, or nil if there is none.
func (e *Error) Value(name string) any {
	for at := 0; at < len(e.values); at += 2 {
		if e.values[at] == name {
			return e.values[at+1]
		}
	}
	return nil
}

// ShiftRows adds a number to the row of an error, for rows that follow others in what was checked. It returns other
// errors unchanged, as well as errors whose row would be negative.
func ShiftRows(err error, by int) error {
	e, is := errors.AsType[*Error](err)
	if !is || e.Row < 0 || e.Row+by < 0 {
		return err
	}
	shifted := *e
	shifted.Row += by
	return &shifted
}
