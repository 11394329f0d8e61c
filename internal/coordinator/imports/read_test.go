package imports

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/objects/buckets"
	"github.com/cleave-project/cleave/internal/wire"
)

// The units of a file have all of its row groups, each once and in order, and none is larger than it needs to be.
func TestUnitsHaveAllRowGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var groups []*workerv1.RowGroup
		for range rapid.IntRange(0, 20).Draw(t, "groups") {
			groups = append(groups, &workerv1.RowGroup{Bytes: rapid.Uint64Range(0, 2*unitBytes).Draw(t, "bytes")})
		}
		units := groupsOf(groups)
		if len(units) == 1 {
			if units[0] != (format.RowGroups{}) {
				t.Fatalf("a single unit has the groups %v", units[0])
			}
			total := uint64(0)
			for _, g := range groups {
				total += g.GetBytes()
			}
			if len(groups) > 1 && total > unitBytes {
				t.Fatalf("%d bytes are one unit", total)
			}
			return
		}
		next := 0
		for _, u := range units {
			if u.From != next || u.To <= u.From {
				t.Fatalf("units %v", units)
			}
			bytes := uint64(0)
			for _, g := range groups[u.From:u.To] {
				bytes += g.GetBytes()
			}
			if bytes > unitBytes && u.To-u.From > 1 {
				t.Fatalf("unit %v has %d bytes", u, bytes)
			}
			next = u.To
		}
		if next != len(groups) {
			t.Fatalf("units %v of %d groups", units, len(groups))
		}
	})
}

// What workers send is limited before a table is made of it.
func TestRowsThatArriveAreLimited(t *testing.T) {
	memory := queue.NewBudget(0).Share(1 << 20)
	uploads := datasets.NewUploads(datasets.UploadLimits{Memory: memory, MessageBytes: 1 << 10})
	held, err := uploads.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.End()
	p := &pass{held: held, limit: 1000}
	rows := &workerv1.ObjectRows{Notices: []string{string(make([]byte, 900))}}
	for range 2 {
		if done, err := p.take(&unit{}, rows); done || err != nil {
			t.Fatalf("%v, %v", done, err)
		}
	}
	if _, err := p.take(&unit{}, rows); !fault.Is(err, "TABLE_TOO_LARGE") {
		t.Errorf("too many rows: %v", err)
	}
	if memory.Held() < 3*2*900 {
		t.Errorf("%d bytes are reserved", memory.Held())
	}
}

// lateTypes is a fleet that reads objects whose last rows show that the first ones were misread.
type lateTypes struct {
	*reader
	calls int
}

func (l *lateTypes) ReadObjects(_ context.Context, units []*fleet.ObjectUnit, _ func(int)) error {
	l.calls++
	for at, u := range units {
		answer := &workerv1.ObjectRows{Columns: wire.ColumnsProto([]table.Column{{Name: "x"}}), End: l.calls > 1}
		column := table.Column{Name: "x", Type: table.Number, Numbers: []float64{1.5}}
		switch {
		case l.calls > 1 && l.surveys[at] == nil:
			answer.Columns = wire.ColumnsProto([]table.Column{column})
			answer.End = false
			answer.Restarted = true
			answer.Survey = &workerv1.TextSurvey{Seen: []uint32{1}}
		case l.calls > 1:
			answer.Columns = wire.ColumnsProto([]table.Column{column})
			rows, err := table.New([]table.Column{column})
			if err == nil {
				err = wire.EachPart(rows, func(part *cleavev1.TableRows) error {
					answer.Rows = append(answer.Rows, part)
					return nil
				})
			}
			if err != nil {
				return err
			}
		}
		if _, err := u.Take(answer); err != nil {
			return err
		}
	}
	return nil
}

// However many objects were misread, workers read all of them a second time, and not more often.
func TestMisreadObjectsAreReadTwice(t *testing.T) {
	for _, count := range []int{1, 5} {
		sources := make([]source, count)
		for at := range sources {
			sources[at].Object = buckets.Object{URI: "s3://bucket/" + string(rune('a'+at)) + ".csv"}
		}
		uploads := datasets.NewUploads(datasets.UploadLimits{Memory: queue.NewBudget(0).Share(1 << 20),
			MessageBytes: 1 << 10})
		r := &reader{Importer: &Importer{d: Dependencies{Uploads: uploads, MaxBytes: 1 << 20}},
			ctx: t.Context(), sources: sources,
			done: &progress{}}
		workers := &lateTypes{reader: r}
		r.d.Fleet = workers
		got, _, err := r.table(format.TableOptions{})
		r.close()
		if err != nil || got.Rows() != count || got.Columns[0].Type != table.Number {
			t.Errorf("%d objects: %v, %v", count, got, err)
		}
		if workers.calls != 3 { // the first call describes the objects
			t.Errorf("%d objects: workers were asked %d times", count, workers.calls)
		}
	}
}
