package datasets

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// Uploads limits the memory of uploads in progress, so that clients that send slowly or not at all cannot exhaust it.
type Uploads struct {
	memory       *queue.Share
	stall        time.Duration // how long one may be silent
	rate         *rate.Limiter // of all uploads; nil if there is no limit
	ratePerOwner int64         // 0 if there is no limit

	// maxPerOwner limits the uploads of one owner that are in progress, because a part takes memory before it can be
	// counted, and those that are kept.
	maxPerOwner int

	mu     sync.Mutex
	owners map[string]*owner // without those that are idle
	kept   []*KeptUpload     // uploads that broke off, the one first that broke off first
}

// owner has uploads in progress, or had some a short time ago.
type owner struct {
	uploads int
	rate    *rate.Limiter // nil if there is no limit
}

// idle reports whether an owner may be forgotten: a new one could send no more at once.
func (o *owner) idle() bool {
	return o.uploads == 0 && (o.rate == nil || o.rate.Tokens() >= float64(o.rate.Burst()))
}

// keptKey names an upload that broke off. Owners do not see each other's.
type keptKey struct{ owner, id string }

// KeptUpload is what has arrived of an upload that broke off.
type KeptUpload struct {
	Header proto.Message
	Value  any    // receives the parts
	Parts  uint32 // parts that have arrived, not counting the header

	key  keptKey
	held *queue.Reservation
	drop *time.Timer
}

// keepUploads is how long an upload that broke off is kept, unless others need its memory.
const keepUploads = 10 * time.Minute

// keepLarge is the same for an upload that holds memory shared with jobs; clients reconnect for about as long.
const keepLarge = time.Minute

// minKept is the least that a kept upload counts for: its receiver, its header, a timer.
const minKept = 4 << 10

// RetryUpload is how long a client should wait before it tries a refused upload again.
const RetryUpload = 2 * time.Second

// minUploads is the number of concurrent uploads that an owner may always have.
const minUploads = 16

// HeldPerByte is the memory that a byte of a decoded upload takes: lists grow by doubling.
const HeldPerByte = 2

// Upload is an upload in progress. It holds memory of Uploads until it ends.
type Upload struct {
	all   *Uploads
	owner string
	held  *queue.Reservation
	pace  func(bytes int) error // waits until so many bytes may arrive
}

// UploadLimits limits the uploads in progress.
type UploadLimits struct {
	Memory       *queue.Share  // its own is for all of them; a single one may take shared memory, too
	MessageBytes int           // the largest part of one
	Stall        time.Duration // how long one may be silent
	Rate         int64         // bytes a second of all of them; 0 means no limit
	RatePerOwner int64         // bytes a second of one owner's; 0 means no limit
}

// NewUploads returns the bookkeeping of uploads under the given limits.
func NewUploads(l UploadLimits) *Uploads {
	return &Uploads{
		memory: l.Memory, stall: l.Stall, rate: newRate(l.Rate), ratePerOwner: l.RatePerOwner,
		maxPerOwner: max(minUploads, int(l.Memory.Own()/int64(l.MessageBytes))), owners: map[string]*owner{},
	}
}

// newRate returns a limiter that allows bursts of one second, or nil if there is no limit.
func newRate(bytesPerSecond int64) *rate.Limiter {
	if bytesPerSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(bytesPerSecond), int(bytesPerSecond))
}

// Begin begins an upload of the caller. It fails if the caller has too many in progress. The caller calls End.
func (u *Uploads) Begin(ctx context.Context) (*Upload, error) {
	name := identity.FromContext(ctx).Name
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.owners, func(_ string, o *owner) bool { return o.idle() })
	if u.owners[name] == nil {
		u.owners[name] = &owner{rate: newRate(u.ratePerOwner)}
	}
	o := u.owners[name]
	if o.uploads >= u.maxPerOwner {
		return nil, fault.New(fault.ResourceExhausted, "TOO_MANY_UPLOADS",
			"you have %d uploads in progress, the most that this coordinator has memory for; "+
				"try again when some have ended", u.maxPerOwner).RetryIn(RetryUpload)
	}
	o.uploads++
	pace := func(bytes int) error {
		if err := waitFor(ctx, u.rate, bytes); err != nil {
			return err
		}
		return waitFor(ctx, o.rate, bytes)
	}
	return &Upload{all: u, owner: name, held: u.nothing(), pace: pace}, nil
}

// nothing returns a reservation of no bytes.
func (u *Uploads) nothing() *queue.Reservation {
	r, _ := u.memory.ReserveNow(0)
	return r
}

// Hold reserves memory for a part. It fails if all uploads together would hold too much. A single upload may also hold
// memory that jobs and calls leave.
func (u *Upload) Hold(bytes int64) error {
	u.all.mu.Lock()
	defer u.all.mu.Unlock()
	return u.hold(bytes)
}

// hold is Hold with the lock of all uploads held.
func (u *Upload) hold(bytes int64) error {
	memory := u.all.memory
	for memory.Held()+bytes > memory.Own() && len(u.all.kept) > 0 { // kept parts make room for uploads in progress
		u.all.discard(u.all.kept[0])
	}
	switch held := memory.Held(); {
	case held+bytes > memory.Own() && held > u.held.Bytes():
		return fault.New(fault.ResourceExhausted, "TOO_MANY_UPLOADS",
			"the uploads in progress use %s of the %s that this coordinator has for them; try again when "+
				"some have ended",
			text.Bytes(held), text.Bytes(memory.Own())).RetryIn(RetryUpload)
	case held+bytes > memory.Max():
		return fault.New(fault.ResourceExhausted, "COORDINATOR_TOO_SMALL",
			"the upload needs more than the %s of memory that this coordinator has for uploads and jobs; start it "+
				"with more --memory", text.Bytes(memory.Max()))
	case !u.held.Grow(bytes):
		return fault.New(fault.ResourceExhausted, "TOO_MANY_UPLOADS",
			"the upload needs more than the %s that this coordinator has for uploads, and jobs and calls leave too "+
				"little; try again when some have ended",
			text.Bytes(memory.Own())).RetryIn(RetryUpload)
	}
	return nil
}

