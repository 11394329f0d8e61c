package fleet

import (
	"cmp"
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/planning"
)

// Usage is what a job uses on its workers.
type Usage struct {
	Stored, Computed         int  // tiles whose entries are stored now, or computed when needed
	EverStored, EverComputed bool // whether any tile ever was
	EntryBytes               int64
	Shares                   []planning.Share
}

func (u *Usage) record(stored bool) {
	u.EverStored = u.EverStored || stored
	u.EverComputed = u.EverComputed || !stored
}

// Usage tells what the job uses now, with its workers in the order of their names.
func (j *job) Usage() Usage {
	f := j.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	usage, shares := j.usage, map[*session]*planning.Share{}
	for s := range j.members {
		shares[s] = &planning.Share{
			Worker: planning.Worker{Name: s.name, Threads: s.threads, Free: s.capacity()},
			Bytes:  j.need.FixedBytes(s.threads),
		}
	}
	for t := range j.tiles {
		share := shares[j.tiles[t].worker]
		if share == nil {
			continue // not placed at the moment
		}
		share.Bytes += j.tileBytes(t)
		if j.tiles[t].wantStored {
			usage.EntryBytes += j.need.EntryBytes(t)
			usage.Stored++
			share.Stored++
		} else {
			usage.Computed++
			share.Computed++
		}
	}
	for s, share := range shares {
		share.Bytes = max(share.Bytes, j.need.MinFreeBytes(s.threads))
		usage.Shares = append(usage.Shares, *share)
	}
	slices.SortFunc(usage.Shares, func(a, b planning.Share) int { return cmp.Compare(a.Name, b.Name) })
	return usage
}

// noWorkers is the reason of the error of a plan without workers.
const noWorkers = "NO_WORKERS"

// Plan says how a job would be placed on the workers that accept tiles now, without placing it. It
// counts only memory that is free, unless the job needs more: then it counts the memory of other jobs
// too, and says that the job would wait for them.
func (f *Fleet) Plan(parts ...planning.Workload) (*planning.Plan, error) {
	f.mu.Lock()
	var free, alone []planning.Worker
	for _, s := range f.sessions {
		if s.takesTiles() {
			free = append(free, planning.Worker{Name: s.name, Threads: s.threads, Free: s.capacity() - s.used})
			alone = append(alone, planning.Worker{Name: s.name, Threads: s.threads, Free: s.capacity()})
		}
	}
	f.mu.Unlock()
	for _, workers := range [][]planning.Worker{free, alone} {
		slices.SortStableFunc(workers, func(a, b planning.Worker) int { return cmp.Compare(a.Name, b.Name) })
	}
	if len(free) == 0 {
		return nil, fault.New(fault.FailedPrecondition, noWorkers, "no worker is attached, so there is nothing to plan with; start one and ask again")
	}
	plan, err := planning.MakeAll(parts, free)
	if err == nil {
		return plan, nil
	}
	if plan, err = planning.MakeAll(parts, alone); err == nil {
		plan.Why += "; other jobs hold memory that it needs: it would wait for them"
	}
	return plan, err
}
