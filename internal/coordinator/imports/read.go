package imports

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/signal"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/wire/reading"
)

// unitBytes limits the compressed size of the row groups that a worker reads as one unit. A larger row group is a
// unit by itself.
const unitBytes = 32 << 20

// reader reads the objects of one import. Package format joins them as it joins local files, so that the table is the
// same. The difference is that workers read the parts, and read ahead.
type reader struct {
	*Importer
	ctx       context.Context
	sources   []source
	done      *progress
	described []*workerv1.ObjectRows // the columns of each object
	surveys   []*workerv1.TextSurvey // what reading each object showed; nil if nothing
	pass      *pass                  // nil before rows are read
}

// table reads all objects.
func (r *reader) table(o format.TableOptions) (*table.Table, *cleavev1.ImportedTable, error) {
	if err := r.describe(o); err != nil {
		return nil, nil, err
	}
	names := make([]string, len(r.sources))
	for at := range r.sources {
		names[at] = r.sources[at].URI
	}
	from, err := format.OpenParts(names, o, r.open)
	if err != nil {
		return nil, nil, err
	}
	defer from.Close()
	for {
		t, err := r.collect(from)
		if errors.Is(err, format.ErrRestarted) {
			continue
		}
		return t, &cleavev1.ImportedTable{Notices: from.Notices(), Decimals: from.Decimals()}, err
	}
}

// collect joins the rows of all objects.
func (r *reader) collect(from *format.TableReader) (*table.Table, error) {
	u := wire.NewTableUpload(r.d.MaxBytes)
	header := &cleavev1.CreateTableRequest{Part: &cleavev1.CreateTableRequest_Header{Header: &cleavev1.TableHeader{}}}
	if err := u.Add(header); err != nil {
		return nil, err
	}
	for {
		t, err := from.Next()
		if errors.Is(err, io.EOF) {
			return u.Finish()
		}
		if err == nil {
			err = wire.EachPart(t, func(rows *cleavev1.TableRows) error {
				return u.Add(&cleavev1.CreateTableRequest{Part: &cleavev1.CreateTableRequest_Rows{Rows: rows}})
			})
		}
		if err != nil {
			return nil, err
		}
	}
}

// describe finds the columns of all objects.
func (r *reader) describe(o format.TableOptions) error {
	r.described, r.surveys = make([]*workerv1.ObjectRows, len(r.sources)), make([]*workerv1.TextSurvey, len(r.sources))
	var units []*fleet.ObjectUnit
	for at := range r.sources {
		units = append(units, &fleet.ObjectUnit{
			URI: r.sources[at].URI,
			Request: func(ctx context.Context, _ uint64) (*workerv1.ReadObject, error) {
				request, err := r.request(ctx, at, o)
				if err == nil {
					request.Describe = true
				}
				return request, err
			},
			Take: func(found *workerv1.ObjectRows) (bool, error) {
				r.described[at] = found
				return true, nil
			},
		})
	}
	return r.d.Fleet.ReadObjects(r.ctx, units, r.readBy)
}

// readBy records how many workers read.
func (r *reader) readBy(workers int) {
	r.done.change(func(now *cleavev1.ImportProgress) { now.Workers = uint32(workers) })
}

// request returns a request to read an object.
func (r *reader) request(ctx context.Context, at int, o format.TableOptions) (*workerv1.ReadObject, error) {
	s := r.sources[at]
	url, etag, err := r.buckets.Sign(ctx, s.rule, s.Object)
	return &workerv1.ReadObject{Uri: s.URI, Url: url, Bytes: uint64(s.Bytes), Etag: etag, Reading: reading.Proto(o),
		Survey: r.surveys[at]}, err
}

// close stops the workers.
func (r *reader) close() {
	if r.pass != nil {
		r.pass.close()
		r.pass = nil
	}
}

// open returns an object as a part of the table. Opening the first one begins a new pass over all of them.
func (r *reader) open(at int, o format.TableOptions) (format.Part, error) {
	if at == 0 {
		r.close()
	}
	return &part{reader: r, at: at, options: o, last: r.described[at]}, nil
}

// part is the format.Part of one object. Its rows come from workers.
type part struct {
	*reader
	at      int
	options format.TableOptions
	unit    int                  // the unit of the object that is read
	rows    int                  // number of rows returned so far
	last    *workerv1.ObjectRows // the latest description of the object
	misread bool                 // whether Next returned ErrRestarted; the pass goes on, for surveys of later objects
}

func (p *part) Columns() []table.Column { return wire.Columns(p.last.GetColumns()) }

func (p *part) Notices() []string { return p.last.GetNotices() }

func (p *part) Decimals() string { return p.last.GetDecimals() }

// Marks returns the decimal separator that the columns show.
func (p *part) Marks() string { return p.last.GetMarks() }

// Survey returns what reading the object has shown.
func (p *part) Survey() *format.Survey { return reading.Survey(p.surveys[p.at]) }

func (p *part) Close() {}

// Next returns the next rows that workers have read. The first call of a pass makes them begin.
func (p *part) Next() (*table.Table, error) {
	if p.misread {
		p.reader.close()
		p.unit, p.rows, p.misread = 0, 0, false
	}
	if p.pass == nil {
		if err := p.begin(p.options); err != nil {
			return nil, err
		}
	}
	units := p.pass.units[p.at]
	for p.unit < len(units) {
		rows, err := p.pass.next(units[p.unit])
		if errors.Is(err, io.EOF) {
			if p.last = units[p.unit].last; p.last.GetRestarted() {
				p.surveys[p.at], p.misread = p.last.GetSurvey(), true
				return nil, format.ErrRestarted
			}
			p.unit++
			continue
		}
		if err != nil {
			return nil, err
		}
		t, err := wire.TableRows(rows)
		if err == nil {
			p.rows += t.Rows()
		}
		return t, err
	}
	if p.rows == 0 {
		return nil, format.NoRows(p.sources[p.at].URI)
	}
	return nil, io.EOF
}

