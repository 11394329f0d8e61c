package partition

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Nowhere is the owner of a tile that has none.
const Nowhere = -1

// Host is what placement needs to know about a worker.
type Host struct {
	ID        string
	Weight    float64 // its share of the tiles is proportional to this; 0 means 1
	FreeBytes int64   // for tiles beyond those that it has already
	Accepting bool    // whether it takes new tiles
	First     bool    // whether it takes tiles before others do, up to its share
}

// Size is the memory of a tile, in bytes: with its entries stored, and without, when they are computed whenever
// they are needed.
type Size struct{ Stored, Computed int64 }

// Bytes returns the memory of a tile, depending on whether it is stored.
func (s Size) Bytes(stored bool) int64 {
	if stored {
		return s.Stored
	}
	return s.Computed
}

// StorageRule says which tiles are stored.
type StorageRule uint8

// The rules.
const (
	StoreWhatFits StorageRule = iota
	StoreAll
	StoreNone
)

// Layout says on which host each tile is, whether it is stored there, and how much memory is left.
type Layout struct {
	Owner  []int  // the host of each tile
	Stored []bool // whether its entries are stored there

	key   string
	sizes []Size
	hosts []Host
	hash  []uint64 // of the hosts' IDs
	share []int    // how many tiles each host takes at most while there is memory elsewhere
	room  []int64
	load  []int // tiles of each host
	runs  bool  // see KeepRuns
}

// NewLayout makes a layout without placed tiles. Jobs with different keys prefer different hosts.
func NewLayout(key string, sizes []Size, hosts []Host) *Layout {
	l := &Layout{
		key: key, sizes: sizes, hosts: hosts, share: shares(len(sizes), hosts),
		Owner: make([]int, len(sizes)), Stored: make([]bool, len(sizes)),
		hash: make([]uint64, len(hosts)), room: make([]int64, len(hosts)), load: make([]int, len(hosts)),
	}
	for tile := range l.Owner {
		l.Owner[tile] = Nowhere
	}
	for h, host := range hosts {
		l.hash[h] = hashHost(host.ID)
		l.room[h] = host.FreeBytes
	}
	return l
}

// KeepRuns makes hosts take consecutive tiles, because the rows of neighboring tiles come in the same pieces. Which
// host takes which run depends on the hosts and the key only, so jobs with the same key find the rows where they were
// before.
func (l *Layout) KeepRuns() { l.runs = true }

// MarkPlaced records that a tile is on a host already. The host's free memory does not include it.
func (l *Layout) MarkPlaced(tile, host int, stored bool) {
	l.Owner[tile], l.Stored[tile] = host, stored
	l.load[host]++
}

// Remove takes a tile off its host.
func (l *Layout) Remove(tile int) {
	if h := l.Owner[tile]; h != Nowhere {
		l.room[h] += l.sizes[tile].Bytes(l.Stored[tile])
		l.load[h]--
		l.Owner[tile] = Nowhere
	}
}

func (l *Layout) put(tile, host int, stored bool) {
	l.MarkPlaced(tile, host, stored)
	l.room[host] -= l.sizes[tile].Bytes(stored)
}

