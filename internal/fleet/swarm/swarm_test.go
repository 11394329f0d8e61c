package swarm

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/test/testscale"
)

var testLimits = Limits{Downloads: 3, Uploads: 2, Direct: 2, Coordinator: 4, Window: 16, InOrder: 2}

// world carries out assignments in a random order, and checks each of them against what it knows by itself.
type world struct {
	t        *testing.T
	random   *rand.Rand
	swarm    *Swarm
	pieces   int
	underWay []Assignment
	has      map[string]map[int]bool
	wants    map[string]map[int]bool // nil for those that need everything
	keeps    map[string]bool
	serves   map[string]bool
	blocked  map[[2]string]bool // pairs that cannot reach each other
	liars    map[string]bool
	noStore  map[string]bool
	copies   map[int]int
	gone     map[place]bool // pieces that workers can no longer pass on
}

type place struct {
	member string
	piece  int
}

func newWorld(t *testing.T, seed uint64, pieces int) *world {
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), swarm: New(pieces, testLimits), pieces: pieces,
		has: map[string]map[int]bool{}, wants: map[string]map[int]bool{}, keeps: map[string]bool{}, serves: map[string]bool{}, blocked: map[[2]string]bool{},
		liars: map[string]bool{}, noStore: map[string]bool{}, copies: map[int]int{}, gone: map[place]bool{},
	}
	w.swarm.SetKnown(pieces)
	return w
}

func (w *world) join(name string, keeps, serves bool, has ...int) {
	w.has[name], w.keeps[name], w.serves[name] = map[int]bool{}, keeps, keeps && serves
	for _, p := range has {
		w.has[name][p] = true
	}
	w.swarm.Join(name, has, nil, keeps, keeps && serves)
}

// joinPartly adds a worker that needs no pieces until want is called.
func (w *world) joinPartly(name string, keeps, serves bool, has ...int) {
	w.join(name, keeps, serves, has...)
	w.swarm.Join(name, has, []int{}, keeps, keeps && serves)
	w.wants[name] = map[int]bool{}
}

func (w *world) want(name string, piece int) {
	w.swarm.Want(name, piece)
	if w.wants[name] != nil {
		w.wants[name][piece] = true
	}
}

func (w *world) needs(name string, piece int) bool {
	return w.has[name] != nil && !w.has[name][piece] && (w.wants[name] == nil || w.wants[name][piece])
}

func (w *world) leave(name string) {
	w.swarm.Leave(name)
	delete(w.has, name)
	delete(w.wants, name)
	maps.DeleteFunc(w.gone, func(p place, _ bool) bool { return p.member == name })
	w.underWay = slices.DeleteFunc(w.underWay, func(a Assignment) bool { return a.Member == name })
	for i := range w.underWay {
		if w.underWay[i].From.Peer == name {
			w.underWay[i].From.Peer = "a worker that left"
		}
	}
}

// assign takes the next assignments and checks them.
func (w *world) assign() {
	w.t.Helper()
	for _, a := range w.swarm.Next() {
		switch {
		case !w.needs(a.Member, a.Piece):
			w.t.Fatalf("%+v is not needed", a)
		case a.From.Kind == Peer && w.has[a.From.Peer] != nil && (!w.serves[a.From.Peer] || !w.has[a.From.Peer][a.Piece] || w.gone[place{a.From.Peer, a.Piece}]):
			w.t.Fatalf("%+v is from a worker that does not pass it on", a)
		}
		for _, other := range w.underWay {
			if other.Member == a.Member && other.Piece == a.Piece {
				w.t.Fatalf("%+v is under way already", a)
			}
		}
		if a.From.Kind == Coordinator {
			w.copies[a.Piece]++
		}
		w.underWay = append(w.underWay, a)
	}
	downloads, uploads, direct, all := map[string]int{}, map[string]int{}, map[string]int{}, 0
	for _, a := range w.underWay {
		downloads[a.Member]++
		switch a.From.Kind {
		case Peer:
			uploads[a.From.Peer]++
		case Coordinator:
			direct[a.Member]++
			all++
		}
	}
	over := func(counts map[string]int, limit int) bool {
		return len(counts) > 0 && slices.Max(slices.Collect(maps.Values(counts))) > limit
	}
	if over(downloads, testLimits.Downloads) || over(direct, testLimits.Direct) || all > testLimits.Coordinator {
		w.t.Fatalf("too many transfers: %v, %v from the coordinator", downloads, direct)
	}
	delete(uploads, "a worker that left")
	if over(uploads, testLimits.Uploads) {
		w.t.Fatalf("too many transfers from workers: %v", uploads)
	}
}

