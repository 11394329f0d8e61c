package imports

import (
	"testing"

	"pgregory.net/rapid"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/coordinator/content"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
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
	uploads := content.NewUploads(content.UploadLimits{Bytes: 1 << 20, MessageBytes: 1 << 10})
	held, err := uploads.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.End()
	p := &pass{held: held, limit: 1000, changed: make(chan struct{})}
	rows := &workerv1.ObjectRows{Notices: []string{string(make([]byte, 900))}}
	for range 2 {
		if done, err := p.take(&unit{}, rows); done || err != nil {
			t.Fatalf("%v, %v", done, err)
		}
	}
	if _, err := p.take(&unit{}, rows); !fault.Is(err, "TABLE_TOO_LARGE") {
		t.Errorf("too many rows: %v", err)
	}
	if uploads.Reserved() < 3*2*900 {
		t.Errorf("%d bytes are reserved", uploads.Reserved())
	}
}
