package coordinator

import (
	"os"

	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/store"
)

// memory divides the memory of the coordinator, see SetMemory. Jobs have no bytes of their own: their memory is common
// to all shares, so the others take what jobs leave if their own does not suffice.
type memory struct {
	jobs      *queue.Share
	uploads   *queue.Share
	requests  *queue.Share // requests of calls, until they are answered
	calls     *queue.Share // what calls load to plan, submit and predict
	downloads *queue.Share // what calls load to send it
	large     *queue.Share // the same, too large for downloads
}

func newMemory(cfg Config) memory {
	shared := cfg.MemoryBytes
	if shared == 0 {
		shared = planning.Unlimited
	}
	budget := queue.NewBudget(shared)
	half := cfg.CacheBytes / 2
	return memory{
		jobs: budget.JobsShare(), uploads: budget.Share(cfg.UploadBytes),
		requests: budget.Share(half), calls: budget.Share(half),
		downloads: budget.Share(cfg.CacheBytes), large: budget.Share(0),
	}
}

// hasTemporaryRoom reports whether the copies of uploads and of the state may grow. They leave free what blobs leave
// free, and what the state store needs, because they may be on the same disk.
func (cfg Config) hasTemporaryRoom() bool {
	free, known := store.FreeBytes(os.TempDir())
	return !known || free >= max(cfg.Limits.FreeDisk, 2*store.ReservedSpace)
}