// step ends a random transfer as the world has it.
func (w *world) step() {
	at := w.random.IntN(len(w.underWay))
	a := w.underWay[at]
	w.underWay = slices.Delete(w.underWay, at, at+1)
	switch {
	case a.From.Kind == Store && w.noStore[a.Member]:
		w.swarm.Failed(a.Member, a.Piece, false)
	case a.From.Kind == Peer && (w.has[a.From.Peer] == nil || w.blocked[[2]string{a.Member, a.From.Peer}]):
		w.swarm.Failed(a.Member, a.Piece, false)
	case a.From.Kind == Peer && !w.has[a.From.Peer][a.Piece]:
		w.swarm.Failed(a.Member, a.Piece, true)
	case a.From.Kind == Peer && w.liars[a.From.Peer]:
		w.swarm.Failed(a.Member, a.Piece, false)
	default:
		w.has[a.Member][a.Piece] = true
		delete(w.gone, place{a.Member, a.Piece})
		w.swarm.Arrived(a.Member, a.Piece)
	}
}

// finish runs until every worker has everything that it needs, which it must.
func (w *world) finish() {
	w.t.Helper()
	for limit := 100 * w.pieces * (len(w.has) + 1); ; limit-- {
		w.assign()
		if len(w.underWay) == 0 || limit == 0 {
			break
		}
		w.step()
	}
	for name, has := range w.has {
		for p := range w.pieces {
			if w.needs(name, p) {
				w.t.Fatalf("%s has %d of %d pieces, but not piece %d, and nothing is under way", name, len(has), w.pieces, p)
			}
		}
	}
}

func (w *world) mostCopies() int {
	most := 0
	for _, n := range w.copies {
		most = max(most, n)
	}
	return most
}

// Where all workers reach each other, the coordinator sends every piece once, whatever the number and order.
func TestOneCopyForAll(t *testing.T) {
	for seed := range uint64(testscale.Count(60, 300)) {
		w := newWorld(t, seed, 1+int(seed%40))
		w.join("first", true, true)
		for i := range w.random.IntN(12) {
			w.join(fmt.Sprint("worker ", i), w.random.IntN(2) == 0, true)
			w.assign()
			for range w.random.IntN(10) {
				if len(w.underWay) > 0 {
					w.step()
				}
				w.assign()
			}
		}
		w.finish()
		if most := w.mostCopies(); most > 1 {
			t.Fatalf("seed %d: the coordinator sent a piece %d times", seed, most)
		}
	}
}

// Two workers that lie, break or cannot be reached by some cost one more copy at most.
func TestSecondCopy(t *testing.T) {
	for seed := range uint64(testscale.Count(60, 300)) {
		w := newWorld(t, seed, 1+int(seed%30))
		for i := range 8 {
			w.join(fmt.Sprint("worker ", i), true, true)
		}
		w.liars["worker 3"] = true
		w.finish()
		if most := w.mostCopies(); most > 2 {
			t.Fatalf("seed %d: the coordinator sent a piece %d times", seed, most)
		}
	}
}

// Where workers that reach each other need different pieces, the coordinator sends each piece that somebody needs
// once, and no others. Needs grow as if tiles moved.
func TestOneCopyOfWhatIsNeeded(t *testing.T) {
	for seed := range uint64(testscale.Count(60, 300)) {
		w := newWorld(t, seed, 1+int(seed%40))
		needed := map[int]bool{}
		for range 10 + w.random.IntN(20) {
			name := fmt.Sprint("worker ", w.random.IntN(6))
			if w.has[name] == nil {
				w.joinPartly(name, true, true)
			}
			p := w.random.IntN(w.pieces)
			for range w.random.IntN(min(8, w.pieces-p) + 1) {
				w.want(name, p)
				needed[p] = true
				p++
			}
			w.assign()
			for range w.random.IntN(6) {
				if len(w.underWay) > 0 {
					w.step()
					w.assign()
				}
			}
		}
		w.finish()
		for p := range w.pieces {
			if want := map[bool]int{true: 1}[needed[p]]; w.copies[p] != want {
				t.Fatalf("seed %d: the coordinator sent piece %d %d times, and it should be %d", seed, p, w.copies[p], want)
			}
		}
	}
}

// Whatever happens, every worker that stays gets everything that it needs.
func TestEveryRunEnds(t *testing.T) {
	for seed := range uint64(testscale.Count(200, 1000)) {
		w := newWorld(t, seed, 1+int(seed%25))
		w.swarm.SetKnown(0)
		w.swarm.SetStore(seed%3 == 0)
		name := func() string { return fmt.Sprint("worker ", w.random.IntN(9)) }
		for range 120 {
			switch w.random.IntN(11) {
			case 9, 10:
				n, p := name(), w.random.IntN(w.pieces)
				for range w.random.IntN(w.pieces - p + 1) {
					w.want(n, p)
					p++
				}
			case 0, 1, 2:
				var has []int
				for p := range w.pieces {
					if w.random.IntN(4) == 0 {
						has = append(has, p)
					}
				}
				join := w.join
				if w.random.IntN(2) == 0 {
					join = w.joinPartly
				}
				if n := name(); w.has[n] == nil {
					join(n, w.random.IntN(3) > 0, w.random.IntN(3) > 0, has...)
				}
			case 3:
				w.leave(name())
			case 4:
				w.blocked[[2]string{name(), name()}] = true
			case 5:
				w.liars[name()] = w.random.IntN(3) == 0
			case 6:
				w.noStore[name()] = true
			case 7:
				if n, p := name(), w.random.IntN(w.pieces); w.has[n][p] {
					needed := w.random.IntN(2) == 0
					w.swarm.Lost(n, p, needed)
					if needed {
						delete(w.has[n], p)
						w.want(n, p)
					} else {
						w.gone[place{n, p}] = true
					}
				}
			case 8:
				w.swarm.SetKnown(w.swarm.known + w.random.IntN(4))
			}
			w.assign()
			for range w.random.IntN(6) {
				if len(w.underWay) > 0 {
					w.step()
					w.assign()
				}
			}
		}
		w.swarm.SetKnown(w.pieces)
		w.finish()
	}
}

