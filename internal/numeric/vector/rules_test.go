package vector

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/refusal"
)

// onALine returns points of one feature, not centered, so that their values stay as they are.
func onALine(t *testing.T, sparse bool, values ...float64) *Shard {
	t.Helper()
	spec, err := NewRowSpec(sparsePoints(t, len(values), 1, values), Plain)
	if err != nil {
		t.Fatal(err)
	}
	var data dataset.Dataset = densePoints(t, len(values), 1, values)
	if sparse {
		data = sparsePoints(t, len(values), 1, values)
	}
	source, err := NewSource(spec, data)
	if err != nil {
		t.Fatal(err)
	}
	return built(t, source, 2)
}

func euclidean(centroids ...float64) *Model {
	return &Model{Distortion: metric.SquaredEuclidean, Clusters: len(centroids), Centroids: centroids}
}

func TestTies(t *testing.T) {
	for _, sparse := range []bool{false, true} {
		s := onALine(t, sparse, 1, 1, 1, 1, 5, 1)
		all := partition.AllTiles(6)
		if err := s.Load(0, 4, []int32{1, 2, -1, 0, 3, 3}); err != nil {
			t.Fatal(err)
		}
		// 1 is as near to 0 as to 2, and as to a number that exceeds 2 by less than the tolerance.
		model := euclidean(9, 0, 2, 2+1e-14)
		moves, err := s.Assign(t.Context(), all, 0, one(model, []int32{3}))
		want := []labeling.Move{{Point: 2, From: -1, To: 1}}
		if err != nil || !slices.Equal(moves, want) {
			t.Fatalf("moves %v (%v), want %v", moves, err, want)
		}
		model.Absent = []bool{false, true, false, false}
		moves, err = s.Assign(t.Context(), all, 0, one(model, nil))
		want = []labeling.Move{{Point: 0, From: 1, To: 2}, {Point: 2, From: -1, To: 2}, {Point: 3, From: 0, To: 2}}
		if err != nil || !slices.Equal(moves, want) {
			t.Fatalf("without cluster 1: moves %v (%v), want %v", moves, err, want)
		}
		// Of equally far points the lowest is taken; clusters of a single point are left out.
		farthest, err := s.Farthest(t.Context(), all, 0,
			[]Query{{Model: euclidean(100, 0, 2, 1), Counts: []int32{1, 2, 2, 2}}})
		if want := (labeling.Candidate{Found: true, Point: 4, Distance: 16}); err != nil || farthest[0] != want {
			t.Errorf("farthest %v (%v), want %v", farthest, err, want)
		}
		farthest, err = s.Farthest(t.Context(), all, 0,
			[]Query{{Model: euclidean(100, 0, 2, 1), Points: []int32{4}, Counts: []int32{1, 2, 2, 2}}})
		if want := (labeling.Candidate{Found: true, Point: 0, Distance: 1}); err != nil || farthest[0] != want {
			t.Errorf("farthest but for 4: %v (%v), want %v", farthest, err, want)
		}
	}
}

