package knn

import (
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

func points(t *testing.T, columns int, values ...float64) *dataset.Points {
	t.Helper()
	p, err := dataset.NewPoints(len(values)/columns, columns, values)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// naivePredict sorts all distances.
func naivePredict(trained *dataset.Points, labels []int32, fresh *dataset.Points) []int32 {
	predicted := make([]int32, fresh.N)
	for i := range predicted {
		rows := make([]int, trained.N)
		for j := range rows {
			rows[j] = j
		}
		distance := func(j int) (sum float64) {
			for f, v := range fresh.Row(i) {
				sum += (v - trained.Row(j)[f]) * (v - trained.Row(j)[f])
			}
			return sum
		}
		slices.SortStableFunc(rows, func(a, b int) int {
			switch da, db := distance(a), distance(b); {
			case da < db:
				return -1
			case da > db:
				return 1
			}
			return 0
		})
		rows = rows[:min(10, len(rows))]
		votes, most := map[int32]int{}, 0
		for _, j := range rows {
			votes[labels[j]]++
			most = max(most, votes[labels[j]])
		}
		first := slices.IndexFunc(rows, func(j int) bool { return votes[labels[j]] == most })
		predicted[i] = labels[rows[first]]
	}
	return predicted
}

func TestPredictIsTheVoteOfTheNearest(t *testing.T) {
	rng := clusteringtest.NewRand(1)
	trained := clusteringtest.Blobs(t, rng, 200, 3, 4)
	fresh := clusteringtest.Blobs(t, rng, 100, 3, 4)
	labels := make([]int32, trained.N)
	for i := range labels {
		labels[i] = int32(rng.IntN(5))
	}
	for i := range trained.N { // columns of very unequal scale, so that units matter
		trained.Values[3*i] *= 100
	}
	for _, scale := range []clustering.Scale{clustering.ScaleNone, clustering.ScaleZscore, clustering.ScaleMinMax,
		clustering.ScaleRobust} {
		old, later := trained, fresh
		if scale != clustering.ScaleNone {
			scaled, units, _, err := clustering.InUnits(trained, scale)
			if err != nil {
				t.Fatal(err)
			}
			after, err := units.Apply(fresh)
			if err != nil {
				t.Fatal(err)
			}
			old, later = scaled.(*dataset.Points), after.(*dataset.Points)
		}
		want := naivePredict(old, labels, later)
		for _, threads := range []int{1, 3} {
			got, err := Predict(t.Context(), scale, 0, trained, labels, fresh, threads)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%v: %v, %v; want %v", scale, got, err, want)
			}
		}
	}
}

// Of labels with equally many votes, that of the nearest point wins; a point that is near none goes to the largest
// cluster.
func TestPredictTies(t *testing.T) {
	got, err := Predict(t.Context(), clustering.ScaleNone, 0, points(t, 1, 0, 1, 10, 11), []int32{1, 1, 0, 0},
		points(t, 1, 3, 8), 1)
	if err != nil || !slices.Equal(got, []int32{1, 0}) {
		t.Errorf("got %v, %v", got, err)
	}
	trained, err := dataset.NewSparsePoints(3, 2, []int64{0, 1, 2, 3}, []int32{0, 1, 1}, []float64{1, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := dataset.NewSparsePoints(2, 2, []int64{0, 1, 1}, []int32{0}, []float64{3})
	if err != nil {
		t.Fatal(err)
	}
	if got, err = Predict(t.Context(), clustering.ScaleNone, 0, trained, []int32{0, 1, 1}, fresh, 1); err != nil ||
		!slices.Equal(got, []int32{0, 1}) {
		t.Errorf("sparse: got %v, %v", got, err)
	}
}

func TestPredictRefuses(t *testing.T) {
	graph := clusteringtest.RandomGraph(t, clusteringtest.NewRand(2), 20, 2)
	line := points(t, 1, 0, 1)
	plane := points(t, 2, 0, 1)
	for name, c := range map[string]struct {
		trained, fresh dataset.Dataset
		reason         string
	}{
		"a graph":       {graph, line, "CANNOT_PREDICT"},
		"new graph":     {line, graph, "OTHER_DATA"},
		"other columns": {line, plane, "SIZE_MISMATCH"},
	} {
		if _, err := Predict(t.Context(), clustering.ScaleNone, 0, c.trained, make([]int32, c.trained.Rows()), c.fresh,
			1); !fault.Is(refusal.Of(err), c.reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
