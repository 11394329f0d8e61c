package partition

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
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

// Place gives every homeless tile an owner and leaves all others where they are, so that the loss
// of a worker costs only what it held. owner[t] and the result index hosts; bytes[t] is what tile t
// takes. It returns false when some tile fits nowhere.
//
// A tile prefers hosts by rendezvous hashing: host h scores -weight/ln(u), with u in (0, 1) a hash
// of (key, tile, host), so that each host wins in proportion to its weight and a host that joins or
// leaves changes no other preference. A cap keeps luck from deciding the load: a host takes no more
// than its share ceil(tiles * weight / all weights), unless memory elsewhere leaves no choice.
func Place(key string, bytes []int64, owner []int, hosts []Host) ([]int, bool) {
	owner = slices.Clone(owner)
	room, load, share := make([]int64, len(hosts)), loads(owner, hosts), shares(len(owner), hosts)
	for h, host := range hosts {
		room[h] = host.Room
	}
	for tile, at := range owner {
		if at != Nowhere {
			continue
		}
		best := Nowhere
		for _, h := range preference(key, tile, hosts) {
			if !hosts[h].Open || room[h] < bytes[tile] {
				continue
			}
			if load[h] < share[h] {
				best = h
				break
			}
			if best == Nowhere || relative(load[h]+1, hosts[h]) < relative(load[best]+1, hosts[best]) {
				best = h // over its share, but the least of all so far
			}
		}
		if best == Nowhere {
			return nil, false
		}
		owner[tile] = best
		load[best]++
		room[best] -= bytes[tile]
	}
	return owner, true
}

// worthMoving is how much smaller the largest relative load must become for tiles to be moved
// merely for balance, as what is moved must be built anew.
const worthMoving = 0.9

// Balance moves tiles from the most loaded hosts to open ones with less, one by one while that
// lowers the larger of the two loads (in tiles per weight). It returns false, and moves nothing,
// when the largest load would not fall by a tenth. All tiles must have an owner.
func Balance(key string, bytes []int64, owner []int, hosts []Host) ([]int, bool) {
	if len(hosts) == 0 {
		return nil, false
	}
	owner = slices.Clone(owner)
	room, load := make([]int64, len(hosts)), loads(owner, hosts)
	for h, host := range hosts {
		room[h] = host.Room
	}
	before := largest(load, hosts)
	for {
		from, to := Nowhere, Nowhere
		for h := range hosts {
			if from == Nowhere || less(relative(load[from], hosts[from]), relative(load[h], hosts[h]), hosts[h], hosts[from]) {
				from = h
			}
			if hosts[h].Open && (to == Nowhere || less(relative(load[h]+1, hosts[h]), relative(load[to]+1, hosts[to]), hosts[h], hosts[to])) {
				to = h
			}
		}
		if to == Nowhere || relative(load[to]+1, hosts[to]) >= relative(load[from], hosts[from]) {
			break
		}
		tile := fondest(key, bytes, owner, from, hosts[to], room[to])
		if tile == Nowhere {
			break
		}
		owner[tile] = to
		load[from]--
		load[to]++
		room[from] += bytes[tile]
		room[to] -= bytes[tile]
	}
	return owner, largest(load, hosts) <= worthMoving*before
}

// fondest is the tile of host `from` that likes the host `to` best and fits there.
func fondest(key string, bytes []int64, owner []int, from int, to Host, room int64) int {
	best, high := Nowhere, math.Inf(-1)
	for tile, at := range owner {
		if at != from || bytes[tile] > room {
			continue
		}
		if s := score(key, tile, to); s > high {
			best, high = tile, s
		}
	}
	return best
}

func loads(owner []int, hosts []Host) []int {
	load := make([]int, len(hosts))
	for _, h := range owner {
		if h != Nowhere {
			load[h]++
		}
	}
	return load
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

// preference lists the hosts, the one that a tile likes best first.
func preference(key string, tile int, hosts []Host) []int {
	order, scores := make([]int, len(hosts)), make([]float64, len(hosts))
	for h := range hosts {
		order[h], scores[h] = h, score(key, tile, hosts[h])
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(hosts[a].ID, hosts[b].ID))
	})
	return order
}

// score is -weight/ln(u).
func score(key string, tile int, host Host) float64 {
	hash := fnv.New64a()
	hash.Write([]byte(key))
	hash.Write(binary.LittleEndian.AppendUint64([]byte{0}, uint64(tile)))
	hash.Write([]byte(host.ID))
	u := (float64(mix(hash.Sum64())>>11) + 0.5) / (1 << 53)
	return -float64(weight(host)) / math.Log(u)
}

// mix spreads every bit over all others (the finalizer of splitmix64); FNV alone leaves the high
// bits of similar texts alike.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func weight(h Host) int { return max(1, h.Weight) }

func relative(load int, h Host) float64 { return float64(load) / float64(weight(h)) }

// less orders by load, then by id, so that the order of the hosts does not matter.
func less(a, b float64, ofA, ofB Host) bool { return a < b || a == b && ofA.ID < ofB.ID }

func largest(load []int, hosts []Host) float64 {
	high := 0.0
	for h := range hosts {
		high = max(high, relative(load[h], hosts[h]))
	}
	return high
}
