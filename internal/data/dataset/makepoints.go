package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"runtime"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/parallel"
)

// partValues is how many values are made at a time: so few that they are checked and hashed while they are in the cache.
const partValues = 1 << 17

// MakePoints makes points on all processors. fill writes the rows [from, to); what it finds in values is 0. The values are checked,
// and hashed for ID, while others are made.
func MakePoints(n, d int, fill func(from, to int, values []float64) error) (*Points, error) {
	if err := checkShape(n, d); err != nil {
		return nil, err
	}
	p := &Points{N: n, D: d, Values: make([]float64, n*d)}
	rows := max(1, partValues/d)
	parts, threads := (n+rows-1)/rows, runtime.GOMAXPROCS(0)
	made := make([]chan struct{}, parts)
	for at := range made {
		made[at] = make(chan struct{})
	}
	failed, hashed := make(chan struct{}), make(chan string, 1)
	part := func(at int) (from, to int) { return at * rows, min((at+1)*rows, n) }
	go func() {
		hash, buffer := sha256.New(), make([]byte, headerSize)
		putHeader(buffer, KindPoints, n, d)
		hash.Write(buffer)
		for at := range made {
			select {
			case <-made[at]:
			case <-failed:
				return
			}
			from, to := part(at)
			_ = writeBlocks(hash, p.Values[from*d:to*d], 8, putFloats) // a hash takes everything
		}
		hashed <- hex.EncodeToString(hash.Sum(nil))
	}()
	err := parallel.NewPool(threads).Run(context.Background(), threads, parts, func(at int) error {
		from, to := part(at)
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

// identity is the id of points that was found when they were made.
type identity struct {
	id    string
	first *float64 // of the values that it is about
}

// known is the id of points if it was found when they were made, and they are still those.
func (p *Points) known() string {
	if p.made == nil || len(p.Values) != p.N*p.D || len(p.Values) == 0 || &p.Values[0] != p.made.first {
		return ""
	}
	return p.made.id
}

// checkShape refuses what no points have.
func checkShape(n, d int) error {
	switch {
	case n < 1 || d < 1:
		return fault.Invalid("EMPTY_DATA", "the data set has %d rows and %d columns; at least one of each is needed", n, d)
	case n > MaxRows:
		return fault.Invalid("TOO_MANY_ROWS", "the data set has %d rows; at most %d are supported", n, MaxRows)
	case d > math.MaxInt/n/8:
		return fault.Invalid("SIZE_MISMATCH", "the data set has %d rows of %d columns, more values than can be counted", n, d)
	}
	return nil
}

// checkFinite refuses values, those from a row on, that are no numbers.
func checkFinite(values []float64, row, d int) error {
	for at, v := range values {
		if !finite(v) {
			return fault.Invalid("NOT_FINITE", "row %d, column %d is %v; every value must be a finite number", row+at/d, at%d, v)
		}
	}
	return nil
}
