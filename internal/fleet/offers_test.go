package fleet_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/worker"
)

// logLines is a log that a test reads.
type logLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logLines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

// newTerms is a cluster whose fleet knows its term.
func newTerms(t *testing.T) (*cluster, *logLines) {
	t.Helper()
	lines := &logLines{}
	c := newCluster(t, func(cfg *fleet.Config) { cfg.Logger = hclog.New(&hclog.LoggerOptions{Output: lines}) })
	c.fleet.Begin(1)
	return c, lines
}

// nextTerm replaces the fleet by that of the next leader, and waits for the workers with what they hold.
func (c *cluster) nextTerm(term int64, workers int) {
	c.Helper()
	c.stop()
	c.start(func(f *fleet.Fleet) { f.Begin(term) })
	c.until("the workers are back", func() bool { return len(c.fleet.Workers()) == workers })
	if err := c.fleet.AwaitReturn(c.ctx); err != nil {
		c.Fatal(err)
	}
}

// The next leader starts a job over with the tiles that the workers hold. They have the bits of those that were
// built for it, whatever labels and operands they had, and none is built again.
func TestTheNextLeaderAdoptsTiles(t *testing.T) {
	for name, problemOf := range map[string]func() *problem{
		"points": func() *problem { return gaussianProblem(t, 203, 1) },
		"kernel": func() *problem { return kernelProblem(t, 203, 2) },
		"graph":  func() *problem { return graphProblem(t, 203, 900, 4) },
		"computed": func() *problem {
			p := gaussianProblem(t, 203, 3)
			p.storage = planning.None
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, lines := newTerms(t)
			c.startWorker("a")
			c.startWorker("b")
			p := problemOf()
			newSequence(c, c.submit(p, nil), p, 1).run(5, noDisturbance)
			opens := c.datasets.opens.Load()
			for term := int64(2); term <= 3; term++ {
				c.nextTerm(term, 2)
				p := problemOf() // without what it was loaded with
				e := c.submit(p, nil)
				if adopted := lines.count("adopted tiles"); adopted != 2*int(term-1) {
					t.Errorf("in term %d workers had adopted %d times", term, adopted)
				}
				newSequence(c, e, p, uint64(term)).run(5, noDisturbance)
			}
			if now := c.datasets.opens.Load(); now != opens {
				t.Errorf("%d parts of the data were fetched again", now-opens)
			}
		})
	}
}

func TestTheNextLeaderAdoptsVectors(t *testing.T) {
	t.Parallel()
	c, lines := newTerms(t)
	c.startWorker("a")
	c.startWorker("b")
	p := newVectorProblem(t, positivePoints(t, 203, 5, 1, 1), metric.SquaredEuclidean, false)
	newVectorSequence(c, c.submitVectors(p, nil), p, 1).run(5, noDisturbance)
	c.nextTerm(2, 2)
	e := c.submitVectors(p, nil)
	if adopted := lines.count("adopted tiles"); adopted != 2 {
		t.Errorf("workers adopted %d times", adopted)
	}
	newVectorSequence(c, e, p, 2).run(5, noDisturbance)
}

// The tiles of one worker are gone: those are built, and the others adopted.
func TestWhatIsMissingIsBuilt(t *testing.T) {
	t.Parallel()
	c, lines := newTerms(t)
	c.startWorker("a")
	b := c.startWorker("b")
	p := gaussianProblem(t, 203, 1)
	newSequence(c, c.submit(p, nil), p, 1).run(3, noDisturbance)
	b.kill()
	c.nextTerm(2, 1)
	p = gaussianProblem(t, 203, 1)
	e := c.submit(p, nil)
	if adopted := lines.count("adopted tiles"); adopted != 1 {
		t.Errorf("workers adopted %d times", adopted)
	}
	newSequence(c, e, p, 2).run(5, noDisturbance)
}

// Another job than that of the tiles adopts none, and gets their memory.
func TestTilesOfAnotherJobGiveWay(t *testing.T) {
	t.Parallel()
	c, lines := newTerms(t)
	p := gaussianProblem(t, 203, 1)
	other := gaussianProblem(t, 203, 2)
	_, size := c.datasets.put(t, p.data)
	p.storage, other.storage = planning.Float32, planning.Float32
	need := p.need(size)
	memory := need.FixedBytes(2) + 2*size
	for _, tile := range need.TileSizes() {
		memory += tile.Stored
	}
	c.startWorker("a", func(cfg *worker.Config) { cfg.MemoryBytes = uint64(memory) })
	newSequence(c, c.submit(p, nil), p, 1).run(3, noDisturbance)
	c.nextTerm(2, 1)
	newSequence(c, c.submit(other, nil), other, 2).run(5, noDisturbance)
	if adopted := lines.count("adopted tiles"); adopted != 0 {
		t.Errorf("workers adopted %d times", adopted)
	}
}

// A worker that has seen a later leader does not attach to an earlier one.
func TestAnEarlierLeaderGetsNoWorker(t *testing.T) {
	t.Parallel()
	c, _ := newTerms(t)
	hello := validHello()
	hello.Term = 2
	if _, _, err := c.attachScripted(hello); err == nil {
		t.Error("the worker was admitted")
	}
}
