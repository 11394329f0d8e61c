package coordinator

import (
	"context"
	"io"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// tableStore stores tables. A job reads its tables when it is created and again when it runs.
type tableStore struct{ *contentStore[*table.Table] }

func newTableStore(state store.State, blobs store.Blobs, budget int64, commit func(store.Txn) error, uses uses) tableStore {
	return tableStore{newContentStore(state, blobs, budget, commit, uses, contentKind[*table.Table]{
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
		usedBy: func(j *job, id string) bool { return slices.Contains(j.tableIDs, id) },
	})}
}

// finder finds tables for one call.
func (s tableStore) finder(ctx context.Context) wire.Tables {
	return func(id string) (*table.Table, error) { return s.load(ctx, id) }
}
