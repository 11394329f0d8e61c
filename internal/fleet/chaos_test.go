package fleet_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/cleave-project/cleave/internal/worker"
)

// Workers are killed, paused, cut off, drained and replaced at random moments, even while operations run.
// The results must have the bits of a local shard. Some runs have so little memory that tiles give up
// their storage and get it back.
func TestChaosDoesNotChangeTheBits(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, losing)
			p := gaussianProblem(t, 203, seed)
			memory := func(*worker.Config) {}
			if seed >= 3 {
				_, size := c.datasets.put(t, p.data)
				memory = p.memory(size, 5) // of 13 tiles, on each of three workers
			}
			workers := []*testWorker{c.startWorker("w0", memory), c.startWorker("w1", memory),
				c.startWorker("w2", memory)}
			s := newSequence(c, c.submit(p, nil), p, seed)
			var background sync.WaitGroup
			defer background.Wait()
			s.run(40, func(op int) {
				victim := s.random.IntN(len(workers))
				w := workers[victim]
				switch event := s.random.IntN(24); {
				case event < 1:
					background.Go(w.kill)
					workers[victim] = c.startWorker(fmt.Sprint("after-kill-", op), memory)
				case event < 2:
					background.Go(func() {
						if _, err := c.fleet.Drain(w.name); err != nil {
							t.Log(err) // the worker may already be lost
						}
					})
					workers[victim] = c.startWorker(fmt.Sprint("after-drain-", op), memory)
				case event < 3:
					w.link.pause() // until it is resumed, killed, or declared lost
				case event < 8:
					background.Go(w.link.resume)
				case event < 12:
					background.Go(w.link.cut)
				}
			})
		})
	}
}
