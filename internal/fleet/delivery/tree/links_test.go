package tree

import (
	"fmt"
	"testing"
)

// network is workers with equal links. In each step every link sends as much as one piece, in equal parts to all who
// read from there a piece that is there.
type network struct {
	*Tree
	pieces int
	got    map[string]float64 // pieces that a worker has, in order
}

// step lets the links send for as long as one of them takes for a piece.
func (n *network) step() {
	const parts = 4
	for range parts {
		n.send(1.0 / parts)
	}
}

func (n *network) send(most float64) {
	readers := map[string][]string{} // by parent; "" is the coordinator
	for name := range n.got {
		source := n.Source(name)
		has := float64(n.pieces)
		if source.Kind == Parent {
			has = float64(int(n.got[source.Parent])) // a piece is passed on once it is complete
		}
		if n.got[name] < has {
			readers[source.Parent] = append(readers[source.Parent], name)
		}
	}
	for parent, names := range readers {
		has := float64(n.pieces)
		if parent != "" {
			has = float64(int(n.got[parent]))
		}
		for _, name := range names {
			n.got[name] = min(n.got[name]+most/float64(len(names)), has)
		}
	}
}

func (n *network) done() bool {
	for _, got := range n.got {
		if got < float64(n.pieces) {
			return false
		}
	}
	return true
}

// On equal links, a data set of 500 MB reaches any number of workers in little more than twice the time of one: the
// coordinator and every worker send it twice.
func TestTimeOnEqualLinks(t *testing.T) {
	for _, workers := range []int{1, 2, 8, 200} {
		n := &network{Tree: New(), pieces: 120, got: map[string]float64{}}
		for at := range workers {
			name := fmt.Sprint("w", at)
			n.Join(name, true, false)
			n.got[name] = 0
		}
		steps := 0
		for ; !n.done() && steps < 10*n.pieces; steps++ {
			n.step()
		}
		times := float64(steps) / float64(n.pieces)
		t.Logf("%d workers: %.2f times the time of one", workers, times)
		if times > 2.3 {
			t.Errorf("%d workers have it after %.2f times the time of one", workers, times)
		}
	}
}
