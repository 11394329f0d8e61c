package fleet_test

import (
	"testing"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/test/bubble"
)

// A worker that waits for ever would never be given up in these tests, unless others overtake it.
func hurried(cfg *fleet.Config) {
	cfg.SlowAfter, cfg.LostAfter, cfg.StalledAfter = 100*time.Millisecond, never, never
}

// One of three workers stops in the middle of an operation, whichever it is, and is not lost: the others do its work,
// with the same answers. When it goes on, what it answers is too late. Time is virtual, because a busy machine would
// make the others slow too, and nobody overtakes the last one.
func TestAStragglerIsOvertaken(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		bubble.Test(t, func(t *testing.T) {
			c := openCluster(t, true, hurried)
			slow := c.startWorker("slow")
			c.startWorker("b")
			c.startWorker("c")
			p := gaussianProblem(t, 203, seed)
			began := time.Now()
			newSequence(c, c.submit(p, nil), p, seed).run(20, func(op int) {
				switch op % 5 {
				case 3:
					slow.link.pause()
				case 4:
					slow.link.resume()
				}
			})
			if w := c.worker("slow"); w == nil {
				t.Errorf("the slow worker is %+v", w)
			}
			if took := time.Since(began); took > overtaking {
				t.Errorf("the job waited for %v", took)
			}
		})
	}
}

// overtaking is more than the time in which others overtake a worker several times.
const overtaking = 5 * time.Second

// The only other worker takes the tiles of the straggler over.
func TestAStragglerIsOvertakenByTheOnlyOther(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := openCluster(t, true, hurried)
		slow := c.startWorker("slow")
		c.startWorker("b")
		p := gaussianProblem(t, 203, 1)
		began := time.Now()
		newSequence(c, c.submit(p, nil), p, 1).run(10, func(op int) {
			switch op % 5 {
			case 3:
				slow.link.pause()
			case 4:
				slow.link.resume()
			}
		})
		if took := time.Since(began); took > overtaking {
			t.Errorf("the job waited for %v", took)
		}
	})
}

// The same for vectors.
func TestAStragglerWithVectorsIsOvertaken(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := openCluster(t, true, hurried)
		slow := c.startWorker("slow")
		c.startWorker("b")
		p := newVectorProblem(t, randomPoints(t, 3000, 5, 1), metric.SquaredEuclidean, false)
		began := time.Now()
		newVectorSequence(c, c.submitVectors(p, nil), p, 1).run(12, func(op int) {
			switch op % 6 {
			case 3:
				slow.link.pause()
			case 5:
				slow.link.resume()
			}
		})
		if took := time.Since(began); took > overtaking {
			t.Errorf("the job waited for %v", took)
		}
	})
}

// A worker that stops while it builds: the build goes on elsewhere, and the straggler gets tiles again later.
func TestAStragglerInTheBuildIsOvertaken(t *testing.T) {
	t.Parallel()
	c := newCluster(t, hurried)
	a, _, err := c.attachScripted(validHello())
	if err != nil {
		t.Fatal(err)
	}
	stop := a.startHeartbeats()
	built := make(chan struct{}, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- func() error {
			for {
				m, err := a.stream.Recv()
				if err != nil {
					return err
				}
				if command := m.GetCommand(); command.GetBuild() != nil {
					built <- struct{}{} // and no answer
				} else if command != nil {
					a.send(&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Answer{Answer: &workerv1.Answer{
						CommandId: command.GetCommandId(), Outcome: &workerv1.Answer_Done{Done: &workerv1.Done{}}}}})
				}
			}
		}()
	}()
	t.Cleanup(func() { stop(); c.fleet.Close(); <-ended })
	c.startWorker("able")
	p := gaussianProblem(t, 203, 1)
	newSequence(c, c.submit(p, nil), p, 1).run(8, noDisturbance)
	<-built
	if able := c.worker("able"); able.Tiles != 13 {
		t.Errorf("the able worker has %d of 13 tiles", able.Tiles)
	}
	if slow := c.worker("scripted"); slow == nil || slow.ReservedBytes != 0 || slow.Message == "" {
		t.Errorf("the slow worker is %+v", slow)
	}
}