// End releases the memory of the upload.
func (u *Upload) End() {
	u.all.mu.Lock()
	defer u.all.mu.Unlock()
	u.held.Release()
	u.all.owners[u.owner].uploads--
}

// Keep keeps what has arrived of an upload that broke off, with its memory, so that another call can continue it. Of
// several attempts at one upload, it keeps the one with the most parts: broken connections are noticed in any order. It
// keeps nothing if as many uploads of the owner are kept as may be in progress.
func (u *Upload) Keep(id string, kept KeptUpload) {
	key := keptKey{u.owner, id}
	u.all.mu.Lock()
	defer u.all.mu.Unlock()
	if before := u.all.find(key); before != nil {
		if before.Parts > kept.Parts {
			return
		}
		u.all.discard(before)
	}
	if u.all.keptBy(u.owner) >= u.all.maxPerOwner || u.hold(max(0, minKept-u.held.Bytes())) != nil {
		return
	}
	kept.key = key
	kept.held = u.held
	u.held = u.all.nothing()
	keep := keepUploads
	if u.all.memory.Held() > u.all.memory.Own() { // jobs may wait for the memory
		keep = keepLarge
	}
	kept.drop = time.AfterFunc(keep, func() {
		u.all.mu.Lock()
		defer u.all.mu.Unlock()
		if slices.Contains(u.all.kept, &kept) {
			u.all.discard(&kept)
		}
	})
	u.all.kept = append(u.all.kept, &kept)
}

// Resume takes over what was kept of an upload, if at least the given number of parts were. Otherwise it returns nil,
// and what was kept stays for a call that asks for less. Resuming with no parts starts over: it frees what was kept.
func (u *Upload) Resume(id string, parts uint32) *KeptUpload {
	u.all.mu.Lock()
	defer u.all.mu.Unlock()
	kept := u.all.find(keptKey{u.owner, id})
	switch {
	case kept == nil || kept.Parts < parts:
		return nil
	case parts == 0:
		u.all.discard(kept)
		return nil
	}
	u.all.remove(kept)
	u.held.Join(kept.held)
	return kept
}

// Arrived returns how many parts were kept of an upload of the caller, and whether any upload with the id was.
func (u *Uploads) Arrived(ctx context.Context, id string) (parts uint32, found bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if kept := u.find(keptKey{identity.FromContext(ctx).Name, id}); kept != nil {
		return kept.Parts, true
	}
	return 0, false
}

// find returns a kept upload, or nil if there is none. The caller holds u.mu.
func (u *Uploads) find(key keptKey) *KeptUpload {
	if at := slices.IndexFunc(u.kept, func(k *KeptUpload) bool { return k.key == key }); at >= 0 {
		return u.kept[at]
	}
	return nil
}

// keptBy returns how many uploads of an owner are kept. The caller holds u.mu.
func (u *Uploads) keptBy(owner string) (count int) {
	for _, k := range u.kept {
		if k.key.owner == owner {
			count++
		}
	}
	return count
}

// remove removes a kept upload, which still holds its memory. The caller holds u.mu.
func (u *Uploads) remove(kept *KeptUpload) {
	kept.drop.Stop()
	u.kept = slices.DeleteFunc(u.kept, func(k *KeptUpload) bool { return k == kept })
}

// discard frees a kept upload. The caller holds u.mu.
func (u *Uploads) discard(kept *KeptUpload) {
	u.remove(kept)
	kept.held.Release()
}

// Close discards the uploads that broke off.
func (u *Uploads) Close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.kept) > 0 {
		u.discard(u.kept[0])
	}
}

// Receive calls take with the parts of an upload until its stream ends with io.EOF. If Receive returns an error, the
// handler of the stream must return: that ends the goroutine that reads.
func Receive[P proto.Message](u *Upload, receive func() (P, error), take func(P) error) error {
	type received struct {
		part P
		err  error
	}
	parts := make(chan received)
	left := make(chan struct{})
	defer close(left)
	go func() {
		for {
			part, err := receive()
			select {
			case parts <- received{part, err}:
			case <-left:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	silence := time.NewTimer(u.all.stall)
	defer silence.Stop()
	for {
		silence.Reset(u.all.stall)
		select {
		case next := <-parts:
			if errors.Is(next.err, io.EOF) {
				return nil
			}
			if next.err != nil {
				return next.err
			}
			if err := u.Hold(HeldPerByte * wire.MemoryOf(next.part)); err != nil {
				return err
			}
			if err := u.pace(proto.Size(next.part)); err != nil { // the next part is read meanwhile, and no more
				return err
			}
			if err := take(next.part); err != nil {
				return err
			}
		case <-silence.C:
			return fault.New(fault.DeadlineExceeded, "UPLOAD_STALLED",
				"the upload was aborted because it sent nothing for %v; send it again, or resume it if it has an "+
					"upload_id", u.all.stall)
		}
	}
}

// waitFor waits until a limiter, if there is one, allows the given number of bytes, which may exceed its burst.
func waitFor(ctx context.Context, l *rate.Limiter, bytes int) error {
	for l != nil && bytes > 0 {
		portion := min(bytes, l.Burst())
		if err := l.WaitN(ctx, portion); err != nil {
			return err
		}
		bytes -= portion
	}
	return nil
}
