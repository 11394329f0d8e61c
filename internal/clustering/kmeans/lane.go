package kmeans

import (
	"context"
	"errors"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/vector"
)

// lane is the executor as one restart sees it: with one labeling, of clusters 0..k-1.
type lane struct {
	*clustering.Lane
	// ahead is what StepAhead has done; nil if the executor has the labels of the restart.
	ahead *step
}

// errAhead reports an operation on labels that the executor has left behind.
var errAhead = errors.New("kmeans: the executor is a step ahead of the labels")

// request is an operation that a restart asks of the executor, and its answer once it is served.
type request struct {
	clustering.RequestBase
	query         vector.Query
	before, after float64 // the distortions around a step; set by the server
}

// The kinds of requests. Loads and updates, which are one kind, and steps are served last: every iteration has one of
// them, so restarts that are at different points of an iteration meet there.
const (
	askNearest = iota
	askFarthest
	askScatter
	askAssign
	askDistances
	askUpdate
	askStep
)

// ask asks for an operation and waits for the answer.
func (l *lane) ask(kind int, q vector.Query) (*request, error) {
	r := &request{RequestBase: clustering.RequestBase{Kind: kind}, query: q}
	if l.ahead != nil && kind != askNearest && kind != askDistances {
		return r, errAhead
	}
	return r, l.Ask(r)
}

// update asks for a load of labels or an update by moves.
func (l *lane) update(labels []int32, moves []labeling.Move) ([]float64, error) {
	r := &request{RequestBase: clustering.RequestBase{Kind: askUpdate, Labels: labels, Moves: moves}}
	if l.ahead != nil && labels == nil {
		return nil, errAhead
	}
	l.ahead = nil
	err := l.Ask(r)
	return r.Values, err
}

// Load sets all labels (-1 means none) and returns the exact sums of the clusters' rows.
func (l *lane) Load(labels []int32) ([]float64, error) { return l.update(labels, nil) }

// Update moves points between clusters and returns the exact sums.
func (l *lane) Update(moves []labeling.Move) ([]float64, error) { return l.update(nil, moves) }

// step is what the executor did in one step of a restart.
type step struct {
	moves         []labeling.Move // in row order
	sums          []float64       // exact, after the moves
	before, after float64         // sums of the distortions of all labeled points
}

// Step moves the points that are nearer to another centroid than to their own, without the points in skip, which must
// ascend. After StepAhead it returns that step, which must have had the same operands.
func (l *lane) Step(m *vector.Model, skip []int32) (*step, error) {
	if l.ahead == nil {
		if _, err := l.StepAhead(m, skip); err != nil {
			return nil, err
		}
	}
	done := l.ahead
	l.ahead = nil
	return done, nil
}

// StepAhead makes the next Step now and returns the sum of distortions before it. From then on the executor's labels
// differ from those of the restart, so all other operations on labels fail until Step or Load.
func (l *lane) StepAhead(m *vector.Model, skip []int32) (float64, error) {
	r, err := l.ask(askStep, vector.Query{Model: m, Points: skip})
	if err == nil {
		l.ahead = &step{r.Moves, r.Values, r.before, r.after}
	}
	return r.before, err
}

// Assign returns the moves of points that are nearer to another centroid than to their own, in row order, without the
// points in skip, which must ascend.
func (l *lane) Assign(m *vector.Model, skip []int32) ([]labeling.Move, error) {
	r, err := l.ask(askAssign, vector.Query{Model: m, Points: skip})
	return r.Moves, err
}

// Distances returns the distances of the given points, which must ascend, to every centroid: k values per point.
func (l *lane) Distances(m *vector.Model, points []int32) ([]float64, error) {
	r, err := l.ask(askDistances, vector.Query{Model: m, Points: points})
	return r.Values, err
}

// Scatter returns the deviation of the labeled points from their centroids, added up tile by tile.
func (l *lane) Scatter(m *vector.Model, kind vector.ScatterKind) ([]float64, error) {
	r, err := l.ask(askScatter, vector.Query{Model: m, Kind: kind})
	return r.Values, err
}

// Farthest returns the point farthest from its centroid, not in skip, among clusters that have at least two points by
// the given counts.
func (l *lane) Farthest(m *vector.Model, skip, counts []int32) (labeling.Candidate, error) {
	r, err := l.ask(askFarthest, vector.Query{Model: m, Points: skip, Counts: counts})
	return r.Farthest, err
}

// Nearest returns the distance of every point to the nearest centroid.
func (l *lane) Nearest(m *vector.Model) ([]float64, error) {
	r, err := l.ask(askNearest, vector.Query{Model: m})
	return r.Values, err
}

// server serves the requests of all restarts on an executor.
type server struct {
	x       Executor
	threads int // set by Begin
}

// Lanes implements clustering.Server.
func (s server) Lanes() int { return s.x.Shape().Lanes }

// Threads implements clustering.Server. Restarts do not share mutable state, so all may compute concurrently.
func (s server) Threads() int { return s.threads }

// Serve implements clustering.Server.
func (s server) Serve(ctx context.Context, requests clustering.Requests) error {
	queries := make([]vector.Query, len(requests))
	for i, r := range requests {
		queries[i] = r.(*request).query
		queries[i].Lane = r.Base().Lane
	}
	switch requests[0].Base().Kind {
	case askNearest:
		return requests.SetValues(s.x.Nearest(ctx, queries))
	case askFarthest:
		return requests.SetFarthest(s.x.Farthest(ctx, queries))
	case askScatter:
		return requests.SetValues(s.x.Scatter(ctx, queries))
	case askAssign:
		moves, err := s.x.Assign(ctx, queries)
		requests.SetMoves(s.x.Shape(), moves)
		return err
	case askDistances:
		return requests.SetValues(s.x.Distances(ctx, queries))
	case askStep:
		return s.step(ctx, requests, queries)
	}
	if moves := requests.Changes(s.x.Shape(), s.x.Labels()); len(moves) > 0 {
		if err := s.x.Update(ctx, moves); err != nil {
			return err
		}
	}
	s.setSums(requests)
	return nil
}

// step serves whole iterations: assignment, sums, and the distortions before and after.
func (s server) step(ctx context.Context, requests clustering.Requests, queries []vector.Query) error {
	done, err := s.x.Step(ctx, queries)
	if err != nil {
		return err
	}
	requests.SetMoves(s.x.Shape(), done.Moves)
	s.setSums(requests)
	for i, r := range requests {
		r := r.(*request)
		r.before, r.after = done.Before[i], done.After[i]
	}
	return nil
}

// setSums gives each restart a copy of the sums of its lane.
func (s server) setSums(requests clustering.Requests) {
	sums := s.x.Sums()
	size := len(sums) / s.x.Shape().Lanes
	for _, r := range requests {
		a := r.Base()
		a.Values = slices.Clone(sums[a.Lane*size : (a.Lane+1)*size])
	}
}
