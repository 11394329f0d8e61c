package partition

import (
	"cmp"
	"math"
	"slices"
)

const (
	// speedWindow is how many of the last operations tell how fast hosts are.
	speedWindow = 32
	// speedSamples is the least number of these operations that all hosts took part in.
	speedSamples = 16
)

// Work is what a host did, and how long it took. Amounts of different hosts must be comparable, such as the number of
// tiles that each of its threads could have worked on.
type Work struct{ Amount, Seconds float64 }

// Speed is how many seconds a host takes for one unit of work: in an average operation, and to build it.
type Speed struct{ Operation, Build float64 }

// Shares decides how large the shares of the hosts of a job are, from how fast they were in its operations and builds.
// At first shares follow the weights of hosts. Once measured speeds promise enough, they follow these, until later
// measurements promise enough again. Its zero value knows nothing.
type Shares struct {
	operations []map[string]Work // the last ones, by host
	builds     map[string]Work   // all of them, by host
	loads      map[string]Work
	speeds     map[string]Speed // that the shares are based on; nil if they follow the weights of hosts
	changes    int              // how often the speeds were replaced
}

// AddOperation records what each host did in an operation.
func (s *Shares) AddOperation(done map[string]Work) {
	s.operations = append(s.operations, done)
	s.operations = s.operations[max(0, len(s.operations)-speedWindow):]
}

// AddBuild records that a host built tiles.
func (s *Shares) AddBuild(host string, w Work) { add(&s.builds, host, w) }

// AddLoad records that a host computed what built tiles need before they take part in operations.
func (s *Shares) AddLoad(host string, w Work) { add(&s.loads, host, w) }

func add(to *map[string]Work, host string, w Work) {
	if *to == nil {
		*to = map[string]Work{}
	}
	was := (*to)[host]
	(*to)[host] = Work{Amount: was.Amount + w.Amount, Seconds: was.Seconds + w.Seconds}
}

// Forget drops a host's builds and loads. Its operations leave the window by themselves.
func (s *Shares) Forget(host string) {
	delete(s.builds, host)
	delete(s.loads, host)
}

// Speeds returns the speeds of hosts, or nil while there are too few operations in which all of them took part, or
// while nobody has built anything. It compares hosts within each operation, because operations differ, and takes the
// median over the operations, weighted by how long they took the host that was done first. So a few operations in
// which a host was slow do not matter.
func (s *Shares) Speeds(hosts []string) map[string]Speed {
	relative, mean, samples := map[string][]ratio{}, 0.0, 0
	for _, op := range s.operations {
		average := 0.0
		shortest := math.Inf(1)
		all := true
		for _, h := range hosts {
			all = all && op[h].Amount > 0
			average += perUnit(op[h]) / float64(len(hosts))
			shortest = min(shortest, op[h].Seconds)
		}
		if !all || shortest == 0 {
			continue
		}
		for _, h := range hosts {
			relative[h] = append(relative[h], ratio{value: perUnit(op[h]) / average, weight: shortest})
		}
		mean += average
		samples++
	}
	if samples < speedSamples || len(s.builds) == 0 {
		return nil
	}
	mean /= float64(samples)
	speeds := map[string]Speed{}
	builds := secondsPerUnit(hosts, s.builds)
	loads := secondsPerUnit(hosts, s.loads)
	for _, h := range hosts {
		speeds[h] = Speed{Operation: mean * median(relative[h]), Build: builds[h] + loads[h]}
	}
	return speeds
}

// secondsPerUnit returns how long each host takes for one unit. A host that has done none is taken to be as fast as the
// slowest other one.
func secondsPerUnit(hosts []string, done map[string]Work) map[string]float64 {
	seconds, slowest := map[string]float64{}, 0.0
	for _, h := range hosts {
		seconds[h] = perUnit(done[h])
		slowest = max(slowest, seconds[h])
	}
	for _, h := range hosts {
		if done[h].Amount == 0 {
			seconds[h] = slowest
		}
	}
	return seconds
}

func perUnit(w Work) float64 {
	if w.Amount == 0 {
		return 0
	}
	return w.Seconds / w.Amount
}

// ratio is a value and its weight in median.
type ratio struct{ value, weight float64 }

