package kmeans

import (
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/snapshot"
)

var (
	_ clustering.Resumable = (*kmeans)(nil)
	_ clustering.Resumable = (*cop)(nil)
	_ clustering.Resumable = (*hmrf)(nil)
)

// state is what all methods of this package share: a labeling with its exact sums, the centroids, and the metric.
type state struct {
	p         *Problem
	x         *lane
	source    *rand.PCG
	rng       *rand.Rand // draws from source
	restart   int
	iteration int
	labels    []int32
	held      []int32           // points that assignFree does not move, ascending
	made      [][]labeling.Move // since the iteration began; each list moves a point once
	accepted
}

// accepted is the part of a state, besides the labels, that a step changes, and that try restores if the step fails.
type accepted struct {
	counts    []int32
	sums      []float64 // of the clusters' rows, exact
	centroids []float64 // k x d, in the coordinates of prepared rows
	absent    []bool    // clusters that have no centroid yet
	metric    *metric.Metric
}

// Labels implements clustering.Stepper.
func (s *state) Labels() []int32 { return s.labels }

// centroid returns the centroid of one cluster. It aliases s.centroids.
func (s *state) centroid(c int) []float64 { return s.centroids[c*s.p.d : (c+1)*s.p.d] }

// model returns the current centroids and metric.
func (s *state) model() *vector.Model {
	return &vector.Model{
		Distortion: s.p.options.Distortion, Clusters: s.p.spec.K,
		Centroids: s.centroids, Absent: s.absent, Metric: s.metric.Values(),
	}
}

// single returns a model with one centroid.
func (s *state) single(center []float64) *vector.Model {
	m := s.model()
	m.Clusters, m.Centroids, m.Absent = 1, center, nil
	return m
}

// load sets all labels, where -1 means none, and takes over the new sums. It copies the slice.
func (s *state) load(labels []int32) error {
	sums, err := s.x.Load(labels)
	if err != nil {
		return err
	}
	s.labels = slices.Clone(labels)
	s.sums = sums
	s.counts = make([]int32, s.p.spec.K)
	for _, c := range labels {
		if c >= 0 {
			s.counts[c]++
		}
	}
	return nil
}

// apply makes two lists of moves of different points, each ascending, takes over the new sums, and returns how many
// points moved.
func (s *state) apply(moves, others []labeling.Move) (moved int, err error) {
	moves = merge(moves, others)
	if len(moves) == 0 {
		return 0, nil
	}
	sums, err := s.x.Update(moves)
	if err != nil {
		return 0, err
	}
	s.record(moves, sums)
	return len(moves), nil
}

// record takes over moves that the executor has made, and the sums after them.
func (s *state) record(moves []labeling.Move, sums []float64) {
	for _, m := range moves {
		s.labels[m.Point] = m.To
		if m.From >= 0 {
			s.counts[m.From]--
		}
		if m.To >= 0 {
			s.counts[m.To]++
		}
	}
	s.sums = sums
	s.made = append(s.made, moves)
}

// assignFree moves all points that are not held to their nearest centroids. It returns how many moved, and the sum of
// distortions after the moves.
func (s *state) assignFree() (moved int, distortion float64, err error) {
	done, err := s.x.Step(s.model(), s.held)
	if err != nil {
		return 0, 0, err
	}
	s.record(done.moves, done.sums)
	return len(done.moves), done.after, nil
}

// distortionNow returns the sum of distortions in the current model. Unless this is the last iteration, the next
// operation is a step in this model.
func (s *state) distortionNow() (float64, error) {
	if s.iteration+1 >= s.p.spec.MaxIterations {
		return s.distortion(s.model())
	}
	return s.x.DistortionBeforeStep(s.model(), s.held)
}

// merge combines two ascending lists of moves.
func merge(a, b []labeling.Move) []labeling.Move {
	if len(b) == 0 {
		return a
	}
	merged := make([]labeling.Move, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].Point < b[0].Point {
			merged = append(merged, a[0])
			a = a[1:]
		} else {
			merged = append(merged, b[0])
			b = b[1:]
		}
	}
	return append(append(merged, a...), b...)
}

// takeMeans makes every centroid the mean of its cluster. A cluster without points, and one of unit vectors that cancel
// out, keeps its centroid.
func (s *state) takeMeans() {
	fresh := slices.Clone(s.centroids)
	absent := slices.Clone(s.absent) // models share the old slices
	mean, width := make([]float64, s.p.d), s.p.Vectors.Width()
	for c, count := range s.counts {
		if count == 0 {
			continue
		}
		s.p.Vectors.Centroid(mean, s.sums[c*width:(c+1)*width], int(count))
		if s.p.options.Distortion.NormalizeMean(mean) {
			copy(fresh[c*s.p.d:], mean)
			absent[c] = false
		}
	}
	s.centroids, s.absent = fresh, absent
}

// distortion returns the sum of the distortions of all labeled points from their centroids in a model.
func (s *state) distortion(m *vector.Model) (float64, error) {
	total, err := s.x.Scatter(m, vector.Total)
	if err != nil {
		return 0, err
	}
	return total[0], nil
}

// FillResult implements clustering.Stepper.
func (s *state) FillResult(result *clustering.Result) {
	result.Model = &model.Model{
		Distortion: s.p.options.Distortion, K: s.p.spec.K, D: s.p.d,
		Centroids: s.p.inDataCoordinates(s.centroids), Metric: s.metric, Units: s.p.Units,
	}
}

// try runs a step. If it fails, everything that it may have changed is restored.
func (s *state) try(step func() (clustering.Report, error)) (clustering.Report, error) {
	before := accepted{slices.Clone(s.counts), s.sums, s.centroids, s.absent, s.metric}
	s.made = nil
	report, err := step()
	if err != nil {
		for _, moves := range slices.Backward(s.made) {
			for _, m := range moves {
				s.labels[m.Point] = m.From
			}
		}
		s.accepted = before
	}
	s.made = nil
	return report, err
}

// movesTo returns the moves of points, in the given order, to the labels that differ from theirs.
func (s *state) movesTo(points []int32, label func(at int) int32) (moves []labeling.Move) {
	for at, point := range points {
		if to := label(at); to != s.labels[point] {
			moves = append(moves, labeling.Move{Point: point, From: s.labels[point], To: to})
		}
	}
	return moves
}

// save writes what all methods share. It omits the sums of the clusters, which are exact and can be recomputed.
func (s *state) save(w *snapshot.Writer) {
	w.Int32s(s.labels)
	w.Floats(s.centroids)
	w.Bools(s.absent)
	w.Floats(s.metric.Values())
	w.Int(s.iteration)
	source, _ := s.source.MarshalBinary() // never fails
	w.Raw(source)
}

// read reads what save wrote and returns the labels, which the caller has to load.
func (s *state) read(r *snapshot.Reader) (labels []int32) {
	k, d := s.p.spec.K, s.p.d
	labels = r.Labels(s.p.n, k)
	s.centroids = r.Floats()
	s.absent = r.Bools()
	r.Check(len(s.centroids) == k*d && len(s.absent) == k)
	values := r.Floats()
	var err error
	switch form := s.p.options.Metric; {
	case form == metric.Diagonal && len(values) == d:
		s.metric, err = metric.NewDiagonal(values)
	case form == metric.Full && len(values) == d*d:
		s.metric, err = metric.NewFull(d, values)
	default:
		s.metric = metric.NewIdentity(d)
		r.Check(len(values) == 0)
	}
	r.Check(err == nil)
	s.iteration = r.Int()
	r.Check(s.source.UnmarshalBinary(r.Raw()) == nil && s.iteration >= 0)
	return labels
}
