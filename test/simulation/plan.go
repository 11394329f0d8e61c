package simulation

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// plan says which faults happen. Each is a function of the seed, of where it happens and of how many messages or steps
// there were at that place before, so that a seed gives the same faults again as long as the processes do the same.
type plan struct {
	seed  uint64
	rate  float64 // how likely a fault is, at every message and step
	start time.Time

	mu       sync.Mutex
	counts   map[string]uint64
	left     int // how many faults may happen
	crashes  int // how many of them may end a coordinator
	history  []string
	happened map[kind]int
}

// maxCrashes is how often a job may run while the coordinator ends, without failing.
const maxCrashes = 2

func newPlan(seed uint64) *plan {
	rng := rand.New(rand.NewPCG(seed, 1))
	rates := []float64{0.004, 0.02, 0.1}
	return &plan{
		seed: seed, rate: rates[rng.IntN(len(rates))], left: 1 + rng.IntN(10), crashes: maxCrashes,
		counts: map[string]uint64{}, happened: map[kind]int{}, start: time.Now(),
	}
}

// count numbers what happens at a place, from 1.
func (p *plan) count(where string) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[where]++
	return p.counts[where]
}

// random returns the generator of one message or step.
func (p *plan) random(where string, number uint64) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", where, number)
	return rand.New(rand.NewPCG(p.seed, h.Sum64()))
}

const minLatency = 50 * time.Microsecond

// latency returns how long a message is under way.
func (p *plan) latency(where string, number uint64) time.Duration {
	return minLatency + time.Duration(p.random("latency "+where, number).Int64N(int64(2*time.Millisecond)))
}

// kind is a kind of fault.
type kind int

const (
	none      kind = iota
	slow           // it takes longer
	cut            // the connection breaks
	halfOpen       // the connection passes nothing any more, and nobody is told
	pauseNode      // a process is stopped for a while
	killNode       // a process ends, and is started again

	refuse     // the store answers with a transient error
	loseAnswer // the store does it, but answers with a transient error
	diskFull   // the store refuses what takes space, for a while
	depose     // the term of the leader ends, as when its lease expires
	kinds
)

var names = [kinds]string{"", "slow", "cut", "half-open", "pause", "kill", "refuse", "lose the answer",
	"disk full", "depose"}

func (k kind) String() string { return names[k] }

// disturbance is what happens to a message or a step of the store.
type disturbance struct {
	what  kind
	loses bool          // before it arrives or is done
	far   bool          // to the receiver rather than to the sender
	power bool          // with the machine: its peers are not told
	delay time.Duration // of the message or step itself
	pause time.Duration // of a process, or of what the store refuses
}

// draw draws a fault of some kinds, for one message or step.
func (p *plan) draw(where string, number uint64, rate float64, of ...kind) disturbance {
	rng := p.random(where, number)
	if rng.Float64() >= rate {
		return disturbance{}
	}
	f := disturbance{what: of[rng.IntN(len(of))], loses: rng.IntN(2) == 0, far: rng.IntN(2) == 0,
		power: rng.IntN(3) == 0}
	f.pause = time.Duration(
		rng.Int64N(int64([]time.Duration{time.Second, 5 * time.Second, 20 * time.Second}[rng.IntN(3)])))
	if f.what == slow {
		f.delay, f.loses = f.pause, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		return disturbance{}
	}
	if endsCoordinator := f.what == depose ||
		f.what == killNode &&
			(!strings.Contains(where, ">") || strings.HasPrefix(where, "coordinator") != f.far); endsCoordinator {
		if p.crashes == 0 {
			return disturbance{}
		}
		p.crashes--
	}
	p.left--
	p.happened[f.what]++
	p.history = append(p.history, fmt.Sprintf("%v: %v at %s %d %+v", time.Since(p.start), f.what, where, number, f))
	return f
}

func (p *plan) onMessage(link string, number uint64) disturbance {
	f := p.draw(link, number, p.rate, slow, cut, halfOpen, pauseNode, killNode)
	if f.what == cut || f.what == killNode || f.what == none {
		return f
	}
	f.loses = f.what == halfOpen && f.loses
	return f
}

// stepsPerMessage makes faults of the store as likely as those of the network, which has more messages.
const stepsPerMessage = 5

func (p *plan) onStep(where string) disturbance {
	return p.draw(where, p.count(where), p.rate*stepsPerMessage, slow, killNode, refuse, loseAnswer, diskFull, depose)
}

// ids returns the generator of the identifiers of processes, on which the placement of tiles depends.
func (p *plan) ids() io.Reader {
	return &lockedReader{from: rand.NewChaCha8([32]byte([]byte(fmt.Sprintf("%032d", p.seed))))}
}

type lockedReader struct {
	mu   sync.Mutex
	from io.Reader
}

func (r *lockedReader) Read(into []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.from.Read(into)
}

// again reports whether a request is sent twice.
func (p *plan) again(method string) bool {
	return p.rate > 0 && p.random("again "+method, p.count("again "+method)).IntN(4) == 0
}

// end ends the faults: from now on everything works.
func (p *plan) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = 0
}

// describe says what happened, for people.
func (p *plan) describe() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.history, "\n")
}
