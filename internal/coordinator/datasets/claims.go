package datasets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
)

// Each owner of a value has a claim on it, with the name that they gave it. Owners do not see the claims of others,
// nor that there are any. Every record has a claim: the value is deleted with its last one.

// claimOf returns the claim of an owner, or nil if there is none.
func claimOf(record *statev1.ContentRecord, owner string) *statev1.Claim {
	for _, claim := range record.GetClaims() {
		if claim.GetOwner() == owner {
			return claim
		}
	}
	return nil
}

// claimFor returns the claim by which a caller sees a record, or nil if the caller may not see it.
func claimFor(record *statev1.ContentRecord, caller identity.Caller) *statev1.Claim {
	claim := claimOf(record, caller.Name)
	if claim == nil && caller.Role == identity.Admin && len(record.GetClaims()) > 0 {
		claim = record.GetClaims()[0]
	}
	if claim == nil || !caller.Sees(claim.GetOwner()) {
		return nil
	}
	return claim
}

// viewFor returns a record as a caller sees it, or nil if the caller may not see it. An admin without a claim sees
// the first claim.
func viewFor(record *statev1.ContentRecord, caller identity.Caller) *statev1.ContentRecord {
	claim := claimFor(record, caller)
	if claim == nil {
		return nil
	}
	view := proto.CloneOf(record)
	if t := view.GetTable(); t != nil {
		t.DisplayName = claim.GetDisplayName()
		t.CreateTime = claim.GetCreateTime()
	}
	if d := view.GetDataset(); d != nil {
		d.DisplayName = claim.GetDisplayName()
		d.CreateTime = claim.GetCreateTime()
	}
	return view
}

// lock locks recordLock: it waits until no other record is being changed. A change made through Writer.Detach waits
// under its caller's context: if the caller leaves before the lock is free, nothing is changed.
func (s *Store[V]) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case s.recordLock <- struct{}{}:
		return func() { <-s.recordLock }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// claimLocked stores a new record, which has one claim, and the sources of that. If there is a record of the value
// already, it adds the claim to that.
func (s *Store[V]) claimLocked(ctx context.Context, id string, record *statev1.ContentRecord,
	sources []*cleavev1.SourceObject) (*statev1.ContentRecord, error) {
	existing, err := s.Touch(ctx, id)
	if err != nil {
		return nil, err
	}
	mine := record.GetClaims()[0]
	puts, err := sourceEntries(id, mine.GetOwner(), sources)
	if err != nil {
		return nil, err
	}
	if existing == nil {
		err := s.putLocked(id, record, store.Txn{
			If: []store.Condition{{Key: s.kind.key(id)}}, Put: puts,
			Delete: []string{records.GarbageKey(record.GetBlob())},
		})
		if !errors.Is(err, store.ErrConflict) {
			return record, err
		}
		// This was committed, and the answer of the store was lost: nobody else writes records.
		if existing, err = s.Touch(ctx, id); err != nil || existing == nil {
			return nil, records.Undecided(errors.Join(err, s.kind.notFound(id)))
		}
	}
	if claimOf(existing, mine.GetOwner()) != nil { // added by a concurrent upload
		if len(puts) > 0 {
			err = s.cfg.Writer.Commit(store.Txn{Put: puts})
		}
		return existing, err
	}
	existing.Claims = append(existing.GetClaims(), mine)
	return existing, s.putLocked(id, existing, store.Txn{Put: puts})
}

// sourceEntries returns the entry that stores the objects from which an owner imported a value, if there are any.
func sourceEntries(id, owner string, sources []*cleavev1.SourceObject) ([]store.Entry, error) {
	if len(sources) == 0 {
		return nil, nil
	}
	value, err := proto.Marshal(&statev1.Claim{Sources: sources})
	return []store.Entry{{Key: records.SourcesKey(id, owner), Value: value}}, err
}

// setSources replaces the list of objects that an owner imported a value from.
func (s *Store[V]) setSources(change records.Change, id, owner string, sources []*cleavev1.SourceObject) error {
	unlock, err := s.lock(change.Caller())
	if err != nil {
		return err
	}
	defer unlock()
	record, err := s.Touch(change, id)
	if err == nil && claimOf(record, owner) == nil { // it was just deleted
		err = s.kind.notFound(id)
	}
	if err != nil {
		return err
	}
	puts, err := sourceEntries(id, owner, sources)
	if err != nil {
		return err
	}
	return s.cfg.Writer.Commit(store.Txn{Put: puts})
}