// Reports about transfers that nobody assigned change nothing.
func TestReportsOfNobody(t *testing.T) {
	s := New(2, testLimits)
	s.SetKnown(2)
	s.Join("a", []int{-1, 0, 7}, nil, true, true)
	for _, piece := range []int{-1, 0, 1, 2} {
		s.Want("b", piece)
		if _, assigned := s.Arrived("a", piece); assigned {
			t.Errorf("piece %d was never assigned", piece)
		}
		s.Lost("b", piece, true)
		s.Lost("a", piece, false)
		if _, assigned := s.Failed("b", piece, true); assigned {
			t.Errorf("b is no member and failed at piece %d", piece)
		}
	}
	if got := s.Next(); len(got) != 1 || got[0].Piece != 1 {
		t.Errorf("%v", got)
	}
}

// A worker that reaches no peer stops trying after a few, and is served by the coordinator.
func TestIsolatedWorker(t *testing.T) {
	w := newWorld(t, 1, 20)
	var everything []int
	for p := range w.pieces {
		everything = append(everything, p)
	}
	for i := range 10 {
		w.join(fmt.Sprint("worker ", i), true, true, everything...)
		w.blocked[[2]string{"isolated", fmt.Sprint("worker ", i)}] = true
	}
	w.join("isolated", true, true)
	w.finish()
	if tried := len(w.swarm.byName["isolated"].avoids); tried > giveUpPeers+testLimits.Downloads {
		t.Errorf("it tried %d peers", tried)
	}
}

// Workers that cannot reach each other for a while ask each other again later, so that the coordinator need not send
// everything to each of them.
func TestPeersThatFailForAWhile(t *testing.T) {
	const workers = 8
	w := newWorld(t, 1, 300)
	for i := range workers {
		for j := range workers {
			w.blocked[[2]string{fmt.Sprint("worker ", i), fmt.Sprint("worker ", j)}] = true
		}
	}
	for i := range workers {
		w.join(fmt.Sprint("worker ", i), true, true)
	}
	w.assign()
	for range 100 {
		w.step()
		w.assign()
	}
	clear(w.blocked)
	w.finish()
	total := 0
	for _, copies := range w.copies {
		total += copies
	}
	if total > 2*w.pieces {
		t.Errorf("the coordinator sends %d pieces to %d workers; one copy is %d", total, workers, w.pieces)
	}
}

// A worker that cannot read the object store asks it again later, so that one busy moment of the store does not make
// the coordinator send everything.
func TestAStoreThatFailsForAWhile(t *testing.T) {
	w := newWorld(t, 1, 100)
	w.swarm.SetStore(true)
	w.join("a", true, true)
	w.noStore["a"] = true
	w.assign()
	for range testLimits.Downloads {
		w.step()
	}
	clear(w.noStore)
	w.finish()
	if sent := len(w.copies); sent == 0 || sent > 2*retryAfter {
		t.Errorf("the coordinator sends %d of %d pieces after one failure of the object store", sent, w.pieces)
	}
}

// Failures of the object store do not count as peers that cannot be reached.
func TestTheStoreIsNoPeer(t *testing.T) {
	w := newWorld(t, 1, 1)
	w.swarm.SetStore(true)
	w.join("peer", true, true, 0)
	w.join("a", true, true)
	a := w.swarm.byName["a"]
	for i := range giveUpPeers - 1 {
		a.avoid(fmt.Sprint("unreachable ", i))
	}
	a.avoid("")
	if got := w.swarm.Next(); len(got) != 1 || got[0].From.Kind != Peer {
		t.Errorf("%+v", got)
	}
}

// Members of many workers and pieces are found fast enough for the coordinator, which holds a lock meanwhile.
func BenchmarkNext(b *testing.B) {
	for b.Loop() {
		s, transfers := New(1024, DefaultLimits()), 0
		s.SetKnown(1024)
		for i := range 40 {
			s.Join(fmt.Sprint(i), nil, nil, true, true)
		}
		for under := s.Next(); len(under) > 0; transfers++ {
			s.Arrived(under[0].Member, under[0].Piece)
			under = append(under[1:], s.Next()...)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(transfers), "ns/transfer")
	}
}
