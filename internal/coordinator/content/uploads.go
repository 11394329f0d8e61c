package content

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/text"
)

// Uploads limits the memory of uploads in progress, so that clients that send slowly or not at all cannot exhaust it.
type Uploads struct {
	limit int64         // of the memory of all uploads in progress
	stall time.Duration // how long one may be silent
	rates *uploadRates
	lend  func(bytes int64) bool // see UploadLimits

	// maxPerOwner limits the concurrent uploads of one owner, because a part takes memory before it can be counted.
	maxPerOwner int

	mu         sync.Mutex
	used       int64
	inProgress map[string]int          // by owner
	kept       map[keptKey]*KeptUpload // uploads that broke off
	keeps      int                     // how many were kept since the start
}

// keptKey names an upload that broke off. Owners do not see each other's.
type keptKey struct{ owner, id string }

// KeptUpload is what has arrived of an upload that broke off.
type KeptUpload struct {
	Header proto.Message
	Value  any    // receives the parts
	Parts  uint32 // parts that have arrived, not counting the header

	number int // in the order in which uploads broke off
	held   int64
	drop   *time.Timer
}

// keepUploads is how long an upload that broke off is kept, unless others need its memory.
const keepUploads = 10 * time.Minute

// keepLent is the same for an upload that holds memory lent by the jobs; clients reconnect for about as long.
const keepLent = time.Minute

// RetryUpload is the number of seconds after which a refused upload may be tried again.
const RetryUpload = 2

// minUploads is the number of concurrent uploads that an owner may always have.
const minUploads = 16

// HeldPerByte is the memory that a byte of an upload takes: lists grow by doubling.
const HeldPerByte = 2

// Upload is an upload in progress. It holds memory of Uploads until it ends.
type Upload struct {
	all       *Uploads
	owner     string
	held      int64
	pace      func(bytes int) error
	endPacing func()
}

// UploadLimits limits the uploads in progress.
type UploadLimits struct {
	Bytes        int64         // of memory, for all of them
	MessageBytes int           // the largest part of one
	Stall        time.Duration // how long one may be silent
	Rate         int64         // bytes a second of all of them; 0 means no limit
	RatePerOwner int64         // bytes a second of one owner's; 0 means no limit

	// Lend sets how many bytes beyond Bytes a single upload takes, and reports whether there are as many. Fewer than
	// before are always granted. nil means that there are any number.
	Lend func(bytes int64) bool
}

// NewUploads returns the bookkeeping of uploads under the given limits.
func NewUploads(l UploadLimits) *Uploads {
	if l.Lend == nil {
		l.Lend = func(int64) bool { return true }
	}
	return &Uploads{
		limit: l.Bytes, stall: l.Stall, rates: newUploadRates(l), lend: l.Lend,
		maxPerOwner: max(minUploads, int(l.Bytes/int64(l.MessageBytes))), inProgress: map[string]int{}, kept: map[keptKey]*KeptUpload{},
	}
}

// Begin begins an upload of the caller. It fails if the caller has too many in progress. The caller calls End.
func (u *Uploads) Begin(ctx context.Context) (*Upload, error) {
	owner := identity.FromContext(ctx).Name
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.inProgress[owner] >= u.maxPerOwner {
		return nil, fault.New(fault.ResourceExhausted, "TOO_MANY_UPLOADS",
			"you have %d uploads in progress, the most that this coordinator has memory for; "+
				"try again when some have ended", u.maxPerOwner).RetryIn(RetryUpload)
	}
	u.inProgress[owner]++
	pace, end := u.rates.begin(ctx)
	return &Upload{all: u, owner: owner, pace: pace, endPacing: end}, nil
}

// Hold reserves memory for a part. It fails if all uploads together would hold too much. A single upload may also hold
// memory that is lent to it.
func (u *Upload) Hold(bytes int64) error {
	u.all.mu.Lock()
	defer u.all.mu.Unlock()
	for u.all.used+bytes > u.all.limit && len(u.all.kept) > 0 { // kept parts make room for uploads in progress
		u.all.discardOldest()
	}
	over, others := u.all.used+bytes-u.all.limit, u.all.used-u.held
	if over > 0 && others == 0 && !u.all.lend(over) {
		return fault.New(fault.ResourceExhausted, "TOO_MANY_UPLOADS",
			"the upload needs more than the %s that this coordinator has for uploads, and running jobs leave too little; try again when some have ended",
			text.Bytes(u.all.limit)).RetryIn(RetryUpload)
	}
	if over > 0 && others > 0 {
		return fault.New(fault.ResourceExhausted, "TOO_MANY_UPLOADS",
			"the uploads in progress use %s of the %s that this coordinator has for them; try again when some have ended",
			text.Bytes(u.all.used), text.Bytes(u.all.limit)).RetryIn(RetryUpload)
	}
	u.held += bytes
	u.all.used += bytes
	return nil
}

// End releases the memory of the upload.
func (u *Upload) End() {
	u.endPacing()
	u.all.mu.Lock()
	defer u.all.mu.Unlock()
	u.all.free(u.held)
	u.held = 0
	if u.all.inProgress[u.owner]--; u.all.inProgress[u.owner] == 0 {
		delete(u.all.inProgress, u.owner)
	}
}

