package coordinator

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	"github.com/cleave-project/cleave/internal/store"
)

// sweepContent deletes the data sets or the tables that no job has and that were not used for a while.
func sweepContent[V any](ctx context.Context, r *retention, s *contentStore[V], inUse map[string]bool, now time.Time) error {
	if r.KeepDatasets == 0 && !r.exceeded() {
		return nil
	}
	type unused struct {
		id   string
		last time.Time
	}
	var all []unused
	err := eachEntry(ctx, s.state, s.prefix(), func(entry store.Entry) error {
		record := &statev1.ContentRecord{}
		if err := proto.Unmarshal(entry.Value, record); err != nil {
			return err
		}
		if id := entry.Key[len(s.prefix()):]; !inUse[id] {
			all = append(all, unused{id, s.lastUse(id, record)})
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b unused) int { return cmp.Or(a.last.Compare(b.last), cmp.Compare(a.id, b.id)) })
	for _, u := range all {
		keep, why := r.KeepDatasets, "no job has it, and it was not used for long"
		if r.exceeded() && (keep == 0 || keep > keepUnused) {
			keep, why = keepUnused, "no job has it, and the quota is exceeded"
		}
		if keep == 0 || now.Sub(u.last) < keep {
			continue
		}
		// A job may have come in the meantime, or a call that looks for it because one will.
		deleted, err := deleteUnused(ctx, r.c, s, u.id, func(record *statev1.ContentRecord) bool { return now.Sub(s.lastUse(u.id, record)) >= keep })
		if err != nil {
			return err
		}
		if !deleted {
			continue
		}
		r.c.log.Info("a "+s.noun+" is kept no longer", s.word, u.id, "used", u.last, "because", why)
	}
	return nil
}

// uses remembers when values were used, so that those are kept that are in use.
type uses struct {
	now     func() time.Time
	grain   time.Duration        // a use is made durable if the last durable one is older; 0: uses do not matter
	touched map[string]time.Time // since the start; guarded by mu of the store
}

// lastUse is when a value was used last.
func (s *contentStore[V]) lastUse(id string, record *statev1.ContentRecord) time.Time {
	s.mu.Lock()
	last := s.uses.touched[id]
	s.mu.Unlock()
	for _, at := range []*timestamppb.Timestamp{record.GetLastUse(), record.GetDataset().GetCreateTime(), record.GetTable().GetCreateTime()} {
		if at != nil && at.AsTime().After(last) {
			last = at.AsTime()
		}
	}
	return last
}

// touch notes that a value is used. It is made durable now and then; if that fails, it is not that important.
func (s *contentStore[V]) touch(id string, record *statev1.ContentRecord, revision int64) {
	if s.uses.grain == 0 {
		return
	}
	now := s.uses.now()
	stale := now.Sub(s.lastUse(id, record)) >= s.uses.grain
	s.mu.Lock()
	s.uses.touched[id] = now
	s.mu.Unlock()
	if !stale {
		return
	}
	changed := proto.CloneOf(record)
	changed.LastUse = timestamppb.New(now)
	if encoded, err := proto.Marshal(changed); err == nil {
		_ = s.commit(store.Txn{If: []store.Condition{{Key: s.key(id), Revision: revision}}, Put: []store.Entry{{Key: s.key(id), Value: encoded}}})
	}
}

// meteredBlobs counts the bytes of the blobs as they come and go.
type meteredBlobs struct {
	store.Blobs
	bytes *atomic.Int64
}

func (b meteredBlobs) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	err := b.Blobs.Put(ctx, name, write)
	if err == nil {
		if size, err := b.Size(ctx, name); err == nil {
			b.bytes.Add(size)
		}
	}
	return err
}

func (b meteredBlobs) Delete(ctx context.Context, name string) error {
	size, sizeErr := b.Size(ctx, name)
	err := b.Blobs.Delete(ctx, name)
	if err == nil && sizeErr == nil {
		b.bytes.Add(-size)
	}
	return err
}
