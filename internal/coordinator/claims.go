package coordinator

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
)

// Contents are stored once, however many owners upload them. Each owner has a claim, with the name that they gave it, and
// sees nothing of the others: not even that there are any. The content goes with the last claim.

// claimsOf are the claims on a content. One that an earlier version stored belongs to the owner without a name.
func claimsOf(record *statev1.ContentRecord) []*statev1.Claim {
	if claims := record.GetClaims(); len(claims) > 0 || record == nil {
		return claims
	}
	if t := record.GetTable(); t != nil {
		return []*statev1.Claim{{DisplayName: t.GetDisplayName(), CreateTime: t.GetCreateTime()}}
	}
	d := record.GetDataset()
	return []*statev1.Claim{{DisplayName: d.GetDisplayName(), CreateTime: d.GetCreateTime()}}
}

// claimOf is the claim of one owner; nil: there is none.
func claimOf(record *statev1.ContentRecord, owner string) *statev1.Claim {
	for _, claim := range claimsOf(record) {
		if claim.GetOwner() == owner {
			return claim
		}
	}
	return nil
}

// viewFor is a record as a caller sees it; nil: they do not see it. Who sees everything sees the first claim unless they have
// one of their own.
func viewFor(record *statev1.ContentRecord, caller identity.Caller) *statev1.ContentRecord {
	claims := claimsOf(record)
	claim := claimOf(record, caller.Name)
	if claim == nil && caller.Role == identity.Admin && len(claims) > 0 {
		claim = claims[0]
	}
	if claim == nil || !caller.Sees(claim.GetOwner()) {
		return nil
	}
	view := proto.CloneOf(record)
	if t := view.GetTable(); t != nil {
		t.DisplayName, t.CreateTime = claim.GetDisplayName(), claim.GetCreateTime()
	}
	if d := view.GetDataset(); d != nil {
		d.DisplayName, d.CreateTime = claim.GetDisplayName(), claim.GetCreateTime()
	}
	return view
}

// claim stores a new record, which has one claim; or, if there is a record of the content, adds the claim to that.
func (s *contentStore[V]) claim(ctx context.Context, id string, record *statev1.ContentRecord) (*statev1.ContentRecord, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	existing, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if existing == nil {
		err := s.put(id, record, store.Condition{Key: s.key(id)})
		if !errors.Is(err, store.ErrConflict) {
			return record, err
		}
		// This was committed, and the answer of the store was lost: nobody else writes records.
		if existing, err = s.find(ctx, id); err != nil || existing == nil {
			return nil, records.Unknown(errors.Join(err, s.notFound(id)))
		}
	}
	mine := record.GetClaims()[0]
	if claimOf(existing, mine.GetOwner()) != nil { // of an upload at the same time
		return existing, nil
	}
	existing.Claims = append(claimsOf(existing), mine)
	return existing, s.put(id, existing)
}

func (s *contentStore[V]) put(id string, record *statev1.ContentRecord, conditions ...store.Condition) error {
	encoded, err := proto.Marshal(record)
	if err != nil {
		return err
	}
	return s.commit(store.Txn{If: conditions, Put: []store.Entry{{Key: s.key(id), Value: encoded}}})
}

// deleteContent gives up the caller's claim on a value, unless a job of theirs that has not ended uses it; and deletes the
// value if nobody else has a claim. An admin without a claim takes those of all. It succeeds also when there is no such value, so that it can
// be repeated when its answer was lost.
func deleteContent[V any](ctx context.Context, c *Coordinator, s *contentStore[V], id string) error {
	if err := fault.Required(s.word+"_id", id); err != nil {
		return err
	}
	c.admission.Lock()
	defer c.admission.Unlock()
	s.changing.Lock()
	defer s.changing.Unlock()
	record, err := s.find(ctx, id)
	if err != nil {
		return err
	}
	caller := identity.FromContext(ctx)
	if viewFor(record, caller) == nil {
		return nil
	}
	left := slices.DeleteFunc(slices.Clone(claimsOf(record)), func(claim *statev1.Claim) bool { return claim.GetOwner() == caller.Name })
	if caller.Name == "" || len(left) == len(claimsOf(record)) {
		left = nil
	}
	user := c.findJob(func(j *job) bool { return s.usedBy(j, id) && (len(left) == 0 || j.owner == caller.Name) })
	if user != "" {
		return fault.New(fault.FailedPrecondition, s.reason("_IN_USE"),
			"job %s has not ended and uses this %s; wait for it or cancel it first", user, s.noun).With("job_id", user)
	}
	if len(left) > 0 {
		record.Claims = left
		return s.put(id, record)
	}
	return s.remove(c, id, record.GetBlob())
}

// deleteUnused deletes a value, with all claims on it, if it is still due and no job that has not ended uses it.
func deleteUnused[V any](ctx context.Context, c *Coordinator, s *contentStore[V], id string, due func(*statev1.ContentRecord) bool) (deleted bool, err error) {
	c.admission.Lock()
	defer c.admission.Unlock()
	s.changing.Lock()
	defer s.changing.Unlock()
	record, _, err := s.look(ctx, id)
	if record == nil || err != nil || !due(record) || c.findJob(func(j *job) bool { return s.usedBy(j, id) }) != "" {
		return false, err
	}
	return true, s.remove(c, id, record.GetBlob())
}

// remove deletes a value and its blob.
func (s *contentStore[V]) remove(c *Coordinator, id, blob string) error {
	txn := store.Txn{Delete: []string{s.key(id)}}
	if blob != "" {
		txn.Put = []store.Entry{{Key: records.GarbageKey(blob)}}
	}
	if err := s.commit(txn); err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.uses.touched, id)
	delete(s.shared, id)
	s.evict(s.byID[id])
	s.mu.Unlock()
	if blob == "" {
		return nil
	}
	// The value is gone. If this fails, the next coordinator does it.
	if err := c.deleteGarbage(c.storeCtx, blob); err != nil {
		c.log.Warn("the blob of a deleted "+s.noun+" is left until the next start", s.word, id, "error", err)
	}
	return nil
}
