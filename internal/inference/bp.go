package inference

import (
	"context"
	"math"
)

// Loopy belief propagation is damped, so that messages on cycles settle, and stops after some rounds if they do not.
const (
	damping        = 0.5
	messageSettled = 1e-10 // relative to the largest weight
)

// beliefs holds the messages of max-product in the log domain: costs whose minimum is 0.
type beliefs struct {
	g          *graph
	message    []float64 // edges x k: what edge e's own point receives from its other end
	reverse    []int     // edges: the index of the same edge in the other point's list
	belief     []float64 // scratch: k
	outgoing   []float64 // scratch: k
	newMessage []float64 // scratch: k
}

// newBeliefs returns messages that are all 0.
func newBeliefs(g *graph) *beliefs {
	b := &beliefs{g: g, message: make([]float64, len(g.to)*g.k), reverse: make([]int, len(g.to)),
		belief: make([]float64, g.k), outgoing: make([]float64, g.k), newMessage: make([]float64, g.k)}
	next := append([]int(nil), g.start...)
	for i := range g.size() { // all lists are ascending, so that the two ends of an edge meet in order
		for e := g.start[i]; e < g.start[i+1]; e++ {
			j := g.to[e]
			b.reverse[e] = next[j]
			next[j]++
		}
	}
	return b
}

func (b *beliefs) messageAt(e int) []float64 { return b.message[e*b.g.k : (e+1)*b.g.k] }

// loopyBP passes messages over a graph with cycles and decodes them; preferred labels win ties. The schedule is
// fixed: each round goes up through the points with messages to higher ones, then down with messages to lower
// ones, so that information crosses the graph in one round.
func loopyBP(ctx context.Context, g *graph, prefer []int32, rounds int) (labels []int32, used int, err error) {
	b := newBeliefs(g)
	settled := 0.0
	for _, w := range g.weight {
		settled = max(settled, messageSettled*math.Abs(w))
	}
	n := int32(g.size())
	for used < rounds {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		used++
		change := 0.0
		for i := range n {
			moved, _ := b.send(i, true, 1, damping)
			change = max(change, moved)
		}
		for i := n - 1; i >= 0; i-- {
			moved, _ := b.send(i, false, 1, damping)
			change = max(change, moved)
		}
		if change <= settled {
			break
		}
	}
	return b.decode(prefer), used, nil
}

// gather sums a point's own costs and the messages to it.
func (b *beliefs) gather(i int32) []float64 {
	copy(b.belief, b.g.row(i))
	for e := b.g.start[i]; e < b.g.start[i+1]; e++ {
		for label, m := range b.messageAt(e) {
			b.belief[label] += m
		}
	}
	return b.belief
}

// send updates the messages from a point to its higher (or lower) neighbors. A message is made of the given share of
// the point's belief, less the message that came from there, and is mixed with a part `keep` of the old message.
// It returns the largest change, and the total that normalizing took out of the new messages.
func (b *beliefs) send(i int32, upward bool, share, keep float64) (change, taken float64) {
	belief := b.gather(i)
	for e := b.g.start[i]; e < b.g.start[i+1]; e++ {
		if (b.g.to[e] > i) != upward {
			continue
		}
		for label, m := range b.messageAt(e) {
			b.outgoing[label] = float64(share*belief[label]) - m
		}
		taken += minSum(b.outgoing, b.g.weight[e], b.newMessage)
		message := b.messageAt(b.reverse[e])
		for label, old := range message {
			renewed := float64(keep*old) + float64((1-keep)*b.newMessage[label])
			change = max(change, math.Abs(renewed-old))
			message[label] = renewed
		}
	}
	return change, taken
}

// minSum computes the message of a point with these costs to the other end of an edge: for each label there, the
// least cost of the point and the edge together, minus the least of these, which it returns. It takes O(k), because
// the cost of an edge only depends on whether the labels are equal. There must be at least two labels.
func minSum(cost []float64, weight float64, message []float64) float64 {
	first, second := twoCheapest(cost, -1)
	least := cost[first]
	if weight < 0 {
		clear(message)
		message[first] = min(cost[second]-least, -weight)
		return least
	}
	for label, c := range cost {
		if message[label] = weight; c-least < weight {
			message[label] = c - least
		}
	}
	return least
}

// decode labels the points in order, each given the labels of lower points and the messages from higher ones. Labels
// that are chosen independently would contradict each other on ties.
func (b *beliefs) decode(prefer []int32) []int32 {
	labels := make([]int32, b.g.size())
	for i := range int32(len(labels)) {
		copy(b.belief, b.g.row(i))
		for e := b.g.start[i]; e < b.g.start[i+1]; e++ {
			if j := b.g.to[e]; j < i {
				b.belief[labels[j]] -= b.g.weight[e]
				continue
			}
			for label, m := range b.messageAt(e) {
				b.belief[label] += m
			}
		}
		labels[i] = cheapest(b.belief, prefer[i])
	}
	return labels
}
