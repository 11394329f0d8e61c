package worker

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/objects/ranged"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/wire/reading"
)

const (
	// readingBytes is the memory that reading an object takes: what is kept of it, and the rows that are parsed at a
	// time.
	readingBytes = ranged.CacheBytes + 32<<20
	// answerBytes is the size from which rows are returned.
	answerBytes = 4 << 20
)

// objectReading is an object that a job reads, from command to command. Only the job's goroutine uses it.
type objectReading struct {
	of     *workerv1.ReadObject // identifies it; see identity
	file   *ranged.File
	cancel context.CancelFunc
	reader *format.ObjectReader
	rows   uint64                // that were returned or skipped
	parts  []*cleavev1.TableRows // that are parsed and not returned
}

// readObject returns the next rows of an object.
func (j *job) readObject(c *workerv1.Command, m *workerv1.ReadObject) (*workerv1.Done, error) {
	found, err := j.nextRows(m)
	if err != nil || found.GetRestarted() || found.GetEnd() {
		j.closeObject()
	}
	if err != nil {
		return nil, err
	}
	data, err := proto.Marshal(found)
	if err != nil {
		return nil, err
	}
	payload, err := j.resultPayload(c, data)
	return &workerv1.Done{Values: payload}, err
}

// nextRows reads the rows that a command asks for.
func (j *job) nextRows(m *workerv1.ReadObject) (*workerv1.ObjectRows, error) {
	if err := j.openObject(m); err != nil {
		return nil, err
	}
	r, found := j.reading, &workerv1.ObjectRows{}
	switch err := r.read(m, found); {
	case errors.Is(err, format.ErrRestarted):
		found.Rows, found.Restarted = nil, true
	case errors.Is(err, io.EOF):
		found.End = true
	case err != nil:
		return nil, err
	}
	found.Columns = wire.ColumnsProto(r.reader.Columns())
	found.Survey = reading.SurveyProto(r.reader.Survey())
	found.Notices = r.reader.Notices()
	found.Decimals = r.reader.Decimals()
	found.Marks = r.reader.Marks()
	if m.GetDescribe() {
		for _, group := range r.reader.Groups() {
			found.Groups = append(found.Groups, &workerv1.RowGroup{Rows: uint64(group.Rows),
				Bytes: uint64(group.Bytes)})
		}
	}
	return found, nil
}

// identity returns what two commands about the same rows have in common.
func identity(m *workerv1.ReadObject) *workerv1.ReadObject {
	m = proto.CloneOf(m)
	m.Url, m.Rows, m.Describe = "", 0, false
	return m
}

// openObject opens the object of a command at its first row, unless it is open and continues where the command does.
func (j *job) openObject(m *workerv1.ReadObject) error {
	of := identity(m)
	if r := j.reading; r != nil && r.rows == m.GetRows() && proto.Equal(r.of, of) {
		r.file.SetURL(m.GetUrl())
		return nil
	}
	j.closeObject()
	options, err := reading.Options(m.GetReading())
	if err != nil {
		return err
	}
	options.Known = reading.Survey(m.GetSurvey())
	if err := j.reserve(readingBytes, "reading an object"); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(j.ctx)
	r := &objectReading{of: of, cancel: cancel}
	j.reading = r
	object := ranged.Object{URI: m.GetUri(), URL: m.GetUrl(), Size: int64(m.GetBytes()), ETag: m.GetEtag()}
	r.file = ranged.Open(ctx, j.worker.objects, object, func(int) { j.pieces.Add(1) })
	var groups *format.RowGroups
	if m.GetGroups() > 0 {
		groups = &format.RowGroups{From: int(m.GetFirstGroup()), To: int(m.GetFirstGroup() + m.GetGroups())}
	}
	r.reader, err = format.OpenObject(format.Object{Name: m.GetUri(), ReaderAt: r.file, Size: int64(m.GetBytes())},
		groups, options)
	if err != nil {
		j.closeObject()
		return err
	}
	if len(r.reader.Groups()) > 0 {
		r.file.SetStreams(len(r.reader.Columns()))
	}
	return nil
}

// closeObject closes the object that is open, if there is one.
func (j *job) closeObject() {
	r := j.reading
	if r == nil {
		return
	}
	j.reading = nil
	r.cancel()
	if r.reader != nil {
		r.reader.Close()
	}
	j.free(readingBytes)
}

// read adds the rows that a command asks for. It returns io.EOF if they are the last ones.
func (r *objectReading) read(m *workerv1.ReadObject, into *workerv1.ObjectRows) error {
	if m.GetDescribe() {
		return nil
	}
	for r.rows < m.GetRows() { // another worker returned them
		if err := r.parse(m.GetRows() - r.rows); err != nil {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("worker: %s has %d rows where another worker found %d", m.GetUri(),
					r.rows, m.GetRows())
			}
			return err
		}
	}
	for bytes := 0; bytes < answerBytes; {
		if len(r.parts) == 0 {
			if err := r.parse(0); err != nil {
				return err
			}
			continue
		}
		part := r.parts[0]
		r.parts = r.parts[1:]
		r.rows += uint64(wire.RowsIn(part))
		bytes += proto.Size(part)
		into.Rows = append(into.Rows, part)
	}
	return nil
}

// parse parses the next rows and skips at most so many of them.
func (r *objectReading) parse(skip uint64) error {
	t, err := r.reader.Next()
	if err != nil {
		return err
	}
	skip = min(skip, uint64(t.Rows()))
	r.rows += skip
	if t = after(t, int(skip)); t.Rows() == 0 {
		return nil
	}
	return wire.EachPart(t, func(part *cleavev1.TableRows) error {
		r.parts = append(r.parts, part)
		return nil
	})
}

// after returns the rows of a table without the first ones.
func after(t *table.Table, first int) *table.Table {
	if first == 0 {
		return t
	}
	rows := make([]int, t.Rows()-first)
	for at := range rows {
		rows[at] = first + at
	}
	return t.Take(rows)
}
