package content

import (
	"context"
	"io"

	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/wire"
)

// Tables stores tables. A job reads its tables when it is created and again when it runs.
type Tables struct{ *Store[*table.Table] }

// NewTables returns a store of tables.
func NewTables(cfg Config) Tables {
	return Tables{newStore(cfg, kind[*table.Table]{
		noun: "table", word: "table",
		ID:     func(t *table.Table) (string, error) { return t.ID(), nil },
		Size:   (*table.Table).EncodedSize,
		encode: func(w io.Writer, t *table.Table) error { return t.Encode(w) },
		decode: func(r io.Reader, record *statev1.ContentRecord) (*table.Table, error) {
			return table.Decode(r, int64(record.GetTable().GetBytes()))
		},
		describe: func(t *table.Table, id, name string, now *timestamppb.Timestamp) *statev1.ContentRecord {
			p := wire.TableProto(t)
			p.TableId, p.DisplayName, p.CreateTime = id, name, now
			return &statev1.ContentRecord{Table: p}
		},
		notFound: func(id string) error {
			_, err := wire.NoTables(id)
			return err
		},
		weaken: Weakly[table.Table],
	})}
}

// AddFrom is Add for a table that was imported from objects. It records the objects, replacing those from which the
// caller imported the same table before.
func (t Tables) AddFrom(
	ctx context.Context, name string, added *table.Table, sources []*cleavev1.SourceObject, now *timestamppb.Timestamp,
) (*statev1.ContentRecord, error) {
	return t.add(ctx, &statev1.Claim{DisplayName: name, CreateTime: now, Sources: sources}, added)
}

// Finder returns a function that loads the tables of one call.
func (t Tables) Finder(ctx context.Context) wire.Tables {
	return func(id string) (*table.Table, error) { return t.Load(ctx, id) }
}
