package partition

import (
	"math"
	"slices"
)

// Nowhere is the owner of a tile that has none.
const Nowhere = -1

// Host is a worker as far as placement is concerned.
type Host struct {
	ID     string
	Weight int   // its share of the tiles is in proportion, at least 1
	Room   int64 // bytes for tiles beside those that it has already
	Open   bool  // takes new tiles
}

// Size is the memory that a tile takes: with its entries stored, and without, when they are computed
// again whenever they are needed.
type Size struct{ Stored, Computed int64 }

// Of is the memory of a tile that is stored, or is not.
func (s Size) Of(stored bool) int64 {
	if stored {
		return s.Stored
	}
	return s.Computed
}

// Rule says which tiles are stored.
type Rule uint8

// The rules.
const (
	StoreWhatFits Rule = iota
	StoreAll
	StoreNone
)

// Layout is where tiles are, whether they are stored there, and the room that is left.
type Layout struct {
	Owner  []int  // the host of each tile
	Stored []bool // whether its entries are stored there

	key   string
	sizes []Size
	hosts []Host
	room  []int64
	load  []int // tiles of each host
}

// NewLayout is a layout without a tile placed. The key makes jobs prefer different hosts.
func NewLayout(key string, sizes []Size, hosts []Host) *Layout {
	l := &Layout{
		key: key, sizes: sizes, hosts: hosts,
		Owner: make([]int, len(sizes)), Stored: make([]bool, len(sizes)),
		room: make([]int64, len(hosts)), load: make([]int, len(hosts)),
	}
	for tile := range l.Owner {
		l.Owner[tile] = Nowhere
	}
	for h, host := range hosts {
		l.room[h] = host.Room
	}
	return l
}

// Keep notes that a tile is on a host already: the host's room is beside it.
func (l *Layout) Keep(tile, host int, stored bool) {
	l.Owner[tile], l.Stored[tile] = host, stored
	l.load[host]++
}

// Remove makes a tile homeless.
func (l *Layout) Remove(tile int) {
	if h := l.Owner[tile]; h != Nowhere {
		l.room[h] += l.sizes[tile].Of(l.Stored[tile])
		l.load[h]--
		l.Owner[tile] = Nowhere
	}
}

func (l *Layout) put(tile, host int, stored bool) {
	l.Keep(tile, host, stored)
	l.room[host] -= l.sizes[tile].Of(stored)
}

// Place gives every homeless tile an owner and leaves all others where they are, so that the loss
// of a worker costs only what it held. It returns false when some tile fits nowhere; the layout is
// of no use then.
//
// A tile prefers hosts by rendezvous hashing: host h scores -weight/ln(u), with u in (0, 1) a hash
// of (key, tile, host), so that each host wins in proportion to its weight and a host that joins or
// leaves changes no other preference. A cap keeps luck from deciding the load: a host takes no more
// than its share ceil(tiles * weight / all weights), unless memory elsewhere leaves no choice.
//
// Where the rule leaves the choice, a tile is stored as long as any host has room for it stored; then
// it goes where it fits without; and where it does not even fit so, stored tiles are given up for it.
func (l *Layout) Place(rule Rule) bool {
	share := shares(len(l.Owner), l.hosts)
	for tile, at := range l.Owner {
		if at != Nowhere {
			continue
		}
		if rule != StoreNone {
			if h := l.choose(tile, l.sizes[tile].Stored, share); h != Nowhere {
				l.put(tile, h, true)
				continue
			}
		}
		if rule == StoreAll {
			return false
		}
		h := l.choose(tile, l.sizes[tile].Computed, share)
		if h == Nowhere {
			h = l.makeRoom(l.sizes[tile].Computed)
		}
		if h == Nowhere {
			return false
		}
		l.put(tile, h, false)
	}
	return true
}

// choose is the host that a tile of so many bytes likes best, among those with room.
func (l *Layout) choose(tile int, bytes int64, share []int) int {
	best := Nowhere
	for _, h := range preference(l.key, tile, l.hosts) {
		if !l.hosts[h].Open || l.room[h] < bytes {
			continue
		}
		if l.load[h] < share[h] {
			return h
		}
		if best == Nowhere || relativeLoad(l.load[h]+1, l.hosts[h]) < relativeLoad(l.load[best]+1, l.hosts[best]) {
			best = h // over its share, but the least of all so far
		}
	}
	return best
}

