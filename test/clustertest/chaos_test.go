package clustertest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"

	"github.com/cleave-project/cleave/test/testscale"
)

// TestChaos disturbs a cluster while three jobs run: workers are killed, paused, resumed, terminated and
// replaced, and the coordinator is killed and restarted. The results must not change. The seed determines
// what happens, but not exactly when, so no two runs are the same.
func TestChaos(t *testing.T) {
	testscale.LongOnly(t, "TestFaults strikes the same faults one by one")
	t.Parallel()
	for _, seed := range []uint64{1, 2} {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			s := &chaosRun{t: t, rng: random(seed)}
			s.c, s.workers = StartCluster(t, 3)
			loads := []*workload{longPoints(), longGraph(), longMetrics()}
			watches := make([]*Watch, len(loads))
			for i, load := range loads {
				_, watches[i] = load.run(s.c)
				watches[i].Resumes = true
			}
			for range 6 {
				iterations := len(watches[0].Events) + 10 + s.rng.IntN(20)
				watches[0].Until("the next disturbance", func(*cleavev1.WatchJobResponse) bool {
					return len(watches[0].Events) >= iterations
				})
				s.disturb()
			}
			s.resumePaused()
			for i, load := range loads {
				load.finish(t, "after "+s.history, watches[i])
			}
			s.c.AwaitWorkers(len(s.workers))
		})
	}
}

// chaosRun is a cluster and what has been done to it.
type chaosRun struct {
	t       testing.TB
	rng     *rand.Rand
	c       *Coordinator
	workers []*Worker
	started int
	paused  *Worker
	history string
}

// disturb kills, terminates or pauses something at random. At most one worker is paused at a time.
func (s *chaosRun) disturb() {
	s.t.Helper()
	s.resumePaused()
	at := s.rng.IntN(len(s.workers))
	victim := s.workers[at]
	switch s.rng.IntN(4) {
	case 0:
		s.note("killing %s", victim.Name)
		victim.Kill()
		s.replace(at)
	case 1:
		s.note("terminating %s", victim.Name)
		if code := victim.Terminate(); code != 0 {
			s.t.Errorf("%s ended with exit code %d", victim.Name, code)
		}
		s.replace(at)
	case 2:
		s.note("pausing %s", victim.Name)
		victim.Pause()
		s.paused = victim
	case 3:
		s.note("killing the coordinator")
		s.c.Kill()
		s.c.Restart()
	}
}

// resumePaused resumes the paused worker, if there is one.
func (s *chaosRun) resumePaused() {
	if s.paused != nil {
		s.paused.Resume()
		s.paused = nil
	}
}

func (s *chaosRun) replace(at int) {
	s.t.Helper()
	s.started++
	s.workers[at] = StartWorker(s.t, s.c, fmt.Sprintf("r%d", s.started))
}

func (s *chaosRun) note(format string, args ...any) {
	if s.history != "" {
		s.history += ", "
	}
	s.history += fmt.Sprintf(format, args...)
}
