package vector

import (
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// An iteration asks twice for the distances of all points to their own centroids in the same model: once after
// computing the means, and once after assigning points to them. Tiles cache these distances, so that the second time
// only those of the points that moved are computed.

// rememberedModel is the model that the cached distances of one lane belong to.
type rememberedModel struct {
	version uint64 // changes whenever the model does; 0 means no model
	model   Model
}

// ownDistances caches the distances of a tile's rows to their own centroids in one lane: NaN if unknown, +Inf for rows
// without a cluster and for those whose cluster is absent.
type ownDistances struct {
	version uint64 // of the model
	values  []float64
}

// rememberModels makes the models of the queries the current ones of their lanes. Cached distances to other models
// become invalid.
func (s *Shard) rememberModels(queries []Query) {
	for _, q := range queries {
		if memory := &s.remembered[q.Lane]; memory.version == 0 || !memory.model.Equal(q.Model) {
			s.versions++
			memory.version = s.versions
			memory.model.copyFrom(q.Model)
		}
	}
}

// Equal reports whether two models give the same distances, to the bit.
func (m *Model) Equal(other *Model) bool {
	return m.Distortion == other.Distortion && m.Clusters == other.Clusters &&
		slices.Equal(m.Centroids, other.Centroids) &&
		slices.Equal(m.Absent, other.Absent) && slices.Equal(m.Metric, other.Metric)
}

func (m *Model) copyFrom(other *Model) {
	m.Distortion, m.Clusters = other.Distortion, other.Clusters
	m.Centroids = append(m.Centroids[:0], other.Centroids...)
	m.Absent = append(m.Absent[:0], other.Absent...)
	m.Metric = append(m.Metric[:0], other.Metric...)
}

// forgetAll drops the cached distances of all rows, after all labels have changed.
func (s *Shard) forgetAll() {
	s.remembered = slices.Grow(s.remembered[:0], s.lanes)[:s.lanes]
	for lane := range s.remembered {
		s.remembered[lane].version = 0
	}
	for _, t := range s.tiles {
		t.own = nil
	}
}

// forget drops the cached distances of the rows that moved.
func (s *Shard) forget(moves []labeling.Move) {
	shape := s.shape()
	number := -1
	t := (*tile)(nil)
	for _, m := range moves {
		if next := partition.TileOf(shape.Points, int(m.Point)); next != number {
			number, t = next, s.tiles[next]
		}
		if t == nil {
			continue
		}
		if lane := shape.Lane(m); lane < len(t.own) && len(t.own[lane].values) > 0 {
			t.own[lane].values[int(m.Point)-t.rows.From] = math.NaN()
		}
	}
}

// hasDistanceRoutine reports whether there is SIMD code for the distances of a tile's rows to single centroids.
func (t *terms) hasDistanceRoutine(rows *tile) bool {
	return rows.packed != nil && t.model.Distortion == metric.SquaredEuclidean && t.form != metric.Full
}

// ownDistances returns the distances of all rows of a tile to their own centroids in one lane. rememberModels must have
// been called with the lane's model.
func (s *Shard) ownDistances(t *tile, lane int, terms *terms, w *workspace) []float64 {
	s.addOwnDistances(t, lane, terms, w)
	return t.own[lane].values
}

// addOwnDistances computes the distances that are not cached and returns the sum of the finite ones, in row order. It
// adds up each group while the next one is computed: an addition waits for the one before it, and the processor can do
// other work meanwhile.
func (s *Shard) addOwnDistances(t *tile, lane int, terms *terms, w *workspace) (total float64) {
	if len(t.own) != s.lanes {
		t.own = make([]ownDistances, s.lanes)
	}
	own, labels, first := &t.own[lane], s.labelsOf(t, lane), s.firstCluster(lane)
	version := s.remembered[lane].version
	fresh := own.version != version
	own.version = version
	own.values = parallel.Resized(own.values, len(labels))
	for from := 0; from < len(labels); from += groupRows {
		values := own.values[from:min(from+groupRows, len(labels))]
		if fresh || anyNaN(values) {
			s.computeOwn(values, from, fresh, t, labels, first, terms, w)
		}
		for _, distance := range values {
			if !math.IsInf(distance, 1) {
				total += distance
			}
		}
	}
	return total
}

// computeOwn computes the distances of a group's rows, starting at row from: only unknown ones, unless all is set.
func (s *Shard) computeOwn(values []float64, from int, all bool, t *tile, labels []int32, first int32, terms *terms,
	w *workspace) {
	routine := terms.hasDistanceRoutine(t)
	if routine {
		w.places.set(labels[from:from+len(values)], first, s.source.spec.Columns, 0)
		s.source.routines.distances(&w.lowest, t.group(from/groupRows), &w.places, terms.model.Centroids,
			terms.featureWeights)
	}
	for l := range values {
		switch c := labels[from+l]; {
		case c < first || terms.place[c-first] < 0:
			values[l] = math.Inf(1)
		case routine:
			values[l] = w.lowest[l]
		case all || math.IsNaN(values[l]):
			values[l] = terms.distance(int(c-first), w.row(from+l), w)
		}
	}
}

func anyNaN(values []float64) bool {
	for _, v := range values {
		if v != v {
			return true
		}
	}
	return false
}