// Place gives every tile without a host one, and leaves all others where they are, so that the loss of a worker
// only moves the tiles that it had. It returns false if a tile fits nowhere; the layout must then be discarded.
//
// Tiles prefer hosts by rendezvous hashing: host h scores -weight/ln(u), where u in (0, 1) is a hash of (key,
// tile, host). So each host wins in proportion to its weight, and a host that joins or leaves does not change
// preferences among the others. To keep the load from depending on chance, a host takes no more than its share,
// ceil(tiles * weight / all weights), unless there is no memory elsewhere.
//
// Under StoreWhatFits, a tile is stored if any host has room for that. Otherwise it goes where it fits without
// being stored, and if it fits nowhere, other tiles give up their storage for it.
func (l *Layout) Place(rule StorageRule) bool {
	for tile, at := range l.Owner {
		if at != Nowhere {
			continue
		}
		if rule != StoreNone {
			if h := l.choose(tile, l.sizes[tile].Stored); h != Nowhere {
				l.put(tile, h, true)
				continue
			}
		}
		if rule == StoreAll {
			return false
		}
		h := l.choose(tile, l.sizes[tile].Computed)
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

// choose returns the host that a tile of this size prefers among those with enough memory and fewer tiles than their
// share; if some of these are marked First, only they count. If there is none, it returns the least loaded host with
// enough memory, and of equally loaded ones the preferred one.
func (l *Layout) choose(tile int, bytes int64) int {
	fits := func(h int) bool { return l.hosts[h].Accepting && l.room[h] >= bytes }
	if before := l.ownerOf(tile - 1); l.runs && before != Nowhere && fits(before) && l.load[before] < l.share[before] {
		return before
	}
	hash := l.hashOf(tile)
	best, lowest, high := Nowhere, 0.0, 0.0
	for h, host := range l.hosts {
		if !fits(h) {
			continue
		}
		rank := relativeLoad(l.load[h]+1, host) // the lower the better; hosts of equal rank compare by their scores
		switch {
		case l.load[h] >= l.share[h]:
		case host.First:
			rank = -2
		default:
			rank = -1
		}
		if best != Nowhere && rank > lowest {
			continue
		}
		s := l.score(hash, h)
		if best == Nowhere || rank < lowest || s > high || s == high && host.ID < l.hosts[best].ID {
			best, lowest, high = h, rank, s
		}
	}
	return best
}

// makeRoom gives up the storage of tiles on one host, the last ones first, until this many bytes are free. It
// chooses the least loaded of the hosts that have enough to give up.
func (l *Layout) makeRoom(bytes int64) int {
	spare := slices.Clone(l.room)
	for tile, h := range l.Owner {
		if h != Nowhere && l.Stored[tile] {
			spare[h] += l.sizes[tile].Stored - l.sizes[tile].Computed
		}
	}
	best := Nowhere
	for h, host := range l.hosts {
		if host.Accepting && spare[h] >= bytes && (best == Nowhere || l.lessLoaded(h, best, 1)) {
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

// StoreMore stores every tile for whose storage its host has room, on hosts that take new tiles.
func (l *Layout) StoreMore() {
	for tile, h := range l.Owner {
		if h != Nowhere && l.hosts[h].Accepting {
			l.store(tile)
		}
	}
}

func (l *Layout) store(tile int) {
	h := l.Owner[tile]
	more := l.sizes[tile].Stored - l.sizes[tile].Computed
	if !l.Stored[tile] && l.room[h] >= more {
		l.Stored[tile] = true
		l.room[h] -= more
	}
}

// worthMoving is the factor by which the largest relative load must fall for tiles to be moved merely for balance,
// because a tile that moves must be built again.
const worthMoving = 0.9

// Balance moves tiles one by one from the most loaded host to the least loaded one that takes new tiles, while
// that lowers the larger of the two loads (in tiles per weight). Under StoreWhatFits, a tile that moves is stored
// if there is room, because it must be built again anyway. Balance moves nothing and returns false if the largest
// load would not fall by a tenth. All tiles must have a host.
func (l *Layout) Balance(rule StorageRule) bool {
	after := l.clone()
	after.levelOut(rule, 0)
	load := maxLoad(l.load, l.hosts)
	if load == 0 || maxLoad(after.load, l.hosts) > worthMoving*load {
		return false
	}
	*l = *after
	return true
}

func (l *Layout) clone() *Layout {
	c := *l
	c.Owner = slices.Clone(l.Owner)
	c.Stored = slices.Clone(l.Stored)
	c.room = slices.Clone(l.room)
	c.load = slices.Clone(l.load)
	return &c
}

// levelOut moves tiles one by one from the most loaded host that has more than a number of tiles to the least loaded
// one, as long as that lowers the larger of the two loads. No host both gives and takes tiles: if a taker gave one, the
// next host would then be at least as loaded as the taker is now.
func (l *Layout) levelOut(rule StorageRule, keep int) {
	queues := map[[2]int]*queue{}
	order := l.givingOrder()           // queues by giver and taker
	full := make([]bool, len(l.hosts)) // hosts that no tile of the most loaded one fits on
	for {
		from, to := l.mostAndLeast(keep, full)
		if from == Nowhere {
			return
		}
		pair := [2]int{from, to}
		if queues[pair] == nil {
			queues[pair] = &queue{left: order}
		}
		tile := l.nextToMove(from, to, queues[pair])
		if tile == Nowhere {
			full[to] = true
			continue
		}
		l.move(tile, to, rule)
		for _, next := range []int{tile - 1, tile + 1} {
			if q := queues[[2]int{l.ownerOf(next), to}]; q != nil {
				q.next = min(q.next, next)
			}
		}
	}
}

// mostAndLeast returns the most loaded host that has more than a number of tiles and the least loaded one that takes
// tiles and is not full, or Nowhere if a move from one to the other does not lower the larger of their loads.
func (l *Layout) mostAndLeast(keep int, full []bool) (from, to int) {
	from, to = Nowhere, Nowhere
	for h, host := range l.hosts {
		if l.load[h] > keep && (from == Nowhere || l.lessLoaded(from, h, 0)) {
			from = h
		}
		if host.Accepting && !full[h] && (to == Nowhere || l.lessLoaded(h, to, 1)) {
			to = h
		}
	}
	if from == Nowhere || to == Nowhere ||
		relativeLoad(l.load[to]+1, l.hosts[to]) >= relativeLoad(l.load[from], l.hosts[from]) {
		return Nowhere, Nowhere
	}
	return from, to
}

// move moves a tile to another host, where it is stored under StoreWhatFits if there is room.
func (l *Layout) move(tile, to int, rule StorageRule) {
	stored := l.Stored[tile]
	l.Remove(tile)
	l.put(tile, to, stored)
	if rule == StoreWhatFits {
		l.store(tile)
	}
}

// queue is what levelOut knows about the tiles that one host may give to another, so that it need not look at all
// tiles for each move. A tile that has left the giver, or does not fit, never has to be looked at again.
type queue struct {
	next int   // if runs are kept: no tile before this one makes a run of the taker longer
	left []int // tiles not looked at yet, in giving order: the first to move last
}

// givingOrder returns all tiles in the order in which hosts give them, the first one last. Unless runs are kept it is
// random, because neighboring tiles of a graph may all be large.
func (l *Layout) givingOrder() []int {
	order := rand.New(rand.NewPCG(hashTile(l.key, 0), 0)).Perm(len(l.Owner))
	if l.runs {
		slices.Sort(order)
	}
	return order
}

// nextToMove returns the next tile that host `from` gives to host `to`, or Nowhere if no tile fits. To keep runs, it is
// a tile next to one of host `to`, if there is any.
func (l *Layout) nextToMove(from, to int, q *queue) int {
	for ; l.runs && q.next < len(l.Owner); q.next++ {
		if l.canMove(q.next, from, to) && (l.ownerOf(q.next-1) == to || l.ownerOf(q.next+1) == to) {
			return q.next
		}
	}
	for ; len(q.left) > 0; q.left = q.left[:len(q.left)-1] {
		if tile := q.left[len(q.left)-1]; l.canMove(tile, from, to) {
			return tile
		}
	}
	return Nowhere
}

// canMove reports whether host `from` has a tile that fits on host `to`.
func (l *Layout) canMove(tile, from, to int) bool {
	return l.Owner[tile] == from && l.sizes[tile].Bytes(l.Stored[tile]) <= l.room[to]
}

// ownerOf returns the host of a tile, or Nowhere if there is no such tile.
func (l *Layout) ownerOf(tile int) int {
	if tile < 0 || tile >= len(l.Owner) {
		return Nowhere
	}
	return l.Owner[tile]
}

// shares returns how many tiles each host should take at most: ceil(tiles * weight / sum of weights), or 0 for
// hosts that take no new tiles.
func shares(tiles int, hosts []Host) []int {
	total := 0.0
	for _, h := range hosts {
		if h.Accepting {
			total += weight(h)
		}
	}
	share := make([]int, len(hosts))
	for i, h := range hosts {
		if h.Accepting {
			share[i] = int(math.Ceil(float64(tiles) * weight(h) / total))
		}
	}
	return share
}

func weight(h Host) float64 {
	if h.Weight > 0 {
		return h.Weight
	}
	return 1
}

func relativeLoad(load int, h Host) float64 { return float64(load) / weight(h) }

// lessLoaded compares the loads of two hosts if each had some more tiles, then their ids, so that the order of the
// hosts does not matter.
func (l *Layout) lessLoaded(a, b, more int) bool {
	loadA := relativeLoad(l.load[a]+more, l.hosts[a])
	loadB := relativeLoad(l.load[b]+more, l.hosts[b])
	return loadA < loadB || loadA == loadB && l.hosts[a].ID < l.hosts[b].ID
}

func maxLoad(load []int, hosts []Host) float64 {
	high := 0.0
	for h := range hosts {
		high = max(high, relativeLoad(load[h], hosts[h]))
	}
	return high
}