// median returns the lowest value such that those up to it have at least half of all weight.
func median(of []ratio) float64 {
	slices.SortFunc(of, func(a, b ratio) int { return cmp.Compare(a.value, b.value) })
	all, upTo := 0.0, 0.0
	for _, r := range of {
		all += r.weight
	}
	for _, r := range of {
		if upTo += r.weight; upTo >= all/2 {
			return r.value
		}
	}
	return of[len(of)-1].value
}

// Weigh returns hosts with the weights that the shares are based on.
func (s *Shares) Weigh(hosts []Host) []Host { return weigh(hosts, s.speeds) }

// SpeedsDue reports whether it is time to compare speeds, after a number of operations on one placement.
func SpeedsDue(operations int) bool { return operations > 0 && operations%speedSamples == 0 }

// savingsGrowth is how many times as much each change of the shares must save than the one before.
const savingsGrowth = 4

// Gain is what moving tiles gains: how many seconds each operation becomes shorter, and how many it takes to build the
// moved tiles.
type Gain struct{ Saved, Cost float64 }

// Rebalance moves tiles of a layout so that all hosts finish operations at about the same time, if that pays: if the
// longest part of an operation becomes shorter by a tenth, and if as many operations as there were on this placement
// become shorter, together, by as much as it takes to build the moved tiles, and by at least the given number of
// seconds. After each change the next one must save savingsGrowth times as much. So a job never spends more time on
// moving tiles than it has lost before because of their placement, and moves them ever more rarely if speeds keep
// changing.
//
// Otherwise, or while the speeds of hosts with tiles are unknown, Rebalance returns false and moves nothing. Each host
// keeps at least one of its tiles, so that its speed remains known. All tiles must have a host.
func (s *Shares) Rebalance(l *Layout, rule StorageRule, operations int, atLeast float64) (Gain, bool) {
	var members []string
	for h, host := range l.hosts {
		if l.load[h] > 0 {
			members = append(members, host.ID)
		}
	}
	speeds := s.Speeds(members)
	if speeds == nil {
		return Gain{}, false
	}
	factor := math.Pow(savingsGrowth, float64(s.changes))
	after := l.clone()
	after.hosts = weigh(l.hosts, speeds)
	after.share = shares(len(l.sizes), after.hosts)
	was := maxLoad(l.load, after.hosts)
	all := 0.0
	for _, host := range after.hosts {
		all += host.Weight
	}
	pays := func(is, cost float64) bool {
		return is <= worthMoving*was && (was-is)*float64(operations) >= factor*max(cost, atLeast)
	}
	if !pays(float64(len(l.Owner))/all, 0) { // not even tiles that can be divided would pay
		return Gain{}, false
	}
	after.levelOut(rule, 1)
	is := maxLoad(after.load, after.hosts)
	gain := Gain{Saved: was - is, Cost: buildSeconds(l, after, speeds)}
	if !pays(is, gain.Cost) {
		return Gain{}, false
	}
	*l = *after
	s.speeds = speeds
	s.changes++
	return gain, true
}

// buildSeconds returns how long it takes to build the tiles that have moved from one layout to another. Hosts build at
// the same time. A host without a speed is taken to be as fast as the slowest other one.
func buildSeconds(before, after *Layout, speeds map[string]Speed) float64 {
	slowest := 0.0
	for _, s := range speeds {
		slowest = max(slowest, s.Build)
	}
	arrived := make([]int, len(after.hosts))
	for tile, h := range after.Owner {
		if h != before.Owner[tile] {
			arrived[h]++
		}
	}
	longest := 0.0
	for h, host := range after.hosts {
		build := slowest
		if s, known := speeds[host.ID]; known {
			build = s.Build
		}
		longest = max(longest, build*float64(arrived[h]))
	}
	return longest
}

// weigh returns hosts whose weights are the units of work that they do in a second. A host without a speed is taken to
// be as fast, for its weight, as the median of the others. Without any speeds, hosts keep their weights.
func weigh(hosts []Host, speeds map[string]Speed) []Host {
	var known []ratio
	for _, h := range hosts {
		if s, ok := speeds[h.ID]; ok {
			known = append(known, ratio{value: 1 / (s.Operation * weight(h)), weight: 1})
		}
	}
	if len(known) == 0 {
		return hosts
	}
	typical := median(known)
	weighed := slices.Clone(hosts)
	for i, h := range hosts {
		weighed[i].Weight = typical * weight(h)
		if s, ok := speeds[h.ID]; ok {
			weighed[i].Weight = 1 / s.Operation
		}
	}
	return weighed
}
