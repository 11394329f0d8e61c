package kmeans

import (
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/vector"
)

// lane is the executor as one restart sees it: with one labeling, of clusters 0..k-1.
//
// The executor may be a step ahead of the restart; see DistortionBeforeStep. Operations that read labels or change some
// of them are asked by askNow, which undoes that step first.
type lane struct {
	to     *clustering.Lane
	server *server
	// ahead is the step that the executor has already made, and operands what it was made with. It is nil if the
	// executor has the labels of the restart.
	ahead    *step
	operands vector.Query
}

// step is what the executor did in one step of a restart.
type step struct {
	moves         []labeling.Move // in row order
	sums          []float64       // exact, after the moves
	before, after float64         // sums of the distortions of all labeled points
}

// askNow asks for an operation on the labels that the restart knows.
func askNow[Q, A any](l *lane, operation *clustering.Operation[Q, A], question Q) (answer A, err error) {
	if l.ahead != nil {
		back := make([]labeling.Move, len(l.ahead.moves))
		for at, m := range l.ahead.moves {
			back[at] = labeling.Move{Point: m.Point, From: m.To, To: m.From}
		}
		l.ahead = nil
		if _, err := l.server.change.Ask(l.to, clustering.Change{Moves: back}); err != nil {
			return answer, err
		}
	}
	return operation.Ask(l.to, question)
}

// Load sets all labels (-1 means none) and returns the exact sums of the clusters' rows.
func (l *lane) Load(labels []int32) ([]float64, error) {
	l.ahead = nil
	return l.server.change.Ask(l.to, clustering.Change{Labels: labels})
}

// Update moves points between clusters and returns the exact sums.
func (l *lane) Update(moves []labeling.Move) ([]float64, error) {
	return askNow(l, &l.server.change, clustering.Change{Moves: moves})
}

// Step moves the points that are nearer to another centroid than to their own, without the points in skip, which must
// ascend.
func (l *lane) Step(m *vector.Model, skip []int32) (*step, error) {
	if done := l.ahead; done != nil && slices.Equal(l.operands.Points, skip) && l.operands.Model.Equal(m) {
		l.ahead = nil
		return done, nil
	}
	return askNow(l, &l.server.step, vector.Query{Model: m, Points: skip})
}

// DistortionBeforeStep returns the sum of distortions in a model that the next Step is expected to have, too. One pass
// over the rows computes both: the executor makes the step at once, and the lane hands it out when it is asked for.
func (l *lane) DistortionBeforeStep(m *vector.Model, skip []int32) (float64, error) {
	q := vector.Query{Model: m, Points: skip}
	done, err := askNow(l, &l.server.step, q)
	if err != nil {
		return 0, err
	}
	l.ahead, l.operands = done, q
	return done.before, nil
}

// Assign returns the moves of points that are nearer to another centroid than to their own, in row order, without the
// points in skip, which must ascend.
func (l *lane) Assign(m *vector.Model, skip []int32) ([]labeling.Move, error) {
	return askNow(l, &l.server.assign, vector.Query{Model: m, Points: skip})
}

// Scatter returns the deviation of the labeled points from their centroids, added up tile by tile.
func (l *lane) Scatter(m *vector.Model, kind vector.ScatterKind) ([]float64, error) {
	return askNow(l, &l.server.scatter, vector.Query{Model: m, Kind: kind})
}

// Farthest returns the point farthest from its centroid, not in skip, among clusters that have at least two points by
// the given counts.
func (l *lane) Farthest(m *vector.Model, skip, counts []int32) (labeling.Candidate, error) {
	return askNow(l, &l.server.farthest, vector.Query{Model: m, Points: skip, Counts: counts})
}

// Distances returns the distances of the given points, which must ascend, to every centroid: k values per point. It
// does not read labels.
func (l *lane) Distances(m *vector.Model, points []int32) ([]float64, error) {
	return l.server.distances.Ask(l.to, vector.Query{Model: m, Points: points})
}

// Nearest returns the distance of every point to the nearest centroid. It does not read labels.
func (l *lane) Nearest(m *vector.Model) ([]float64, error) {
	return l.server.nearest.Ask(l.to, vector.Query{Model: m})
}
