package local_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/clustering/predict"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// uneven are three clusters that the first columns tell apart; the others are a wide one that says nothing, one with a
// huge offset and one that does not vary.
func uneven(t testing.TB, n int) *dataset.Points {
	t.Helper()
	rng := clusteringtest.NewRand(7)
	blobs := clusteringtest.Blobs(t, rng, n, 4, 3)
	values := make([]float64, 0, 7*n)
	for i := range n {
		values = append(values, blobs.Row(i)...)
		values = append(values, 1e4*rng.NormFloat64(), 1e9+0.1*rng.NormFloat64(), 0.1)
	}
	points, err := dataset.NewPoints(n, 7, values)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

// columns are some columns of points.
func columns(t testing.TB, p *dataset.Points, of ...int) *dataset.Points {
	t.Helper()
	var values []float64
	for i := range p.N {
		for _, f := range of {
			values = append(values, p.Row(i)[f])
		}
	}
	some, err := dataset.NewPoints(p.N, len(of), values)
	if err != nil {
		t.Fatal(err)
	}
	return some
}

func standardized(t testing.TB, p *dataset.Points) *dataset.Points {
	return scaledBy(t, dataset.Standard, p)
}

func scaledBy(t testing.TB, rule dataset.Rule, p *dataset.Points) *dataset.Points {
	t.Helper()
	scaled, err := dataset.UnitsBy(rule, p).Apply(p)
	if err != nil {
		t.Fatal(err)
	}
	return scaled.(*dataset.Points)
}

func solve(t testing.TB, data dataset.Dataset, spec clustering.Spec) *clustering.Result {
	t.Helper()
	result, err := local.Solve(t.Context(), data, spec, 2, clustering.NopObserver{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// specs are jobs of every family.
func specs(t testing.TB, points *dataset.Points) map[string]clustering.Spec {
	t.Helper()
	var links []constraint.Constraint
	for i := range int32(20) {
		links = append(links, constraint.Constraint{I: i, J: i + 3, Kind: constraint.MustLink},
			constraint.Constraint{I: i, J: i + 1, Kind: constraint.CannotLink})
	}
	specs := map[string]clustering.Spec{
		"kmeans":    {Restarts: 3, Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans}},
		"spherical": {Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans, Distortion: metric.Cosine}},
		"mpc": {
			Supervision: clustering.Supervision{Constraints: links},
			Algorithm:   &kmeans.Options{Algorithm: kmeans.MPCKmeans, Metric: metric.Diagonal},
		},
		"hmrf": {
			Supervision: clustering.Supervision{Constraints: links},
			Algorithm:   &kmeans.Options{Algorithm: kmeans.HMRFKmeans, Metric: metric.Full},
		},
		"kernel": {
			Supervision: clustering.Supervision{Constraints: links}, Algorithm: &kernelkmeans.Options{},
		},
		"spectral": {Algorithm: &spectral.Options{Algorithm: spectral.Spectral}},
		"learning": {
			Supervision: clustering.Supervision{Constraints: links},
			Algorithm:   &spectral.Options{Algorithm: spectral.Learning},
		},
		"constrained spectral": {
			Supervision: clustering.Supervision{Constraints: links},
			Algorithm:   &spectral.Options{Algorithm: spectral.Constrained},
		},
	}
	for name, spec := range specs {
		spec.K, spec.Seed = 3, 5
		if name != "spectral" && name != "learning" && name != "constrained spectral" {
			spec.MaxIterations = 100
		}
		specs[name] = spec
	}
	start := slices.Concat(points.Row(0), points.Row(1), points.Row(2))
	specs["given centroids"] = clustering.Spec{K: 3, MaxIterations: 100,
		Initialization: clustering.Initialization{Start: clustering.StartCentroids},
		Algorithm:      &kmeans.Options{Algorithm: kmeans.Kmeans, InitialCentroids: start}}
	return specs
}

// A job with a scale has the labels, the objective and the coordinates of one on points that were scaled before; its
// centroids are in the units of the data.
func TestScaledIsAsIfScaledBefore(t *testing.T) {
	for rule, scales := range map[dataset.Rule][]clustering.Scale{
		dataset.Standard: {clustering.ScaleZscore, clustering.ScaleAuto},
		dataset.MinMax:   {clustering.ScaleMinMax},
		dataset.Robust:   {clustering.ScaleRobust},
	} {
		scaledAsBefore(t, uneven(t, 150), rule, scales)
	}
}

// Words have units in every scale, also where numbers stay as they are.
func TestWordsAreAsIfScaledBefore(t *testing.T) {
	for rule, scales := range map[dataset.Rule][]clustering.Scale{
		dataset.Raw:      {clustering.ScaleNone},
		dataset.Standard: {clustering.ScaleZscore, clustering.ScaleAuto},
		dataset.MinMax:   {clustering.ScaleMinMax},
		dataset.Robust:   {clustering.ScaleRobust},
	} {
		scaledAsBefore(t, withWords(t, 150), rule, scales)
	}
}

// withWords are the rows of uneven without their wide columns, with one of three words and one of yes and no.
func withWords(t testing.TB, n int) *dataset.Points {
	t.Helper()
	blobs := columns(t, uneven(t, n), 0, 1, 2, 3)
	rng := clusteringtest.NewRand(4)
	var values []float64
	for i := range n {
		words := make([]float64, 4)
		words[rng.IntN(3)], words[3] = 1, float64(rng.IntN(2))
		values = append(append(values, blobs.Row(i)...), words...)
	}
	points, err := dataset.NewPoints(n, 8, values)
	if err != nil {
		t.Fatal(err)
	}
	points.Categorical = []dataset.Categorical{{From: 4, To: 7}, {From: 7, To: 8}}
	return points
}

func scaledAsBefore(t *testing.T, points *dataset.Points, rule dataset.Rule, scales []clustering.Scale) {
	before := scaledBy(t, rule, points)
	all := specs(t, points)
	all["auto"] = clustering.Spec{K: 3, Seed: 5, Algorithm: &auto.Options{}}
	if rule == dataset.Standard {
		delete(all, "auto") // it calls these rows standardized, and looks at their neighbors first
	}
	for name, spec := range all {
		plain := spec
		plain.Scale = clustering.ScaleNone
		if name == "given centroids" {
			options := *plain.Algorithm.(*kmeans.Options)
			options.InitialCentroids = slices.Concat(before.Row(0), before.Row(1), before.Row(2))
			plain.Algorithm = &options
		}
		want := solve(t, before, plain)
		for _, scale := range scales {
			spec.Scale = scale
			got := solve(t, points, spec)
			if !slices.Equal(got.Labels, want.Labels) ||
				math.Float64bits(got.Objective) != math.Float64bits(want.Objective) {
				t.Errorf("%s, %v: objective %v, want %v", name, scale, got.Objective, want.Objective)
			}
			if got.Spectral.Embedding != nil && !slices.Equal(got.Spectral.Embedding.Values,
				want.Spectral.Embedding.Values) {
				t.Errorf("%s, %v: other coordinates", name, scale)
			}
			if got.Units == nil || got.Units.Rule != rule || want.Units != nil {
				t.Errorf("%s, %v: units %v and %v", name, scale, got.Units, want.Units)
			}
			if got.Model == nil || got.Model.Distortion != metric.SquaredEuclidean {
				continue
			}
			for at, v := range got.Units.Undo(want.Model.Centroids) {
				if math.Abs(v-got.Model.Centroids[at]) > 1e-12*math.Abs(v) {
					t.Errorf("%s, %v: value %d of the centroids is %v, want %v", name, scale, at,
						got.Model.Centroids[at], v)
				}
			}
		}
	}
}

// The rows of a run that converged get their labels again: from its centroids in the units of the model.
func TestPredictionInUnits(t *testing.T) {
	points := uneven(t, 150)
	for name, spec := range specs(t, points) {
		// constraints hold points that predict knows nothing of
		spec.Scale, spec.Supervision.Constraints = clustering.ScaleZscore, nil
		if _, vectors := spec.Algorithm.(*kmeans.Options); !vectors {
			continue
		}
		result := solve(t, points, spec)
		if result.StopReason != clustering.StopConverged {
			t.Errorf("%s: %v", name, result.StopReason)
		}
		got, err := predict.ByModel(t.Context(), result.Model, points, 2)
		if err != nil || !slices.Equal(got.Labels, result.Labels) ||
			!slices.Equal(got.Rows.Distance, result.Rows.Distance) ||
			!slices.Equal(got.Rows.Margin, result.Rows.Margin) {
			t.Errorf("%s: %v, %v; want %v and %v", name, got, err, result.Labels, result.Rows)
		}
	}
}

func TestNoticesOfScales(t *testing.T) {
	points := uneven(t, 60)
	even := standardized(t, points)
	for _, c := range []struct {
		name   string
		data   dataset.Dataset
		scale  clustering.Scale
		code   string
		says   string
		scaled bool
	}{
		{"default", points, clustering.ScaleDefault, "ONE_COLUMN_DECIDES",
			"column 4 has 100.0% of the variance of all 7 columns", false},
		{"none", points, clustering.ScaleNone, "", "", false},
		{"auto", points, clustering.ScaleAuto, "COLUMNS_STANDARDIZED",
			"times the span of column 5, so all columns were scaled", true},
		{"zscore", points, clustering.ScaleZscore, "", "", true},
		{"even default", even, clustering.ScaleDefault, "", "", false},
		{"auto of few columns", columns(t, points, 4, 5), clustering.ScaleAuto, "COLUMNS_STANDARDIZED",
			"column 0 has", true},
		{"one varies", columns(t, points, 4, 6), clustering.ScaleDefault, "", "", false},
		{"even auto", even, clustering.ScaleAuto, "", "", false},
		{"graph", clusteringtest.RandomGraph(t, clusteringtest.NewRand(1), 20, 2), clustering.ScaleDefault,
			"", "", false},
	} {
		_, units, notices, err := clustering.InUnits(c.data, c.scale)
		if err != nil || (units != nil) != c.scaled || len(notices) > 1 || (len(notices) == 1) != (c.code != "") {
			t.Errorf("%s: %v, %v, %v", c.name, units, notices, err)
			continue
		}
		if len(notices) == 1 && (notices[0].Code != c.code || !strings.Contains(notices[0].Message, c.says)) {
			t.Errorf("%s: %v", c.name, notices[0])
		}
	}
	graph := clusteringtest.RandomGraph(t, clusteringtest.NewRand(1), 20, 2)
	for name, spec := range specs(t, points) {
		spec.Scale = clustering.ScaleZscore
		if _, err := local.Solve(t.Context(), graph, spec, 1, clustering.NopObserver{}); !fault.Is(refusal.Of(err),
			"OPTION_DOES_NOT_APPLY") && !fault.Is(refusal.Of(err), "INDEX_OUT_OF_RANGE") {
			t.Errorf("%s on a graph: %v", name, err)
		}
		// A run says what it was warned of, before it starts and in its result.
		spec.Scale = clustering.ScaleDefault
		heard := &clusteringtest.Recorder{}
		result, err := local.Solve(t.Context(), points, spec, 1, heard)
		if err != nil {
			t.Fatal(err)
		}
		decides := func(n clustering.Notice) bool { return n.Code == "ONE_COLUMN_DECIDES" }
		if !slices.ContainsFunc(heard.Notices, decides) || !slices.ContainsFunc(result.Warnings, decides) {
			t.Errorf("%s: heard %v, warned %v", name, heard.Notices, result.Warnings)
		}
	}
}
