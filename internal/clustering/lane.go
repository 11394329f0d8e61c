package clustering

import (
	"context"
	"errors"
	"slices"

	"github.com/cleave-project/cleave/internal/data/labeling"
)

// Lane connects one of several concurrent restarts to the executor.
type Lane struct {
	// ask hands a request to the schedule and returns when it has been answered, or false if it never will be.
	ask func(request) bool
}

// Operation is something that restarts ask of their executor: a question of type Q has an answer of type A. The
// questions of several lanes are answered together, so that one pass over the matrix or the rows suffices for all of
// them.
type Operation[Q, A any] struct {
	// Rank orders the operations of an executor: among the lanes that wait, those that ask for the operation of the
	// lowest rank are answered first.
	Rank int
	// Answer returns one answer for each question. The lanes that ask ascend. If it fails, every question has failed.
	Answer func(ctx context.Context, lanes []int, questions []Q) ([]A, error)
}

// errAbandoned ends a restart whose questions are no longer answered.
var errAbandoned = errors.New("clustering: the run was abandoned")

// Ask blocks the restart of a lane until its question has been answered. It fails if Answer does, or if the run was
// abandoned.
func (o *Operation[Q, A]) Ask(l *Lane, question Q) (A, error) {
	asked := &asked[Q, A]{operation: o, question: question}
	if !l.ask(asked) {
		asked.err = errAbandoned
	}
	return asked.answer, asked.err
}

// request is a question that waits for its answer.
type request interface {
	rank() int
	// sameAs reports whether two requests are for the same operation.
	sameAs(other request) bool
	// serve answers the requests of several lanes for this operation.
	serve(ctx context.Context, lanes []int, requests []request)
}

// asked is a request for an operation.
type asked[Q, A any] struct {
	operation *Operation[Q, A]
	question  Q
	answer    A
	err       error
}

func (r *asked[Q, A]) rank() int { return r.operation.Rank }

func (r *asked[Q, A]) sameAs(other request) bool {
	o, is := other.(*asked[Q, A])
	return is && o.operation == r.operation
}

func (r *asked[Q, A]) serve(ctx context.Context, lanes []int, requests []request) {
	questions := make([]Q, len(requests))
	for i, other := range requests {
		questions[i] = other.(*asked[Q, A]).question
	}
	answers, err := r.operation.Answer(ctx, lanes, questions)
	for i, other := range requests {
		of := other.(*asked[Q, A])
		of.err = err
		if err == nil {
			of.answer = answers[i]
		}
	}
}

// Change is what a restart does to the labels of its lane: it sets all of them, or moves some points.
type Change struct {
	Labels []int32 // nil unless all are set
	Moves  []labeling.Move
}

// JoinChanges returns the moves that make the changes of the given lanes, which ascend. A lane whose labels are set is
// changed by the moves from its old labels, which labels holds for all lanes.
func JoinChanges(shape labeling.Shape, labels []int32, lanes []int, changes []Change) (moves []labeling.Move) {
	for i, change := range changes {
		if change.Labels != nil {
			moves = shape.AppendChanges(moves, labels, lanes[i], change.Labels)
		}
		moves = slices.Grow(moves, len(change.Moves))
		for _, m := range change.Moves {
			moves = append(moves, shape.Shift(m, lanes[i]))
		}
	}
	return moves
}

// SplitMoves returns the moves of each of the given lanes, with clusters numbered from 0. It is the reverse of
// JoinChanges.
func SplitMoves(shape labeling.Shape, lanes []int, moves []labeling.Move) [][]labeling.Move {
	counts := make([]int, shape.Lanes)
	for _, m := range moves {
		counts[shape.Lane(m)]++
	}
	byLane := make([][]labeling.Move, shape.Lanes)
	for _, m := range moves {
		lane := shape.Lane(m)
		byLane[lane] = append(slices.Grow(byLane[lane], counts[lane]-len(byLane[lane])), shape.Shift(m, -lane))
	}
	split := make([][]labeling.Move, len(lanes))
	for i, lane := range lanes {
		split[i] = byLane[lane]
	}
	return split
}
