package coordinator

import (
	"context"
	"sync"

	"golang.org/x/time/rate"

	"github.com/cleave-project/cleave/internal/security/identity"
)

// uploadRates slow uploads down to so many bytes a second: all together, and those of each owner.
type uploadRates struct {
	all      *rate.Limiter // nil: no limit
	perOwner int64         // 0: no limit

	mu     sync.Mutex
	owners map[string]*ownerRate // those with uploads under way
}

// ownerRate is the rate of one owner's uploads.
type ownerRate struct {
	limiter *rate.Limiter
	uploads int
}

func newUploadRates(l Limits) *uploadRates {
	r := &uploadRates{perOwner: l.UploadRatePerOwner, owners: map[string]*ownerRate{}}
	if l.UploadRate > 0 {
		r.all = newRate(l.UploadRate)
	}
	return r
}

// newRate is a limiter that lets one second's bytes through at once.
func newRate(bytesPerSecond int64) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(bytesPerSecond), int(bytesPerSecond))
}

// begin returns what paces one upload, and what ends it.
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

// leave forgets the rate of an owner whose last upload has ended.
func (r *uploadRates) leave(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owners[name].uploads--; r.owners[name].uploads == 0 {
		delete(r.owners, name)
	}
}

// waitFor waits until a limiter has let so many bytes through, which may be more than it lets through at once.
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