// Keep keeps what has arrived of an upload that broke off, with its memory, so that another call can continue it. Of
// several attempts at one upload, it keeps the one with the most parts: broken connections are noticed in any order.
func (u *Upload) Keep(id string, kept KeptUpload) {
	key := keptKey{u.owner, id}
	u.all.mu.Lock()
	defer u.all.mu.Unlock()
	if before := u.all.kept[key]; before != nil && before.Parts > kept.Parts {
		return
	}
	u.all.discard(key)
	u.all.keeps++
	kept.number, kept.held, u.held = u.all.keeps, u.held, 0
	keep := keepUploads
	if u.all.used > u.all.limit { // jobs wait for the memory that is lent
		keep = keepLent
	}
	kept.drop = time.AfterFunc(keep, func() {
		u.all.mu.Lock()
		defer u.all.mu.Unlock()
		if u.all.kept[key] == &kept {
			u.all.discard(key)
		}
	})
	u.all.kept[key] = &kept
}

// Resume takes over what was kept of an upload, if at least the given number of parts were. Otherwise it returns nil,
// and what was kept stays for a call that asks for less. Resuming with no parts starts over: it frees what was kept.
func (u *Upload) Resume(id string, parts uint32) *KeptUpload {
	key := keptKey{u.owner, id}
	u.all.mu.Lock()
	defer u.all.mu.Unlock()
	kept := u.all.kept[key]
	if parts == 0 {
		u.all.discard(key)
	}
	if parts == 0 || kept == nil || kept.Parts < parts {
		return nil
	}
	kept.drop.Stop()
	delete(u.all.kept, key)
	u.held += kept.held
	return kept
}

// Arrived returns how many parts were kept of an upload of the caller, and whether any upload with the id was.
func (u *Uploads) Arrived(ctx context.Context, id string) (parts uint32, found bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if kept := u.kept[keptKey{identity.FromContext(ctx).Name, id}]; kept != nil {
		return kept.Parts, true
	}
	return 0, false
}

// discard frees a kept upload, if there is one. The caller holds u.mu.
func (u *Uploads) discard(key keptKey) {
	if kept := u.kept[key]; kept != nil {
		kept.drop.Stop()
		u.free(kept.held)
		delete(u.kept, key)
	}
}

// free releases memory. The caller holds u.mu.
func (u *Uploads) free(bytes int64) {
	u.used -= bytes
	u.lend(max(0, u.used-u.limit))
}

// discardOldest frees the kept upload that broke off first. There is one, and the caller holds u.mu.
func (u *Uploads) discardOldest() {
	var oldest keptKey
	for key, kept := range u.kept {
		if first := u.kept[oldest]; first == nil || kept.number < first.number {
			oldest = key
		}
	}
	u.discard(oldest)
}

// Close discards the uploads that broke off.
func (u *Uploads) Close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for key := range u.kept {
		u.discard(key)
	}
}

// Receive calls take with the parts of an upload until its stream ends with io.EOF. If Receive returns an error, the
// handler of the stream must return: that ends the goroutine that reads.
func Receive[P proto.Message](u *Upload, receive func() (P, error), take func(P) error) error {
	type received struct {
		part P
		err  error
	}
	parts, left := make(chan received), make(chan struct{})
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
			size := proto.Size(next.part)
			if err := u.Hold(HeldPerByte * int64(size)); err != nil {
				return err
			}
			if err := u.pace(size); err != nil { // the next part is read meanwhile, and no more
				return err
			}
			if err := take(next.part); err != nil {
				return err
			}
		case <-silence.C:
			return fault.New(fault.DeadlineExceeded, "UPLOAD_STALLED",
				"the upload was aborted because it sent nothing for %v; send it again, or resume it if it has an upload_id", u.all.stall)
		}
	}
}

// Reserved returns how many bytes of memory all uploads hold.
func (u *Uploads) Reserved() int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.used
}

// uploadRates limits the bytes a second of all uploads together and of each owner.
type uploadRates struct {
	all      *rate.Limiter // nil: no limit
	perOwner int64         // 0: no limit

	mu     sync.Mutex
	owners map[string]*ownerRate // those with uploads in progress
}

// ownerRate limits the rate of one owner's uploads. It is dropped when the last of them ends.
type ownerRate struct {
	limiter *rate.Limiter
	uploads int
}

func newUploadRates(l UploadLimits) *uploadRates {
	r := &uploadRates{perOwner: l.RatePerOwner, owners: map[string]*ownerRate{}}
	if l.Rate > 0 {
		r.all = newRate(l.Rate)
	}
	return r
}

// newRate returns a limiter that allows bursts of one second.
func newRate(bytesPerSecond int64) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(bytesPerSecond), int(bytesPerSecond))
}

// begin returns a function that waits until the given number of bytes may arrive, and one that ends the upload.
func (r *uploadRates) begin(ctx context.Context) (pace func(bytes int) error, end func()) {
	limiters, end := []*rate.Limiter{r.all}, func() {}
	if r.perOwner > 0 {
		name := identity.FromContext(ctx).Name
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.owners[name] == nil {
			r.owners[name] = &ownerRate{limiter: newRate(r.perOwner)}
		}
		owner := r.owners[name]
		owner.uploads++
		limiters = append(limiters, owner.limiter)
		end = func() { r.leave(name) }
	}
	return func(bytes int) error {
		for _, l := range limiters {
			if err := waitFor(ctx, l, bytes); err != nil {
				return err
			}
		}
		return nil
	}, end
}

// leave removes the limiter of an owner whose last upload has ended.
func (r *uploadRates) leave(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owners[name].uploads--; r.owners[name].uploads == 0 {
		delete(r.owners, name)
	}
}

// waitFor waits until a limiter allows the given number of bytes, which may exceed its burst.
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
