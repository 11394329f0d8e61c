package kmeans

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/vector"
)

// lane is the executor as one restart sees it: with one labeling, of clusters 0..k-1.
type lane struct {
	*clustering.Lane
	// ahead is the step that the executor has already made; nil if it has the labels of the restart.
	ahead *step
}

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
	if kind != askNearest && kind != askDistances { // those two do not read the labels
		if err := l.stepBack(); err != nil {
			return r, err
		}
	}
	return r, l.Ask(r)
}

// update asks for a load of labels or an update by moves.
func (l *lane) update(labels []int32, moves []labeling.Move) ([]float64, error) {
	r := &request{RequestBase: clustering.RequestBase{Kind: askUpdate, Labels: labels, Moves: moves}}
	if labels == nil {
		if err := l.stepBack(); err != nil {
			return nil, err
		}
	}
	l.ahead = nil
	err := l.Ask(r)
	return r.Values, err
}

// stepBack undoes a step that the executor has made ahead of the restart.
func (l *lane) stepBack() error {
	if l.ahead == nil {
		return nil
	}
	back := make([]labeling.Move, len(l.ahead.moves))
	for at, m := range l.ahead.moves {
		back[at] = labeling.Move{Point: m.Point, From: m.To, To: m.From}
	}
	l.ahead = nil
	return l.Ask(&request{RequestBase: clustering.RequestBase{Kind: askUpdate, Moves: back}})
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
	query         vector.Query    // its operands
}

// Step moves the points that are nearer to another centroid than to their own, without the points in skip, which must
// ascend.
func (l *lane) Step(m *vector.Model, skip []int32) (*step, error) {
	q := vector.Query{Model: m, Points: skip}
	if done := l.ahead; done != nil && sameOperands(done.query, q) {
		l.ahead = nil
		return done, nil
	}
	return l.step(q)
}

func (l *lane) step(q vector.Query) (*step, error) {
	r, err := l.ask(askStep, q)
	if err != nil {
		return nil, err
	}
	return &step{moves: r.Moves, sums: r.Values, before: r.before, after: r.after, query: q}, nil
}

// DistortionBeforeStep returns the sum of distortions in a model that the next Step is expected to have, too. One pass
// over the rows computes both: the executor makes the step at once, and the lane hands it out when it is asked for, or
// undoes it before any other operation on labels.
func (l *lane) DistortionBeforeStep(m *vector.Model, skip []int32) (float64, error) {
	done, err := l.step(vector.Query{Model: m, Points: skip})
	if err != nil {
		return 0, err
	}
	l.ahead = done
	return done.before, nil
}

// sameOperands reports whether two steps would do the same.
func sameOperands(a, b vector.Query) bool {
	return slices.Equal(a.Points, b.Points) && a.Model.Distortion == b.Model.Distortion &&
		a.Model.Clusters == b.Model.Clusters &&
		slices.Equal(a.Model.Centroids, b.Model.Centroids) && slices.Equal(a.Model.Absent, b.Model.Absent) &&
		slices.Equal(a.Model.Metric, b.Model.Metric)
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
func (s server) Lanes() int { return s.x.Clusters().Lanes }

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
		return requests.SetValues(s.x.Measure(ctx, Nearest, queries))
	case askFarthest:
		return requests.SetFarthest(s.x.Farthest(ctx, queries))
	case askScatter:
		return requests.SetValues(s.x.Measure(ctx, Scatter, queries))
	case askAssign:
		moves, err := s.x.Assign(ctx, queries)
		requests.SetMoves(s.x.Clusters().Shape, moves)
		return err
	case askDistances:
		return requests.SetValues(s.x.Measure(ctx, Distances, queries))
	case askStep:
		return s.step(ctx, requests, queries)
	}
	have := s.x.Clusters()
	if moves := requests.Changes(have.Shape, have.Labels); len(moves) > 0 {
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
	requests.SetMoves(s.x.Clusters().Shape, done.Moves)
	s.setSums(requests)
	for i, r := range requests {
		r := r.(*request)
		r.before, r.after = done.Before[i], done.After[i]
	}
	return nil
}

// setSums gives each restart a copy of the sums of its lane.
func (s server) setSums(requests clustering.Requests) {
	have := s.x.Clusters()
	size := len(have.Sums) / have.Lanes
	for _, r := range requests {
		a := r.Base()
		a.Values = slices.Clone(have.Sums[a.Lane*size : (a.Lane+1)*size])
	}
}
