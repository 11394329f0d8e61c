package datasets

import (
	"context"
	"errors"
	"io"

	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// Tables stores tables. A job reads its tables when it is created and again when it runs.
type Tables struct{ *Store[*table.Table] }

// NewTables returns a store of tables.
func NewTables(cfg Config) Tables {
	return Tables{newStore(cfg, kind[*table.Table]{
		noun: "table", word: "table",
		id:     func(t *table.Table) (string, error) { return t.ID(), nil },
		size:   (*table.Table).EncodedSize,
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
	record, err := t.add(ctx, &statev1.Claim{DisplayName: name, CreateTime: now}, added, sources)
	if err == nil {
		record.Table.Sources = sources
	}
	return record, err
}

// Get returns the record of a table of the caller, with the objects that it was imported from.
func (t Tables) Get(ctx context.Context, id string) (*statev1.ContentRecord, error) {
	record, err := t.Store.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	entry, err := t.cfg.Writer.State.Get(ctx,
		records.SourcesKey(id, claimFor(record, identity.FromContext(ctx)).GetOwner()))
	if errors.Is(err, store.ErrNotFound) {
		return record, nil // it was uploaded
	}
	if err != nil {
		return nil, err
	}
	claim, err := records.Decode[statev1.Claim](entry)
	record.Table.Sources = claim.GetSources()
	return record, err
}

// Finder returns a function that loads the tables of one call.
func (t Tables) Finder(ctx context.Context) wire.Tables {
	return func(id string) (*table.Table, error) { return t.Load(ctx, id) }
}
