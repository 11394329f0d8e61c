// Package labeling represents labels, and moves of points between clusters, for all families of
// algorithms. Its checks keep the copies of the labels on the coordinator and on the workers the same.
package labeling

import (
	"fmt"
	"slices"
)

// None is the label of a point without a cluster.
const None = -1

// Move is one point that changes its cluster within one lane. From or To may be None.
type Move struct{ Point, From, To int32 }

// Candidate is the point farthest from its own cluster among the points of some tiles. Found is false if there is none.
type Candidate struct {
	Found    bool
	Point    int32
	Distance float64 // to its own cluster, times the point's weight where points have weights
}

// Farther returns the farther of two candidates, or the lower point if they are equally far.
func (c Candidate) Farther(other Candidate) Candidate {
	if !other.Found ||
		(c.Found && (c.Distance > other.Distance || (c.Distance == other.Distance && c.Point < other.Point))) {
		return c
	}
	return other
}

// Shape defines which labels a problem allows.
//
// Lanes are independent labelings of the same points, such as restarts. Clusters are numbered across
// all lanes: those of lane l start at l*Clusters. A list of labels has those of one lane after the other.
type Shape struct {
	Points   int
	Clusters int // of each lane
	Lanes    int
}

// CheckLabels returns an error unless every point of every lane has the label None or a cluster of its lane.
func (s Shape) CheckLabels(labels []int32) error {
	if len(labels) != s.Lanes*s.Points {
		return fmt.Errorf("%d labels for %d points in %d lanes", len(labels), s.Points, s.Lanes)
	}
	for at, c := range labels {
		if lane := at / s.Points; c != None && (int(c) < lane*s.Clusters || int(c) >= (lane+1)*s.Clusters) {
			return fmt.Errorf("point %d has label %d in lane %d of %d clusters", at%s.Points, c, lane, s.Clusters)
		}
	}
	return nil
}

// Lane returns the lane of a valid move, or 0 for a move from None to None.
func (s Shape) Lane(m Move) int { return int(max(m.From, m.To, 0)) / s.Clusters }

// Shift renumbers the clusters of a move for the lane that is the given number of lanes higher.
func (s Shape) Shift(m Move, lanes int) Move {
	return Move{Point: m.Point, From: s.shift(m.From, lanes), To: s.shift(m.To, lanes)}
}

func (s Shape) shift(c int32, lanes int) int32 {
	if c == None {
		return None
	}
	return c + int32(lanes*s.Clusters)
}

// AppendChanges appends the moves, in point order, that change the labels of one lane to the given ones, whose clusters
// are numbered from 0. labels holds the labels of all lanes.
func (s Shape) AppendChanges(moves []Move, labels []int32, lane int, to []int32) []Move {
	for i, from := range labels[lane*s.Points : (lane+1)*s.Points] {
		if c := s.shift(to[i], lane); c != from {
			moves = append(moves, Move{Point: int32(i), From: from, To: c})
		}
	}
	return moves
}

// Valid reports whether a move has an existing point, and None or clusters of one lane.
func (s Shape) Valid(m Move) bool {
	k, all := int32(s.Clusters), int32(s.Clusters*s.Lanes)
	return m.Point >= 0 && int(m.Point) < s.Points &&
		m.From >= None && m.From < all && m.To >= None && m.To < all &&
		(min(m.From, m.To) < 0 || m.From/k == m.To/k)
}

// Apply applies all moves to labels, or none and returns an error. A point may move at most once.
func (s Shape) Apply(labels []int32, moves []Move) error {
	for at, m := range moves {
		if !s.Valid(m) || *s.label(labels, m) != m.From {
			s.Undo(labels, moves[:at])
			return mismatch(m)
		}
		*s.label(labels, m) = m.To
	}
	err := s.CheckApplied(labels, moves)
	if err != nil {
		s.Undo(labels, moves)
	}
	return err
}

// Undo reverts applied moves.
func (s Shape) Undo(labels []int32, moves []Move) {
	for _, m := range slices.Backward(moves) {
		*s.label(labels, m) = m.From
	}
}

// CheckApplied returns an error unless every moved point has the label that its move leads to.
func (s Shape) CheckApplied(labels []int32, moves []Move) error {
	for _, m := range moves {
		if !s.Valid(m) || *s.label(labels, m) != m.To {
			return mismatch(m)
		}
	}
	return nil
}

// label returns a pointer to the label of a valid move's point.
func (s Shape) label(labels []int32, m Move) *int32 {
	return &labels[s.Lane(m)*s.Points+int(m.Point)]
}

func mismatch(m Move) error {
	return fmt.Errorf("the move of point %d from cluster %d to %d does not match the labels", m.Point, m.From, m.To)
}
