package coordinator

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/text"
)

// uploads keeps clients that send slowly, or not at all, from holding the memory of the coordinator.
type uploads struct {
	limit int64         // of the memory of all uploads that are under way
	stall time.Duration // how long one may be silent
	rates *uploadRates

	// most is how many one owner may have under way: a part takes memory while it comes, before it can be counted.
	most int

	mu       sync.Mutex
	used     int64
	underWay map[string]int // by owner
}

// fewestUploads may be under way in any case.
const fewestUploads = 16

// heldPerByte is the memory that a byte of an upload takes: lists grow by doubling.
const heldPerByte = 2

// upload is what one upload holds.
type upload struct {
	all       *uploads
	owner     string
	held      int64
	pace      func(bytes int) error
	endPacing func()
}

func newUploads(cfg Config) *uploads {
	return &uploads{
		limit: cfg.UploadBytes, stall: cfg.UploadStall, rates: newUploadRates(cfg.Limits),
		most: max(fewestUploads, int(cfg.UploadBytes/int64(cfg.MaxMessageBytes))), underWay: map[string]int{},
	}
}

// begin begins an upload, unless its owner has too many.
func (u *uploads) begin(ctx context.Context) (*upload, error) {
	owner := identity.FromContext(ctx).Name
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.underWay[owner] >= u.most {
		return nil, fault.New(fault.ResourceExhausted, "TOO_MANY_UPLOADS",
			"%d uploads of yours are under way, which is as many as this coordinator has memory for; try again when some have ended", u.most).RetryIn(retryUpload)
	}
	u.underWay[owner]++
	pace, end := u.rates.begin(ctx)
	return &upload{all: u, owner: owner, pace: pace, endPacing: end}, nil
}

// hold takes memory for a part, unless all uploads together would have too much. One that is alone may have any size: what it
// may have is limited elsewhere.
func (u *upload) hold(bytes int64) error {
	u.all.mu.Lock()
	defer u.all.mu.Unlock()
	if others := u.all.used - u.held; others > 0 && u.all.used+bytes > u.all.limit {
		return fault.New(fault.ResourceExhausted, "TOO_MANY_UPLOADS",
			"the uploads under way hold %s of the %s that this coordinator has for them; try again when some have ended",
			text.Bytes(u.all.used), text.Bytes(u.all.limit)).RetryIn(retryUpload)
	}
	u.held += bytes
	u.all.used += bytes
	return nil
}

// end gives back what the upload holds.
func (u *upload) end() {
	u.endPacing()
	u.all.mu.Lock()
	defer u.all.mu.Unlock()
	u.all.used -= u.held
	u.held = 0
	if u.all.underWay[u.owner]--; u.all.underWay[u.owner] == 0 {
		delete(u.all.underWay, u.owner)
	}
}

// receiveUpload calls take with one part of an upload after the other, until its stream ends with io.EOF. The handler of the
// stream must return when receiveUpload does not return nil: that ends the reading.
func receiveUpload[P proto.Message](u *upload, receive func() (P, error), take func(P) error) error {
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
			if err := u.hold(heldPerByte * int64(size)); err != nil {
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
				"the upload sent nothing for %v and is given up; nothing of it is kept, send it again", u.all.stall)
		}
	}
}
