package placing

import (
	"slices"

	"github.com/cleave-project/cleave/internal/partition"
)

// Job is a job at one moment: its tiles, and the workers that there are.
type Job struct {
	Key     string // jobs with different keys prefer different workers
	Runs    bool   // workers should have consecutive tiles
	Sizes   []partition.Size
	Rule    partition.StorageRule
	Tiles   []Tile
	Workers []Worker
}

// Doubt says how reluctantly a worker is used: only if there is no better one.
type Doubt int

// The doubts, the slightest first.
const (
	NoDoubt Doubt = iota
	Slow          // others are preferred
	// Unreliable means that a worker hangs, has failed or crashed. A draining worker keeps its tiles rather than give
	// them to this one.
	Unreliable
)

// stay says which tiles stay on workers that yield them.
type stay int

const (
	stayNowhere   stay = iota
	stayIfWorking      // those on a worker that can continue with them
	stayAnywhere
)

// Layout returns a placement of all tiles after all handovers, or nil if there is no room. unplaced reports whether a
// tile had no worker. Layout tries several ways, the best first. Tiles move from a worker that yields them even to a
// slow one, but not to an unreliable one while they can stay.
func (j *Job) Layout() (layout *partition.Layout, unplaced bool) {
	for _, stays := range []stay{stayNowhere, stayIfWorking, stayAnywhere} {
		for most := NoDoubt; most <= Unreliable && (stays != stayNowhere || most < Unreliable); most++ {
			layout, unplaced := j.layout(j.hosts(most), stays)
			if layout.Place(j.Rule) {
				return layout, unplaced
			}
		}
	}
	return nil, false
}

// layout returns the placement of the tiles after all handovers, and whether a tile has no worker. Tiles on workers
// that yield them count as not placed, unless they stay.
func (j *Job) layout(hosts []partition.Host, stays stay) (layout *partition.Layout, unplaced bool) {
	layout = partition.NewLayout(j.Key, j.Sizes, hosts)
	if j.Runs {
		layout.KeepRuns()
	}
	for t, tile := range j.Tiles {
		at, stored := tile.Worker, tile.Stored
		if tile.HandoverTo != None {
			at, stored = tile.HandoverTo, tile.CopyStored
		}
		if at == None {
			unplaced = true
			continue
		}
		layout.MarkPlaced(t, at, stored)
		w := &j.Workers[at]
		mayStay := stays == stayAnywhere || stays == stayIfWorking && w.Works
		if !mayStay && w.Yields {
			layout.Remove(t)
		}
	}
	return layout, unplaced
}

// hosts describes the workers as places for tiles. Those with more than the given doubt accept none, unless there is no
// worker without doubts and no worker drains, so that a job can still be balanced.
func (j *Job) hosts(most Doubt) []partition.Host {
	draining := slices.ContainsFunc(j.Tiles, func(t Tile) bool {
		return t.Worker != None && j.Workers[t.Worker].Yields && j.Workers[t.Worker].Works
	})
	if !draining && !slices.ContainsFunc(j.Workers, func(w Worker) bool { return w.Usable && w.Doubt == NoDoubt }) {
		most = Unreliable
	}
	hosts := make([]partition.Host, len(j.Workers))
	for at, w := range j.Workers {
		hosts[at] = w.Host
		hosts[at].First = draining && w.Fresh // it can build them in the background
		hosts[at].Accepting = w.Usable && w.Doubt <= most
	}
	return hosts
}

// Steps returns the steps that make a layout the placement of the job, as the function Steps does.
func (j *Job) Steps(layout *partition.Layout) []Step {
	targets := make([]Target, len(j.Tiles))
	for t := range targets {
		targets[t] = Target{Worker: layout.Owner[t], Stored: layout.Stored[t]}
	}
	return Steps(j.Tiles, targets, j.Workers)
}