// pass is one pass of workers over all objects. There is another one if later rows show that the first ones were
// misread.
type pass struct {
	units  [][]*unit // of each object
	held   *datasets.Upload
	cancel context.CancelFunc
	ended  chan struct{} // closed when no worker is reading anymore
	limit  int64

	mu      sync.Mutex
	bytes   int64            // bytes that have arrived
	changed signal.Broadcast // rows have arrived
	err     error            // why reading failed; set before ended is closed
}

// unit holds the rows that have arrived of an object, or of some of its row groups.
type unit struct {
	rows []*cleavev1.TableRows // rows that were not returned yet
	done bool
	last *workerv1.ObjectRows
}

// begin begins a pass. The memory of the rows is released by close.
func (r *reader) begin(o format.TableOptions) error {
	held, err := r.d.Uploads.Begin(r.ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.ctx)
	p := &pass{held: held, cancel: cancel, ended: make(chan struct{}), limit: r.d.MaxBytes}
	r.done.change(func(now *cleavev1.ImportProgress) { now.ObjectsRead, now.Rows = 0, 0 })
	var all []*fleet.ObjectUnit
	for at := range r.sources {
		var units []*unit
		left := 0
		for _, groups := range groupsOf(r.described[at].GetGroups()) {
			u := &unit{}
			units = append(units, u)
			left++
			all = append(all, &fleet.ObjectUnit{
				URI: r.sources[at].URI,
				Request: func(ctx context.Context, rows uint64) (*workerv1.ReadObject, error) {
					request, err := r.request(ctx, at, o)
					if err == nil {
						request.Rows, request.FirstGroup, request.Groups = rows, uint32(groups.From),
							uint32(groups.To-groups.From)
					}
					return request, err
				},
				Take: func(rows *workerv1.ObjectRows) (bool, error) {
					done, err := p.take(u, rows)
					r.done.change(func(now *cleavev1.ImportProgress) {
						for _, part := range rows.GetRows() {
							now.Rows += uint64(wire.RowsIn(part))
						}
						if done {
							left--
						}
						if done && left == 0 {
							now.ObjectsRead++
						}
					})
					return done, err
				},
			})
		}
		p.units = append(p.units, units)
	}
	r.pass = p
	go func() {
		defer close(p.ended)
		p.fail(r.d.Fleet.ReadObjects(ctx, all, r.readBy))
	}()
	return nil
}

// groupsOf cuts the row groups of a Parquet file into units. Other formats are one unit, and so are small files.
func groupsOf(groups []*workerv1.RowGroup) []format.RowGroups {
	var units []format.RowGroups
	bytes := uint64(0)
	for at, g := range groups {
		if bytes += g.GetBytes(); at == 0 || bytes > unitBytes {
			units = append(units, format.RowGroups{From: at})
			bytes = g.GetBytes()
		}
		units[len(units)-1].To = at + 1
	}
	if len(units) < 2 {
		return []format.RowGroups{{}}
	}
	return units
}

// take keeps the rows of a unit until they are needed.
func (p *pass) take(u *unit, rows *workerv1.ObjectRows) (done bool, err error) {
	if err := p.held.Hold(datasets.HeldPerByte * wire.MemoryOf(rows)); err != nil {
		return false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// a message is never twice as large as its rows in a table
	if p.bytes += int64(proto.Size(rows)); p.bytes > 2*p.limit {
		return false, fault.New(fault.ResourceExhausted, "TABLE_TOO_LARGE",
			"the objects have more than %s of rows; this coordinator takes at most %s in one table",
			text.Bytes(p.bytes), text.Bytes(p.limit))
	}
	u.rows, u.done = append(u.rows, rows.GetRows()...), rows.GetEnd() || rows.GetRestarted()
	u.last = &workerv1.ObjectRows{Columns: rows.GetColumns(), Restarted: rows.GetRestarted(), Survey: rows.GetSurvey(),
		Notices: rows.GetNotices(), Decimals: rows.GetDecimals(), Marks: rows.GetMarks()}
	p.changed.Notify()
	return u.done, nil
}

// fail records why reading ended.
func (p *pass) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
	p.changed.Notify()
}

// next waits for the next rows of a unit. It returns io.EOF after the last ones, or if the unit must be read again.
func (p *pass) next(u *unit) (*cleavev1.TableRows, error) {
	for {
		p.mu.Lock()
		changed := p.changed.Wait()
		switch {
		case u.last.GetRestarted(), len(u.rows) == 0 && u.done:
			p.mu.Unlock()
			return nil, io.EOF
		case len(u.rows) > 0:
			rows := u.rows[0]
			u.rows = slices.Delete(u.rows, 0, 1)
			p.mu.Unlock()
			return rows, nil
		case p.err != nil:
			p.mu.Unlock()
			return nil, p.err
		}
		p.mu.Unlock()
		<-changed
	}
}

// close stops the workers and releases the memory.
func (p *pass) close() {
	p.cancel()
	<-p.ended
	p.held.End()
}
