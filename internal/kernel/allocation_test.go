package kernel

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/partition"
)

// Once they have run, full sweeps, deltas and assignments allocate nothing, in any number of lanes, on
// tiles that are stored or not.
func TestSweepsAllocateNothing(t *testing.T) {
	ctx := context.Background()
	for _, stored := range []bool{true, false} {
		for _, lanes := range []int{1, 3} {
			const n, k = 600, 4
			p := newProblem(t, rand.New(rand.NewPCG(5, 6)), n, k, Gaussian)
			s := NewShard(p.source, 2)
			tiles := partition.AllTiles(n)
			if err := s.Build(ctx, tiles, stored); err != nil {
				panic(err)
			}
			operands := p.operands
			operands.Lanes = lanes
			setOperands(t, s, operands)
			labels := make([]int32, lanes*n)
			stats := make([]ClusterStats, lanes)
			back := make([]labeling.Move, 0, lanes*n)
			forth := make([]labeling.Move, 0, lanes*n)
			for lane := range lanes {
				stats[lane] = ClusterStats{Lane: lane, Weight: []float64{3, 4, 5, 6},
					SelfAffinity: []float64{1, 2, 3, 4}, Count: []int32{3, 4, 5, 6}}
				for i := range n {
					c := int32(lane*k + (i+lane)%k)
					labels[lane*n+i] = c
					if i%5 == lane {
						to := int32(lane*k + (i+lane+1+i%3)%k)
						forth = append(forth, labeling.Move{Point: int32(i), From: c, To: to})
						back = append(back, labeling.Move{Point: int32(i), From: to, To: c})
					}
				}
			}
			step := uint64(0)
			load := func() {
				step++
				must(s.Load(ctx, tiles, step, labels))
			}
			update := func() {
				must(s.Update(ctx, tiles, step, forth))
				must(s.Update(ctx, tiles, step+1, back))
				step += 2
			}
			assign := func() { must(s.Assign(ctx, tiles, step, stats)) }
			for at, run := range []func(){load, update, assign} {
				run()
				if got := testing.AllocsPerRun(10, run); got >= 1 {
					t.Errorf("stored %v, %d lanes: %s allocates %v times", stored, lanes,
						[]string{"load", "update", "assign"}[at], got)
				}
			}
		}
	}
}