// putLocked stores a record as part of a transaction.
func (s *Store[V]) putLocked(id string, record *statev1.ContentRecord, txn store.Txn) error {
	encoded, err := proto.Marshal(record)
	if err != nil {
		return err
	}
	txn.Put = append(txn.Put, store.Entry{Key: s.kind.key(id), Value: encoded})
	return s.cfg.Writer.Commit(txn)
}

// Delete removes the caller's claim on a value, and the value if nobody else has a claim. An admin without a claim
// removes the claims of all. It fails if an unfinished job of the caller uses the value. It succeeds if there is no
// such value, so that a client can repeat it.
func (s *Store[V]) Delete(ctx context.Context, id string) error {
	if err := fault.Required(s.kind.word+"_id", id); err != nil {
		return err
	}
	return s.cfg.Writer.Detach(ctx, func(change records.Change) error { return s.deleteClaim(change, id) })
}

func (s *Store[V]) deleteClaim(change records.Change, id string) error {
	release, err := s.cfg.Users.StopAdmission(change.Caller())
	if err != nil {
		return err
	}
	defer release()
	unlock, err := s.lock(change.Caller())
	if err != nil {
		return err
	}
	defer unlock()
	record, err := s.Touch(change, id)
	if err != nil {
		return err
	}
	caller := identity.FromContext(change)
	if viewFor(record, caller) == nil {
		return nil
	}
	left := slices.DeleteFunc(slices.Clone(record.GetClaims()), func(claim *statev1.Claim) bool {
		return claim.GetOwner() == caller.Name
	})
	if caller.Name == "" || len(left) == len(record.GetClaims()) {
		left = nil
	}
	var owner *string // all
	if len(left) > 0 {
		owner = &caller.Name
	}
	if user := s.cfg.Users.JobUsing(id, owner); user != "" {
		return fault.New(fault.FailedPrecondition, s.kind.reason("_IN_USE"),
			"job %s has not ended and uses this %s; wait for it or cancel it first", user, s.kind.noun).With(
			"job_id", user)
	}
	if len(left) > 0 {
		record.Claims = left
		return s.putLocked(id, record, store.Txn{Urgent: true, Delete: []string{records.SourcesKey(id, caller.Name)}})
	}
	if err := s.removeLocked(id, record); !errors.Is(err, errBlobLeft) {
		return err
	}
	return nil
}

// DeleteUnused deletes a value with all claims on it, and logs why. It spares a value that was used within an age, or
// that an unfinished job uses: that may have changed since the caller looked.
func (s *Store[V]) DeleteUnused(ctx context.Context, id string, now time.Time, age time.Duration, why string) error {
	release, err := s.cfg.Users.StopAdmission(ctx)
	if err != nil {
		return err
	}
	defer release()
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	record, _, err := s.lookup(ctx, id)
	if record == nil || err != nil || lastUse(record).After(s.due(now, age)) || s.cfg.Users.JobUsing(id, nil) != "" {
		return err
	}
	if err := s.removeLocked(id, record); err != nil {
		return err
	}
	s.cfg.Logger.Info("deleted an unused "+s.kind.noun, s.kind.word, id, "used", lastUse(record), "because", why)
	return nil
}

// removeLocked deletes a value and its blob. If only the blob is left, it returns errBlobLeft: the value is gone, and
// the next leader deletes the blob, whose garbage key is stored.
func (s *Store[V]) removeLocked(id string, record *statev1.ContentRecord) error {
	txn := store.Txn{Delete: []string{s.kind.key(id)}, Urgent: true}
	blob := record.GetBlob()
	for _, claim := range record.GetClaims() {
		if record.GetTable() != nil { // data sets are not imported
			txn.Delete = append(txn.Delete, records.SourcesKey(id, claim.GetOwner()))
		}
	}
	if most := records.MaxTxnChanges; len(txn.Delete) > most {
		if err := s.cfg.Writer.DeleteKeys(txn.Delete[most:]); err != nil {
			return err
		}
		txn.Delete = txn.Delete[:most]
	}
	if blob != "" {
		txn.Put = []store.Entry{{Key: records.GarbageKey(blob)}}
	}
	if err := s.cfg.Writer.Commit(txn); err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.shared, id)
	s.mu.Unlock()
	s.cache.Drop(id)
	if blob == "" {
		return nil
	}
	if err := s.cfg.DeleteBlob(blob); err != nil {
		s.cfg.Logger.Warn("the blob of a deleted "+s.kind.noun+" is left until the next start", s.kind.word, id,
			"error", err)
		return fmt.Errorf("%w: %w", errBlobLeft, err)
	}
	return nil
}

// errBlobLeft ends a sweep: deleting more values would free nothing.
var errBlobLeft = errors.New("the blob of a deleted value cannot be deleted")
