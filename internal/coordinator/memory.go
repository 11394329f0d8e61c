package coordinator

import (
	"os"

	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/store"
)

// parts are the parts of the memory of a coordinator, in bytes.
type parts struct {
	jobs    int64 // common to all: the others take what jobs leave if their own part does not suffice
	uploads int64

	datasets, tables, rows int64 // of the caches

	requests  int64 // requests of calls, until they are answered
	calls     int64 // what calls load to plan, submit and predict
	downloads int64 // what calls load to send it
}

// partsOf returns the parts of which these are the first.
func partsOf(jobs, uploads, datasets int64) parts {
	return parts{
		jobs: jobs, uploads: uploads, datasets: datasets, tables: datasets / 4, rows: datasets / 4,
		requests: datasets / 2, calls: datasets / 2, downloads: datasets,
	}
}

// divide divides memory so that all parts together are the total. Uploads get at most half of it, 0 means a quarter,
// and the cache of data sets gets a sixteenth.
func divide(total, uploads, datasets int64) parts {
	if uploads == 0 {
		uploads = total / 4
	}
	uploads = max(1, min(uploads, total/2))
	p := partsOf(0, uploads, min(datasets, total/16))
	p.jobs = max(1, total-p.total())
	return p
}

func (p parts) total() int64 {
	return p.jobs + p.uploads + p.datasets + p.tables + p.rows + p.requests + p.calls + p.downloads
}

// memory is the memory of the coordinator, as its users reserve it.
type memory struct {
	parts     parts
	jobs      *queue.Share
	uploads   *queue.Share
	requests  *queue.Share
	calls     *queue.Share
	downloads *queue.Share
	large     *queue.Share // for what is too large for downloads
}

func newMemory(cfg Config) memory {
	p := partsOf(cfg.MemoryBytes, cfg.UploadBytes, cfg.CacheBytes)
	common := p.jobs
	if common == 0 {
		common = planning.Unlimited
	}
	budget := queue.NewBudget(common)
	return memory{
		parts: p, jobs: budget.JobsShare(), uploads: budget.Share(p.uploads), requests: budget.Share(p.requests),
		calls: budget.Share(p.calls), downloads: budget.Share(p.downloads), large: budget.Share(0),
	}
}

// hasTemporaryRoom reports whether the copies of uploads and of the state may grow. They leave free what blobs leave
// free, and what the state store needs, because they may be on the same disk.
func (cfg Config) hasTemporaryRoom() bool {
	free, known := store.FreeBytes(os.TempDir())
	return !known || free >= max(cfg.Limits.FreeDisk, 2*store.ReservedSpace)
}
