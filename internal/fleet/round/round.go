// Package round decides how an operation gets an answer for every tile: who helps a worker that keeps the others
// waiting, whose answers count, when a round is over, and what follows from the failure of a worker. It sends nothing,
// waits for nothing and knows no clock: the fleet says what has happened, and does what is decided.
//
// An operation (operation.go) is a sequence of rounds, each about the tiles without an answer. In a round, every worker
// is asked for its own tiles: they are a group. If a worker is late, others with nothing to do are asked for copies
// of its tiles. They are groups too, and together they are a rescue of the late group. If all of them answer first, the
// late worker is overtaken: their answers count, and its own does not. Otherwise only its own counts.
package round

// Round is one round of an operation. It is not safe for concurrent use.
type Round struct {
	groups  []group        // by number
	asked   int            // groups of workers that were asked for their own tiles; those of helpers follow them
	running map[string]int // by worker: the group that it works on
	rescues []*Rescue
}

// group is the tiles that one worker is asked for.
type group struct {
	worker string
	rescue *Rescue // of the group if it is late, or that the group is part of; nil if there is none
}

// Rescue is the work of a late group as done by others.
type Rescue struct {
	Late    int   // the late group
	Helpers []int // the groups that do the same work
	Won     bool  // all helpers have answered, before the late worker: it is overtaken

	left   int  // helpers that have not ended
	failed bool // a helper has failed, so the others are of no use
	lost   bool // the late worker has answered
}

// Ask is a group of a helper that must be started.
type Ask struct {
	Group  int
	Worker string
	Copies []Copy
}

// New begins a round in which workers are asked for their own tiles. The groups are numbered in the order of the
// workers.
func New(workers []string) *Round {
	r := &Round{asked: len(workers), running: map[string]int{}}
	for _, worker := range workers {
		r.start(worker, nil)
	}
	return r
}

// start adds a group and returns its number.
func (r *Round) start(worker string, rescue *Rescue) int {
	number := len(r.groups)
	r.groups = append(r.groups, group{worker: worker, rescue: rescue})
	r.running[worker] = number
	return number
}

// Over reports whether no group is running: the round has ended.
func (r *Round) Over() bool { return len(r.running) == 0 }

// MayBeHelped reports whether others may do the work of a group, should its worker be late: it runs, it works for
// itself, and nobody helps it or has helped it.
func (r *Round) MayBeHelped(number int) bool {
	return number < r.asked && r.isRunning(number) && r.groups[number].rescue == nil
}

// Late says that the worker of a group that may be helped keeps the others waiting. Those of the helpers that have
// nothing to do are asked for copies of its tiles, or nobody if they have no room for all of them: the late worker may
// still answer.
func (r *Round) Late(number int, tiles []Tile, helpers []Helper) []Ask {
	var idle []Helper
	for _, h := range helpers {
		if _, works := r.running[h.Worker]; !works {
			idle = append(idle, h)
		}
	}
	shares, fit := Distribute(tiles, idle)
	if !fit {
		return nil
	}
	rescue := &Rescue{Late: number, left: len(shares)}
	r.groups[number].rescue = rescue
	r.rescues = append(r.rescues, rescue)
	var asks []Ask
	for _, share := range shares {
		helper := r.start(share.Worker, rescue)
		rescue.Helpers = append(rescue.Helpers, helper)
		asks = append(asks, Ask{Group: helper, Worker: share.Worker, Copies: share.Copies})
	}
	return asks
}

// Ended says that a group has ended, with answers for all of its tiles or without. It returns the groups that must be
// stopped, because their answers are no longer needed. They have yet to end.
func (r *Round) Ended(number int, answered bool) (cancel []int) {
	g := r.groups[number]
	delete(r.running, g.worker)
	rescue := g.rescue
	switch {
	case rescue == nil:
		return nil
	case number != rescue.Late:
		return r.helperEnded(rescue, answered)
	case answered:
		rescue.lost = true
		return r.runningOf(rescue.Helpers)
	}
	return nil
}

// helperEnded records that a helper has ended. The last one wins the rescue, if none has failed.
func (r *Round) helperEnded(rescue *Rescue, answered bool) (cancel []int) {
	rescue.left--
	rescue.failed = rescue.failed || !answered
	rescue.Won = rescue.left == 0 && !rescue.failed && !rescue.lost
	if !rescue.Won {
		return nil
	}
	return r.runningOf([]int{rescue.Late})
}

// Rescues returns the rescues of the round, in the order in which they began. Until the round is over they may change.
func (r *Round) Rescues() []*Rescue { return r.rescues }

func (r *Round) isRunning(number int) bool {
	now, works := r.running[r.groups[number].worker]
	return works && now == number
}

// runningOf returns those of some groups that are running.
func (r *Round) runningOf(groups []int) []int {
	var running []int
	for _, number := range groups {
		if r.isRunning(number) {
			running = append(running, number)
		}
	}
	return running
}