// makeRoom gives up the storage of tiles on one host, the last ones first, until so many bytes are
// free there; of the hosts that have enough to give up the least loaded does.
func (l *Layout) makeRoom(bytes int64) int {
	spare := slices.Clone(l.room)
	for tile, h := range l.Owner {
		if h != Nowhere && l.Stored[tile] {
			spare[h] += l.sizes[tile].Stored - l.sizes[tile].Computed
		}
	}
	best := Nowhere
	for h, host := range l.hosts {
		if host.Open && spare[h] >= bytes &&
			(best == Nowhere || lessLoaded(relativeLoad(l.load[h]+1, host), relativeLoad(l.load[best]+1, l.hosts[best]), host, l.hosts[best])) {
			best = h
		}
	}
	for tile := len(l.Owner) - 1; best != Nowhere && tile >= 0 && l.room[best] < bytes; tile-- {
		if l.Owner[tile] == best && l.Stored[tile] {
			l.Stored[tile] = false
			l.room[best] += l.sizes[tile].Stored - l.sizes[tile].Computed
		}
	}
	return best
}

// Store lets every tile be stored whose open host has room for it.
func (l *Layout) Store() {
	for tile, h := range l.Owner {
		if h != Nowhere && l.hosts[h].Open {
			l.store(tile)
		}
	}
}

func (l *Layout) store(tile int) {
	h, more := l.Owner[tile], l.sizes[tile].Stored-l.sizes[tile].Computed
	if !l.Stored[tile] && l.room[h] >= more {
		l.Stored[tile] = true
		l.room[h] -= more
	}
}

// Free is the room that is left on a host.
func (l *Layout) Free(host int) int64 { return l.room[host] }

// worthMoving is how much smaller the largest relative load must become for tiles to be moved
// merely for balance, as what is moved must be built anew.
const worthMoving = 0.9

// Balance moves tiles from the most loaded hosts to open ones with less, one by one while that
// lowers the larger of the two loads (in tiles per weight). Where the rule leaves the choice, a tile
// that moves is stored if there is room: it is made anew anyway. Balance returns false, and moves
// nothing, when the largest load would not fall by a tenth. All tiles must have an owner.
func (l *Layout) Balance(rule Rule) bool {
	if len(l.hosts) == 0 {
		return false
	}
	before := *l
	l.Owner, l.Stored, l.room, l.load = slices.Clone(l.Owner), slices.Clone(l.Stored), slices.Clone(l.room), slices.Clone(l.load)
	for {
		from, to := Nowhere, Nowhere
		for h, host := range l.hosts {
			if from == Nowhere || lessLoaded(relativeLoad(l.load[from], l.hosts[from]), relativeLoad(l.load[h], host), host, l.hosts[from]) {
				from = h
			}
			if host.Open && (to == Nowhere || lessLoaded(relativeLoad(l.load[h]+1, host), relativeLoad(l.load[to]+1, l.hosts[to]), host, l.hosts[to])) {
				to = h
			}
		}
		if to == Nowhere || relativeLoad(l.load[to]+1, l.hosts[to]) >= relativeLoad(l.load[from], l.hosts[from]) {
			break
		}
		tile := l.mostPreferred(from, to)
		if tile == Nowhere {
			break
		}
		stored := l.Stored[tile]
		l.Remove(tile)
		l.put(tile, to, stored)
		if rule == StoreWhatFits {
			l.store(tile)
		}
	}
	if maxLoad(l.load, l.hosts) <= worthMoving*maxLoad(before.load, l.hosts) {
		return true
	}
	*l = before
	return false
}

// fondest is the tile of host `from` that likes the host `to` best and fits there.
func (l *Layout) mostPreferred(from, to int) int {
	best, high := Nowhere, math.Inf(-1)
	for tile, at := range l.Owner {
		if at != from || l.sizes[tile].Of(l.Stored[tile]) > l.room[to] {
			continue
		}
		if s := score(l.key, tile, l.hosts[to]); s > high {
			best, high = tile, s
		}
	}
	return best
}

// shares are the caps of the hosts: ceil(tiles * weight / sum of weights) for the open ones.
func shares(tiles int, hosts []Host) []int {
	total := 0
	for _, h := range hosts {
		if h.Open {
			total += weight(h)
		}
	}
	share := make([]int, len(hosts))
	for i, h := range hosts {
		if h.Open {
			share[i] = (tiles*weight(h) + total - 1) / total
		}
	}
	return share
}

func weight(h Host) int { return max(1, h.Weight) }

func relativeLoad(load int, h Host) float64 { return float64(load) / float64(weight(h)) }

// less orders by load, then by id, so that the order of the hosts does not matter.
func lessLoaded(a, b float64, ofA, ofB Host) bool { return a < b || a == b && ofA.ID < ofB.ID }

func maxLoad(load []int, hosts []Host) float64 {
	high := 0.0
	for h := range hosts {
		high = max(high, relativeLoad(load[h], hosts[h]))
	}
	return high
}
