package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/parallel"
)

// Points holds n rows of d features.
type Points struct {
	N, D   int
	Values []float64 // row by row
	// Categorical lists the columns that encode categories, in ascending order. They are not part of the canonical
	// bytes, because only the code that made the points needs them, to find units.
	Categorical []Categorical

	made *identity // what MakePoints computed; nil for other points
}

// Kind implements Dataset.
func (p *Points) Kind() Kind { return KindPoints }

// Rows implements Dataset.
func (p *Points) Rows() int { return p.N }

// Row returns the i-th point, which shares memory with the data set.
func (p *Points) Row(i int) []float64 { return p.Values[i*p.D : (i+1)*p.D : (i+1)*p.D] }

// Take returns the given points, in the given order.
func (p *Points) Take(rows []int32) *Points {
	values := make([]float64, 0, len(rows)*p.D)
	for _, i := range rows {
		values = append(values, p.Row(int(i))...)
	}
	return &Points{N: len(rows), D: p.D, Values: values, Categorical: p.Categorical}
}

// NewPoints checks n x d values, given row by row, and keeps the slice.
func NewPoints(n, d int, values []float64) (*Points, error) {
	if err := checkShape(n, d); err != nil {
		return nil, err
	}
	if len(values) != n*d {
		return nil, fault.Invalid("SIZE_MISMATCH", "the data set has %d values; %d rows of %d columns need %d",
			len(values), n, d, n*d)
	}
	if err := checkFinite(values, 0, d); err != nil {
		return nil, err
	}
	return &Points{N: n, D: d, Values: values}, nil
}

// partValues is the number of values made at a time, few enough to check and hash them while they are in the cache.
const partValues = 1 << 17

// MakePoints makes points on as many threads as the context allows. fill writes rows [from, to) into values, which are
// 0 at first; it must be safe for concurrent use. MakePoints checks finished rows, and hashes them for ID, while fill
// makes others.
func MakePoints(ctx context.Context, n, d int, fill func(from, to int, values []float64) error) (*Points, error) {
	if err := checkShape(n, d); err != nil {
		return nil, err
	}
	p := &Points{N: n, D: d, Values: make([]float64, n*d)}
	rows := max(1, partValues/d)
	parts, threads := (n+rows-1)/rows, parallel.Threads(ctx)
	made := make([]chan struct{}, parts)
	for at := range made {
		made[at] = make(chan struct{})
	}
	failed := make(chan struct{})
	hashed := make(chan string, 1)
	rowsOf := func(at int) (from, to int) { return at * rows, min((at+1)*rows, n) }
	go func() {
		hash := sha256.New()
		r := &reader{parts: []part{header(KindPoints, n, d)}}
		for at := range made {
			select {
			case <-made[at]:
			case <-failed:
				return
			}
			from, to := rowsOf(at)
			r.parts = append(r.parts, arrayOf(p.Values[from*d:to*d], 8, putFloats))
			_, _ = r.WriteTo(hash) // a hash returns no errors
		}
		hashed <- hex.EncodeToString(hash.Sum(nil))
	}()
	err := parallel.Run(ctx, threads, parts, func(at int) error {
		from, to := rowsOf(at)
		values := p.Values[from*d : to*d]
		if err := fill(from, to, values); err != nil {
			return err
		}
		if err := checkFinite(values, from, d); err != nil {
			return err
		}
		close(made[at])
		return nil
	})
	if err != nil {
		close(failed)
		return nil, err
	}
	p.made = &identity{<-hashed, &p.Values[0]}
	return p, nil
}

// identity is the ID that MakePoints computed, valid only for the values that first points to.
type identity struct {
	id    string
	first *float64 // the first of the values it belongs to
}

// known returns the ID that MakePoints computed, or "" if there is none or Values was replaced since.
func (p *Points) known() string {
	if p.made == nil || len(p.Values) != p.N*p.D || len(p.Values) == 0 || &p.Values[0] != p.made.first {
		return ""
	}
	return p.made.id
}

// checkCounts checks the numbers of rows and columns of dense or sparse points.
func checkCounts(n, d int) error {
	if n < 1 || d < 1 {
		return fault.Invalid("EMPTY_DATA", "the data set has %d rows and %d columns; at least one of each is needed",
			n, d)
	}
	if n > MaxRows {
		return fault.Invalid("TOO_MANY_ROWS", "the data set has %d rows; at most %d are supported", n, MaxRows)
	}
	return nil
}

// checkShape checks the numbers of rows and columns of dense points.
func checkShape(n, d int) error {
	if err := checkCounts(n, d); err != nil {
		return err
	}
	if d > math.MaxInt/n/8 {
		return fault.Invalid("SIZE_MISMATCH", "the data set has %d rows of %d columns, which is too many values", n, d)
	}
	return nil
}

// checkFinite refuses values that are infinite or NaN. row is the number of the first row of values.
func checkFinite(values []float64, row, d int) error {
	for at, v := range values {
		if !finite(v) {
			return fault.InCell(row+at/d, at%d, "NOT_FINITE", " is %v; every value must be a finite number", v)
		}
	}
	return nil
}
