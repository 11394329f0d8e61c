package clustering

import (
	"context"
	"errors"
	"slices"

	"github.com/cleave-project/cleave/internal/data/labeling"
)

// Lane connects one of several concurrent restarts to the executor. The server answers the requests of several lanes
// together, so that one pass over the matrix or the rows suffices for all of them.
type Lane struct {
	ask    func(Request) bool
	failed error // why the last request failed; nil if it did not
}

// errAbandoned ends a restart whose requests are no longer served.
var errAbandoned = errors.New("clustering: the run was abandoned")

// Ask blocks until the server has served a request. It fails if the server does, or if the run was abandoned.
func (l *Lane) Ask(request Request) error {
	if !l.ask(request) {
		return errAbandoned
	}
	return l.failed
}

// Server serves the requests of concurrent restarts on their executor.
type Server interface {
	// Lanes returns the maximum number of concurrent restarts.
	Lanes() int
	// Threads returns how many of them may compute at the same time, between their requests.
	Threads() int
	// Serve answers requests of one kind, in order of their lanes. If it returns an error, all of them have failed.
	Serve(ctx context.Context, requests Requests) error
}

// Sequential implements Server for setups whose restarts run one after another and call the executor directly. Such
// setups embed it.
type Sequential struct{}

// Lanes implements Server.
func (Sequential) Lanes() int { return 1 }

// Threads implements Server.
func (Sequential) Threads() int { return 1 }

// Serve implements Server. It is never called with requests.
func (Sequential) Serve(context.Context, Requests) error { return nil }

// Request is an operation that a restart asks of the executor. The server stores the answer in it. Each family of
// algorithms has a type of its own, which embeds RequestBase.
type Request interface{ Base() *RequestBase }

// RequestBase is the part of a request that all families have.
type RequestBase struct {
	// Kind is the operation. The server answers pending requests of the lowest kind together.
	Kind int
	// Lane is the sender. The schedule sets it.
	Lane int
	// Labels are loaded; nil means no load.
	Labels []int32
	// Moves are applied by an update and returned by an assignment.
	Moves []labeling.Move

	// Values and Farthest are the answers of the other operations.
	Values   []float64
	Farthest labeling.Candidate
}

// Base implements Request.
func (b *RequestBase) Base() *RequestBase { return b }

// Requests are pending requests of one kind, in the order of their lanes.
type Requests []Request

// Changes returns the moves of loads and updates. A lane that loads is updated by the moves from its old labels to the
// new ones; labels holds the old ones of all lanes.
func (rs Requests) Changes(shape labeling.Shape, labels []int32) (moves []labeling.Move) {
	for _, r := range rs {
		a := r.Base()
		if a.Labels != nil {
			moves = shape.AppendChanges(moves, labels, a.Lane, a.Labels)
		}
		moves = slices.Grow(moves, len(a.Moves))
		for _, m := range a.Moves {
			moves = append(moves, shape.Shift(m, a.Lane))
		}
	}
	return moves
}

// SetMoves answers each request with the moves of its lane.
func (rs Requests) SetMoves(shape labeling.Shape, moves []labeling.Move) {
	counts := make([]int, shape.Lanes)
	byLane := make([][]labeling.Move, shape.Lanes)
	for _, m := range moves {
		counts[shape.Lane(m)]++
	}
	for _, m := range moves {
		lane := shape.Lane(m)
		byLane[lane] = append(slices.Grow(byLane[lane], counts[lane]-len(byLane[lane])), shape.Shift(m, -lane))
	}
	for _, r := range rs {
		r.Base().Moves = byLane[r.Base().Lane]
	}
}

// SetValues answers each request with one of the lists that an operation returned, and returns its error.
func (rs Requests) SetValues(lists [][]float64, err error) error {
	for i, values := range lists {
		rs[i].Base().Values = values
	}
	return err
}

// SetFarthest answers each request with one of the points that an operation returned, and returns its error.
func (rs Requests) SetFarthest(candidates []labeling.Candidate, err error) error {
	for i, candidate := range candidates {
		rs[i].Base().Farthest = candidate
	}
	return err
}
