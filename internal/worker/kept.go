package worker

import (
	"maps"
	"slices"
	"sync"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// kept holds the jobs of earlier sessions with coordinators that led before. The worker offers them to the current
// coordinator, which may adopt them. The others are dropped after a while, or sooner if their memory is needed. It is
// safe for concurrent use.
type kept struct {
	mu    sync.Mutex
	jobs  map[string]*job // by the id of their offer
	timer *time.Timer
	added int // counts the calls of add
}

func newKept() *kept { return &kept{jobs: map[string]*job{}} }

// add keeps the jobs of a session that has ended. All kept jobs are dropped keepFor after the last call.
func (k *kept) add(jobs []*job, keepFor time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, j := range jobs {
		k.jobs[j.offerID] = j
	}
	if k.timer != nil {
		k.timer.Stop()
	}
	k.added++
	added := k.added
	k.timer = time.AfterFunc(keepFor, func() { k.expire(added) })
}

// expire frees all jobs, unless some were added since.
func (k *kept) expire(added int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.added == added {
		k.dropAllLocked()
	}
}

// take removes and returns the job of an offer, or returns nil if it is no longer there.
func (k *kept) take(offer string) *job {
	k.mu.Lock()
	defer k.mu.Unlock()
	j := k.jobs[offer]
	delete(k.jobs, offer)
	return j
}

// drop frees all jobs.
func (k *kept) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropAllLocked()
}

// dropAllLocked frees all jobs. The caller holds k.mu.
func (k *kept) dropAllLocked() {
	if k.timer != nil {
		k.timer.Stop()
	}
	for _, j := range k.jobs {
		j.dropKept()
	}
	clear(k.jobs)
}

// offers describes the kept jobs.
func (k *kept) offers() []*workerv1.Offer {
	k.mu.Lock()
	defer k.mu.Unlock()
	return offersOf(k.jobs)
}

// offersOf describes the jobs that hold something.
func offersOf(jobs map[string]*job) (offers []*workerv1.Offer) {
	for _, j := range jobs {
		if o := j.offer(); o != nil {
			offers = append(offers, o)
		}
	}
	return offers
}

// holding is what a job holds, for offers. It is safe for concurrent use.
type holding struct {
	mu       sync.Mutex
	identity []byte       // from Prepare; the same for jobs with the same tiles
	tiles    map[int]bool // the tiles after the last command that changed them; true if stored
	all      int          // number of tiles of the job on all workers
}

func (h *holding) setIdentity(identity []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.identity = identity
}

// offer describes what the job holds, or returns nil if it holds nothing.
func (j *job) offer() *workerv1.Offer {
	h := &j.holding
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.tiles) == 0 || len(h.identity) == 0 {
		return nil
	}
	o := &workerv1.Offer{Id: j.offerID, Identity: h.identity, Tiles: uint32(h.all)}
	for _, t := range slices.Sorted(maps.Keys(h.tiles)) {
		if h.tiles[t] {
			o.Stored = append(o.Stored, uint32(t))
		} else {
			o.Computed = append(o.Computed, uint32(t))
		}
	}
	return o
}

// noteHeld records what the job holds now.
func (j *job) noteHeld() {
	j.holding.mu.Lock()
	defer j.holding.mu.Unlock()
	j.holding.tiles = maps.Clone(j.tiles)
	j.holding.all = partition.TileCount(j.rows)
}

// keep ends the job's part in its session but keeps its tiles. The running command is canceled, and queued ones are
// dropped.
func (j *job) keep() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.bound.kept.Store(true)
	j.bound.cancel()
	j.commands.reset()
}

// dropKept frees a job that was kept.
func (j *job) dropKept() {
	j.worker.memory.beginRelease()
	j.mu.Lock()
	ended := j.ended
	j.mu.Unlock()
	j.worker.running.Go(func() {
		<-ended
		j.close()
	})
}

// adopt makes the job hold exactly the given tiles, without labels and sums. It fails if the job does not have all of
// them.
func (j *job) adopt(placed []*workerv1.Tile) error {
	wanted := map[int]bool{}
	for _, t := range placed {
		if _, there := j.tiles[int(t.GetTile())]; !there {
			return kernel.ErrNotReady
		}
		wanted[int(t.GetTile())] = true
		j.epochs[t.GetTile()] = t.GetEpoch()
	}
	var others []int
	for t, stored := range j.tiles {
		if !wanted[t] {
			others = append(others, t)
			delete(j.tiles, t)
			j.free(j.need.TileSize(t).Bytes(stored))
		}
	}
	j.shard.Drop(others)
	j.shard.Reset()
	j.passOn()
	return nil
}
