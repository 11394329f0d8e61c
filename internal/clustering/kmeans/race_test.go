package kmeans

import (
	"bytes"
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/test/testscale"
)

// manyRows are just enough for starts to race, in clusters that k-means often takes two of for one.
func manyRows(t *testing.T) *dataset.Points {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	const n, clusters = raceShare * raceRows, 12
	values := make([]float64, 0, 2*n)
	for i := range n {
		values = append(values, float64(6*(i%clusters%4))+rng.NormFloat64(),
			float64(6*(i%clusters/4))+rng.NormFloat64())
	}
	points, err := dataset.NewPoints(n, 2, values)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

func raced(t *testing.T, ctx context.Context, points *dataset.Points, spec clustering.Spec,
	threads int) *clustering.Result {
	t.Helper()
	p, err := Prepare(points, spec)
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewLocal(ctx, p, points, threads)
	if err != nil {
		t.Fatal(err)
	}
	result, err := Run(ctx, p, x, clustering.NopObserver{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Starts that race need one lane, and end at least as well as starts over all rows. The bits depend on neither threads
// nor snapshots.
func TestStartsRace(t *testing.T) {
	points := manyRows(t)
	spec := clustering.Spec{
		K: 12, Seed: 3, Choose: true, MaxIterations: 100, Algorithm: &Options{Algorithm: Kmeans, Race: true},
	}
	p, err := Prepare(points, spec)
	if err != nil {
		t.Fatal(err)
	}
	if p.Restarts() != 1 || Lanes(p) != 1 || p.RaceRows() != raceRows {
		t.Fatalf("%d restarts in %d lanes, a sample of %d rows", p.Restarts(), Lanes(p), p.RaceRows())
	}
	found := raced(t, t.Context(), points, spec, 1)
	all := spec
	all.Restarts = testscale.Count(3, 10)
	all.Algorithm = &Options{Algorithm: Kmeans}
	if each := raced(t, t.Context(), points, all, 2); found.Objective > each.Objective*(1+1e-6) {
		t.Errorf("an objective of %v by a race, %v by %d starts over all rows", found.Objective, each.Objective,
			all.Restarts)
	}
	var snaps [][]byte
	var memory *snapshot.Memory
	states := 0
	memory = snapshot.NewMemory(1<<30, func(encode func()) {
		memory.Ask()
		encode()
		if states++; states%60 != 1 {
			return
		}
		var b bytes.Buffer
		if err := memory.Write(&b, snapshot.Identity{}); err != nil {
			t.Error(err)
		}
		snaps = append(snaps, b.Bytes())
	})
	if again := raced(t, snapshot.With(t.Context(), memory), points, spec, 2); !reflect.DeepEqual(again, found) {
		t.Error("two threads find something else than one")
	}
	for at := 0; at < len(snaps); at += max(1, len(snaps)/testscale.Count(1, 3)) {
		memory := snapshot.NewMemory(1<<30, nil)
		if err := memory.Read(snaps[at], snapshot.Identity{}); err != nil {
			t.Fatal(err)
		}
		if again := raced(t, snapshot.With(t.Context(), memory), points, spec,
			2); !slices.Equal(again.Labels, found.Labels) || again.Objective != found.Objective {
			t.Errorf("going on from state %d of %d finds something else", at, len(snaps))
		}
	}
}

// The unconstrained answer is found by a race wherever it is needed, also if the start of the restarts is named, so
// that the memory of the race is planned.
func TestUnconstrainedStartsRace(t *testing.T) {
	spec := chosen(PCKmeans, 12, []constraint.Constraint{{I: 0, J: 12, Kind: constraint.MustLink}})
	spec.Algorithm = &Options{Algorithm: PCKmeans, Race: true}
	for start, restarts := range map[clustering.Start]int{clustering.StartDefault: 2, clustering.StartRandom: 10} {
		spec.Initialization.Start = start
		p, err := Prepare(manyRows(t), spec)
		if err != nil || p.RaceRows() != raceRows || p.Restarts() != restarts || p.Runs() != restarts+1 {
			t.Errorf("%v: a race on %d rows, then %d restarts in %d runs, %v", start, p.RaceRows(), p.Restarts(),
				p.Runs(), err)
		}
	}
}

// Starts do not race where rows are few, where their number is named, or where there is nothing to draw.
func TestWhenStartsRace(t *testing.T) {
	many := manyRows(t)
	few, err := dataset.NewPoints(many.N-1, many.D, many.Values[many.D:])
	if err != nil {
		t.Fatal(err)
	}
	spec := clustering.Spec{K: 12, Choose: true, MaxIterations: 100, Algorithm: &Options{Algorithm: Kmeans, Race: true}}
	for name, c := range map[string]struct {
		data   *dataset.Points
		change func(*clustering.Spec)
	}{
		"few rows":      {few, func(*clustering.Spec) {}},
		"many clusters": {many, func(s *clustering.Spec) { s.K = 300 }},
		"named restarts": {many, func(s *clustering.Spec) {
			s.Restarts = 10
			s.Algorithm = &Options{Algorithm: Kmeans}
		}},
		"no iterations":   {many, func(s *clustering.Spec) { s.MaxIterations = 0 }},
		"metric learning": {many, func(s *clustering.Spec) { s.Algorithm = &Options{Algorithm: MKmeans, Race: true} }},
	} {
		of := spec
		c.change(&of)
		if p, err := Prepare(c.data, of); err != nil || p.RaceRows() != 0 || p.Restarts() != 10 {
			t.Errorf("%s: %v, a race on %d rows", name, err, p.RaceRows())
		}
	}
}
