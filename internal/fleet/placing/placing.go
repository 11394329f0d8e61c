// Package placing decides where the tiles of a job should be, and by which steps they get there from where they are. It
// changes nothing: the fleet takes a snapshot (Job), and carries the steps out, in their order.
//
// A tile that moves is built on its new worker at once, in the next operation, or in the background: then its old
// worker goes on with it until it is built, which is a handover. A worker cannot do both, build tiles in the background
// and take part in operations.
package placing

import "github.com/cleave-project/cleave/internal/partition"

// None stands for no worker. Workers are given by their numbers in the layout.
const None = -1

// Tile is where a tile is.
type Tile struct {
	Worker     int  // that has it, or None
	Stored     bool // whether its entries should be stored there
	HandoverTo int  // another worker, which builds it in the background, or None
	CopyStored bool // whether its entries should be stored there
	Stays      bool // it is built, and its worker can go on with it while another one builds it
}

// Target is where a tile should be.
type Target struct {
	Worker int
	Stored bool
}

// Worker is what a worker can do.
type Worker struct {
	Host    partition.Host // its memory and weight; Layout decides whether it accepts tiles, and before others
	Usable  bool           // it may get tiles of the job, even if it is doubted
	Doubt   Doubt
	Yields  bool // its tiles should move to others as soon as possible
	Works   bool // it can go on with its tiles while others build them
	Fresh   bool // it has no tiles of the job, and nothing speaks against giving it some
	MayJoin bool // it is fresh, and may build tiles in the background
	Builds  bool // it builds tiles in the background now
}

// Kind is a kind of step.
type Kind int

// The kinds of steps.
const (
	StopHandover Kind = iota // end the handover to Worker: it takes over what it has built, before anything else
	DropCopy                 // take Tile out of its handover
	HandOver                 // have Worker build Tile in the background, Stored or not
	Remove                   // take Tile off Worker, which is told to drop it
	Put                      // place Tile, which has no worker, on Worker, Stored or not
	SetStored                // have Tile Stored, or not, where it is
)

// Step is one step.
type Step struct {
	Kind   Kind
	Tile   int
	Worker int
	Stored bool
}

// Steps returns the steps to where the tiles should be. Tiles that a handover takes there already need none. If a
// worker that builds in the background must build a tile at once, its handover ends first: that is the only step then,
// and the fleet must ask again.
func Steps(tiles []Tile, targets []Target, workers []Worker) []Step {
	atOnce := buildAtOnce(tiles, targets, workers)
	for worker := range workers {
		if atOnce[worker] && workers[worker].Builds {
			return []Step{{Kind: StopHandover, Tile: None, Worker: worker}}
		}
	}
	var first, removals, last []Step
	for t, now := range tiles {
		to := targets[t]
		if now.HandoverTo == to.Worker {
			continue
		}
		if now.HandoverTo != None {
			first = append(first, Step{Kind: DropCopy, Tile: t, Worker: now.HandoverTo})
		}
		switch {
		case now.Worker == to.Worker:
			if now.Stored != to.Stored {
				last = append(last, Step{Kind: SetStored, Tile: t, Worker: to.Worker, Stored: to.Stored})
			}
		case now.Worker != None && !atOnce[to.Worker]:
			first = append(first, Step{Kind: HandOver, Tile: t, Worker: to.Worker, Stored: to.Stored})
		default:
			if now.Worker != None {
				removals = append(removals, Step{Kind: Remove, Tile: t, Worker: now.Worker})
			}
			last = append(last, Step{Kind: Put, Tile: t, Worker: to.Worker, Stored: to.Stored})
		}
	}
	return append(append(first, removals...), last...)
}

// buildAtOnce returns, by worker, whether a worker gets a tile that cannot be built in the background first. It then
// builds all of its new ones at once.
func buildAtOnce(tiles []Tile, targets []Target, workers []Worker) []bool {
	atOnce := make([]bool, len(workers))
	for t, now := range tiles {
		to := targets[t].Worker
		switch {
		case now.Worker == None:
			atOnce[to] = true
		case now.Worker == to || now.HandoverTo == to:
		case !now.Stays || !workers[to].MayJoin:
			atOnce[to] = true
		}
	}
	return atOnce
}
