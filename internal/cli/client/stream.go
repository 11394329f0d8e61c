package client

import (
	"context"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// StreamTable sends a table as it is read, and says what the coordinator knows about it. read begins with the first row and calls
// send with what gives the next rows; it is called again when the connection breaks: nothing of an upload is kept that did not
// end.
func (c *Client) StreamTable(ctx context.Context, name string, read func(send func(next func() (*table.Table, error)) error) error) (stored *cleavev1.Table, _ error) {
	again := false
	err := c.repeat(ctx, func() error {
		if again {
			c.warn("the connection to the coordinator broke; the table is sent again from its first row")
		}
		return read(func(next func() (*table.Table, error)) (err error) {
			stored, err = wire.SendBatches(ctx, c.Tables, name, func() (*table.Table, error) {
				again = true
				return next()
			})
			return err
		})
	})
	if err == nil {
		limitGarbage(int64(stored.GetBytes())) // its labels will be large, too
	}
	return stored, c.Explain(err)
}

// EachTableRows calls yield with the rows of a table, some at a time. A stream that breaks goes on where it was.
func (c *Client) EachTableRows(ctx context.Context, tableID string, yield func(*table.Table) error) error {
	done := 0
	err := c.repeat(ctx, func() error {
		ctx, cancel := context.WithCancel(ctx) // ends a stream that is left halfway
		defer cancel()
		stream, err := c.Tables.GetTableRows(ctx, &cleavev1.GetTableRowsRequest{TableId: tableID})
		if err != nil {
			return err
		}
		at := 0
		return wire.Receive(stream.Recv, func(part *cleavev1.GetTableRowsResponse) error {
			t, err := wire.TableRows(part.GetRows())
			if err != nil {
				return err
			}
			var more []int // rows that were not there before
			for row := max(0, done-at); row < t.Rows(); row++ {
				more = append(more, row)
			}
			at += t.Rows()
			switch {
			case len(more) == 0:
				return nil
			case len(more) < t.Rows():
				t = t.Take(more)
			}
			done = at
			return yield(t)
		})
	})
	return c.Explain(err)
}

// SampleTable fetches so many of the rows of a table, evenly spaced, see table.Sample.
func (c *Client) SampleTable(ctx context.Context, tableID string, rows int) (*table.Table, error) {
	return receive(ctx, c, c.Tables.GetTableRows, &cleavev1.GetTableRowsRequest{TableId: tableID, MaxRows: uint32(rows)}, wire.ReceiveTable)
}
