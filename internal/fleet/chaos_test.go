package fleet_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/cleave-project/cleave/internal/worker"
)

// Kills, pauses, cuts, joins and drains at random moments, also while operations run. Whatever
// happens, the bits are those of one local shard; also when workers have hardly enough memory, so
// that tiles give up their storage and get it back.
func TestWhateverHappensTheBitsStay(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			p := gaussianProblem(t, 203, seed)
			memory := func(*worker.Config) {}
			if seed >= 3 {
				_, size := c.datasets.put(t, p.data)
				memory = p.memory(size, 5) // of 13 tiles, on each of three workers
			}
			hands := []*testWorker{c.startWorker("w0", memory), c.startWorker("w1", memory), c.startWorker("w2", memory)}
			s := newSequence(c, c.submit(p, nil), p, seed)
			var background sync.WaitGroup
			defer background.Wait()
			s.run(40, func(op int) {
				victim := s.random.IntN(len(hands))
				h := hands[victim]
				switch event := s.random.IntN(24); {
				case event < 1:
					background.Go(h.kill)
					hands[victim] = c.startWorker(fmt.Sprint("after-kill-", op), memory)
				case event < 2:
					background.Go(func() {
						if _, err := c.fleet.Drain(h.name); err != nil {
							t.Log(err) // it may be lost just now
						}
					})
					hands[victim] = c.startWorker(fmt.Sprint("after-drain-", op), memory)
				case event < 3:
					h.link.pause() // until it is resumed, killed, or declared lost
				case event < 8:
					background.Go(h.link.resume)
				case event < 12:
					background.Go(h.link.cut)
				}
			})
		})
	}
}