func TestRetries(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	const n, d, k = 300, 3, 4
	values := table(rng, n, d, Plain)
	source := newSource(t, densePoints(t, n, d, values), Plain)
	ctx := context.Background()
	all := partition.AllTiles(n)
	first, rest := all[:2], all[2:]
	labels := randomLabels(rng, n, k)
	moves := []labeling.Move{{Point: 3, From: labels[3], To: (labels[3]+2)%(k+1) - 1},
		{Point: 200, From: labels[200], To: -1}}
	after := slices.Clone(labels)
	for _, m := range moves {
		after[m.Point] = m.To
	}
	change := func(tiles []int) []float64 {
		before := sumsOf(t, built(t, source, 1), tiles, 9, k, labels)
		now := sumsOf(t, built(t, source, 1), tiles, 9, k, after)
		for at := range now {
			now[at] -= before[at]
		}
		return now
	}
	wantAll := change(all)
	wantFirst := change(first)

	s := built(t, source, 2)
	model := euclidean(1, 2, 3, 4)
	model.Centroids = make([]float64, k*d)
	notReady := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, kernel.ErrNotReady) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := s.Update(ctx, all, 5, moves)
	notReady("update before load", err)
	_, err = s.Assign(ctx, all, 5, one(model, nil))
	notReady("assign before load", err)
	for range 2 {
		if err := s.Load(5, k, labels); err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.Update(ctx, all, 4, moves)
	if err == nil {
		t.Error("moves that do not fit were applied")
	}
	_, err = s.Update(ctx, all, 6, moves)
	notReady("update of a later step", err)
	// First some tiles, then the same ones again, then all.
	for range 2 {
		got, err := s.Update(ctx, first, 5, moves)
		if err != nil {
			t.Fatal(err)
		}
		sameBits(t, "some tiles", wantFirst, got)
	}
	if _, err := s.Assign(ctx, first, 6, one(model, nil)); err != nil {
		t.Error(err)
	}
	_, err = s.Scatter(ctx, first, 5, []Query{{Model: model, Kind: Total}})
	notReady("scatter of an old step", err)
	if _, err := s.Assign(ctx, rest, 5, one(model, nil)); err != nil {
		t.Error(err) // only the labels of the first tiles have advanced
	}
	_, err = s.Assign(ctx, all, 6, one(model, nil))
	notReady("assign of tiles at two steps", err)
	for range 2 {
		got, err := s.Update(ctx, all, 5, moves)
		if err != nil {
			t.Fatal(err)
		}
		sameBits(t, "all tiles", wantAll, got)
	}
	if _, err := s.Update(ctx, all, 5,
		[]labeling.Move{{Point: 7, From: labels[7], To: (labels[7]+2)%(k+1) - 1}}); err == nil {
		t.Error("other moves for a step that is done")
	}
	s.Drop(first)
	_, err = s.Update(ctx, all, 6, nil)
	notReady("a dropped tile", err)
	if err := s.Build(ctx, all); err != nil {
		t.Fatal(err)
	}
	_, err = s.Update(ctx, all, 6, nil)
	notReady("a tile without labels", err)
	// A worker that was prepared again is given the labels after the moves, and then the moves.
	if err := s.Load(6, k, after); err != nil {
		t.Error(err)
	}
	if got, err := s.Update(ctx, first, 5, moves); err != nil {
		t.Error(err)
	} else {
		sameBits(t, "a rebuilt tile", wantFirst, got)
	}
	if got, err := s.Update(ctx, all, 6, nil); err != nil || len(got) != 0 {
		t.Errorf("no moves change %v, %v", got, err)
	}
	back := slices.Clone(moves)
	for at := range back {
		back[at].From, back[at].To = back[at].To, back[at].From
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Update(canceled, all, 7, back); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if got, err := s.Update(ctx, all, 7, back); err != nil {
		t.Errorf("after a canceled one: %v", err)
	} else {
		for at := range got {
			got[at] = 0 - got[at]
		}
		sameBits(t, "after a canceled one", wantAll, got)
	}
}

func TestBadOperations(t *testing.T) {
	s := onALine(t, false, 1, 2, 3, 4)
	ctx := context.Background()
	all := partition.AllTiles(4)
	for what, labels := range map[string][]int32{"few": {0}, "many": {0, 0, 0, 0, 0}, "above": {0, 1, 2, 0},
		"below": {0, -2, 0, 0}} {
		if err := s.Load(0, 2, labels); err == nil {
			t.Errorf("labels: %s", what)
		}
	}
	for _, k := range []int{-1, 0, math.MaxInt} {
		if err := s.Load(0, k, make([]int32, 4)); err == nil {
			t.Errorf("%d clusters", k)
		}
	}
	for _, tiles := range [][]int{{-1}, {1}, {math.MaxInt}} {
		if err := s.Build(ctx, tiles); err == nil {
			t.Errorf("built tiles %v", tiles)
		}
		if _, err := s.Nearest(ctx, tiles, one(euclidean(1), nil)); !errors.Is(err, kernel.ErrNotReady) {
			t.Errorf("tiles %v: %v", tiles, err)
		}
	}
	labels := []int32{0, 1, 0, -1}
	if err := s.Load(0, 2, labels); err != nil {
		t.Fatal(err)
	}
	for what, moves := range map[string][]labeling.Move{
		"no such point": {{Point: 4, From: -1, To: 0}},
		"below 0":       {{Point: -1, From: -1, To: 0}},
		"from":          {{Point: 0, From: 0, To: 1}, {Point: 1, From: 0, To: 1}},
		"to":            {{Point: 0, From: 0, To: 2}},
		"to below":      {{Point: 0, From: 0, To: -2}},
		"descending":    {{Point: 1, From: 1, To: 0}, {Point: 0, From: 0, To: 1}},
		"twice":         {{Point: 0, From: 0, To: 1}, {Point: 0, From: 1, To: -1}},
	} {
		if _, err := s.Update(ctx, all, 0, moves); err == nil {
			t.Errorf("moves: %s", what)
		}
	}
	if got, err := s.Update(ctx, all, 0, []labeling.Move{{Point: 1, From: 1, To: 0}}); err != nil {
		t.Error(err)
	} else {
		sameBits(t, "after bad moves", []float64{2, -2}, got)
	}
	good := func() Model { return *euclidean(1, 2) }
	for what, change := range map[string]func(m *Model){
		"NaN":           func(m *Model) { m.Centroids[1] = math.NaN() },
		"infinite":      func(m *Model) { m.Centroids[1] = math.Inf(-1) },
		"too large":     func(m *Model) { m.Centroids[1] = 1e300 },
		"few centroids": func(m *Model) { m.Centroids = m.Centroids[:1] },
		"no centroids":  func(m *Model) { m.Centroids = nil },
		"other clusters": func(m *Model) {
			m.Clusters = 3
			m.Centroids = []float64{1, 2, 3}
		},
		"no clusters":     func(m *Model) { m.Clusters = 0 },
		"minus clusters":  func(m *Model) { m.Clusters = -2 },
		"marks":           func(m *Model) { m.Absent = make([]bool, 3) },
		"all absent":      func(m *Model) { m.Absent = []bool{true, true} },
		"metric":          func(m *Model) { m.Metric = make([]float64, 2) },
		"NaN in metric":   func(m *Model) { m.Metric = []float64{math.NaN()} },
		"cosine":          func(m *Model) { m.Distortion = metric.Cosine },
		"KL":              func(m *Model) { m.Distortion = metric.KL },
		"no distortion":   func(m *Model) { m.Distortion = 0 },
		"some distortion": func(m *Model) { m.Distortion = 77 },
	} {
		m := good()
		m.Centroids = slices.Clone(m.Centroids)
		change(&m)
		checkRefused(t, what, s, &m)
	}
	model := good()
	for what, points := range map[string][]int32{"descending": {2, 1}, "twice": {1, 1}, "below": {-1}, "above": {4}} {
		if _, err := s.Assign(ctx, all, 1, one(&model, points)); err == nil {
			t.Errorf("skip: %s", what)
		}
		if _, err := s.Distances(ctx, all, one(&model, points)); err == nil {
			t.Errorf("points: %s", what)
		}
	}
	if _, err := s.Farthest(ctx, all, 1, []Query{{Model: &model, Counts: []int32{1}}}); err == nil {
		t.Error("too few counts")
	}
	if _, err := s.Scatter(ctx, all, 1, one(&model, nil)); err == nil {
		t.Error("no scatter")
	}
	for what, queries := range map[string][]Query{
		"no such lane": {{Lane: 1, Model: &model}}, "below": {{Lane: -1, Model: &model}},
		"twice": {{Model: &model}, {Model: &model}},
	} {
		if _, err := s.Assign(ctx, all, 1, queries); err == nil {
			t.Errorf("lanes: %s", what)
		}
	}
}

func checkRefused(t *testing.T, what string, s *Shard, m *Model) {
	t.Helper()
	ctx := context.Background()
	all := partition.AllTiles(4)
	_, assign := s.Assign(ctx, all, 1, one(m, nil))
	_, scatter := s.Scatter(ctx, all, 1, []Query{{Model: m, Kind: Total}})
	_, farthest := s.Farthest(ctx, all, 1, []Query{{Model: m, Counts: make([]int32, 2)}})
	for name, err := range map[string]error{"assign": assign, "scatter": scatter, "farthest": farthest} {
		if err == nil || strings.Contains(err.Error(), "panic") {
			t.Errorf("%s, %s: %v", what, name, err)
		}
	}
	if what == "other clusters" {
		return // Distances has no labels to compare with
	}
	_, distances := s.Distances(ctx, all, one(m, []int32{0}))
	_, nearest := s.Nearest(ctx, all, one(m, nil))
	for name, err := range map[string]error{"distances": distances, "nearest": nearest} {
		if err == nil || strings.Contains(err.Error(), "panic") {
			t.Errorf("%s, %s: %v", what, name, err)
		}
	}
}

func TestBadData(t *testing.T) {
	for what, c := range map[string]struct {
		preparation  Preparation
		values       []float64
		reason, says string
	}{
		"zero row":             {Unit, []float64{1, 2, 0, 0}, "ZERO_ROW", "row 1"},
		"negative probability": {Probability, []float64{1, 2, 3, -4}, "NEGATIVE_VALUE", "row 1, column 1"},
		"negative count":       {NonNegative, []float64{1, -2, 3, 4}, "NEGATIVE_VALUE", "row 0, column 1"},
		"large":                {Plain, []float64{1, 2, 1e200, 4}, "OUT_OF_RANGE", "row 1, column 0"},
		"largest": {Plain, []float64{math.MaxFloat64, 2, math.MaxFloat64, 4}, "OUT_OF_RANGE",
			"row 0, column 0"},
		"unknown": {9, []float64{1, 2, 3, 4}, "UNKNOWN_PREPARATION", "9"},
	} {
		for _, data := range []dataset.Dataset{densePoints(t, 2, 2, c.values), sparsePoints(t, 2, 2, c.values)} {
			if _, err := NewRowSpec(data, c.preparation); !fault.Is(refusal.Of(err), c.reason) ||
				!strings.Contains(refusal.Of(err).Error(), c.says) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	_, err := NewRowSpec(&dataset.Kernel{N: 1, Values: []float64{1}}, Plain)
	if !errors.Is(err, invalid.NoCentroidsOf) {
		t.Errorf("kernel: %v", err)
	}
	dense := densePoints(t, 2, 2, []float64{1, 2, 3, 4})
	sparse := sparsePoints(t, 2, 2, []float64{1, 2, 3, 4})
	spec, err := NewRowSpec(dense, Plain)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(s *RowSpec){
		"rows":        func(s *RowSpec) { s.Rows = 3 },
		"columns":     func(s *RowSpec) { s.Columns = 1 },
		"grids":       func(s *RowSpec) { s.Grids = s.Grids[:1] },
		"mean":        func(s *RowSpec) { s.Mean = s.Mean[:1] },
		"preparation": func(s *RowSpec) { s.Preparation = 0 },
	} {
		bad := *spec
		change(&bad)
		if _, err := NewSource(&bad, dense); err == nil {
			t.Error(what)
		}
	}
	if _, err := NewSource(spec, sparse); err == nil {
		t.Error("sparse points were centered")
	}
	if _, err := NewSource(spec, &dataset.Kernel{N: 2}); err == nil {
		t.Error("a kernel matrix for points")
	}
	source := newSource(t, dense, Plain)
	for _, i := range []int{-1, 2} {
		if err := source.Row(make([]float64, 2), i); err == nil {
			t.Errorf("read row %d", i)
		}
	}
	if err := source.Row(make([]float64, 1), 0); err == nil {
		t.Error("read a row into too few values")
	}
	// A worker with other data than the coordinator's returns an error and does not panic.
	other, err := NewSource(&RowSpec{Preparation: Unit, Rows: 2, Columns: 2, Grids: []int32{-50, -50}},
		densePoints(t, 2, 2, make([]float64, 4)))
	if err != nil {
		t.Fatal(err)
	}
	if err := NewShard(other, 1).Build(t.Context(), []int{0}); !fault.Is(refusal.Of(err), "ZERO_ROW") {
		t.Errorf("a row of zeros: %v", err)
	}
}

// Grids exist for tiny and huge values, and for features that are 0 everywhere.
func TestExtremeScales(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	for _, scale := range []float64{5e-324, 1e-310, 1e-200, 1e89} {
		values := make([]float64, 3*60)
		for at := range values {
			if at%3 < 2 {
				values[at] = scale * float64(1+rng.IntN(9))
			}
		}
		for _, preparation := range []Preparation{Plain, Unit, Probability, NonNegative} {
			checkExact(t, rng, built(t, newSource(t, densePoints(t, 60, 3, values), preparation), 1))
			checkExact(t, rng, built(t, newSource(t, sparsePoints(t, 60, 3, values), preparation), 1))
		}
	}
}

// A point with mass where a centroid has none is far from it, but not infinitely far.
func TestZerosOfCentroids(t *testing.T) {
	s := built(t, newSource(t, densePoints(t, 2, 2, []float64{3, 0, 1, 2}), NonNegative), 1)
	model := &Model{Distortion: metric.IDivergence, Clusters: 2, Centroids: []float64{3, 0, 1, 2}}
	got, err := s.Distances(t.Context(), []int{0}, one(model, []int32{0, 1}))
	if err != nil {
		t.Fatal(err)
	}
	far := 1*math.Log(1.0/3) + 2*math.Log(2/1e-12) - 3 + 3
	for at, want := range []float64{0, 3 * math.Log(3.0), far, 0} {
		if !near(got[0][at], want, 1) {
			t.Errorf("distance %d is %g, want %g", at, got[0][at], want)
		}
	}
}

// A shard without labels has no lanes, so it cannot tell those of a move: it asks for labels first.
func TestUpdateNeedsLabels(t *testing.T) {
	source := onALine(t, false, 1, 2, 3).source
	moves := []labeling.Move{{Point: 0, From: -1, To: 0}, {Point: 1, From: -1, To: 1}}
	if _, err := NewShard(source, 1).Update(context.Background(), nil, 0, moves); !errors.Is(err, kernel.ErrNotReady) {
		t.Errorf("the update ended with %v", err)
	}
}
