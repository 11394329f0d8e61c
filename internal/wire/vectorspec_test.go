package wire

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/metric"
)

// anyVector draws options that the algorithm has.
func anyVector(t *rapid.T) *clustering.Vector {
	v := &clustering.Vector{Algorithm: rapid.SampledFrom([]clustering.Algorithm{1, 2, 3, 4, 5, 6, 7, 8}).Draw(t, "algorithm")}
	penalty := rapid.SampledFrom([]metric.Convention{0, metric.Potts, metric.Basu2003, metric.Bilenko2004})
	form := rapid.SampledFrom([]metric.Form{0, metric.Identity, metric.Diagonal, metric.Full})
	engine := rapid.SampledFrom([]inference.Engine{0, inference.ICM, inference.BP, inference.LP, inference.Exact})
	switch v.Algorithm {
	case clustering.CopKmeans:
		v.MaxRestarts = rapid.IntRange(0, 20).Draw(t, "restarts")
		fallthrough
	case clustering.Kmeans, clustering.SeededKmeans, clustering.ConstrainedKmeans:
		v.Distortion = rapid.SampledFrom([]metric.Distortion{0, metric.SquaredEuclidean, metric.Cosine}).Draw(t, "geometry")
	case clustering.PCKmeans:
		v.Inference = engine.Draw(t, "engine")
	case clustering.MKmeans:
		v.Metric = form.Draw(t, "metric")
	case clustering.HMRFKmeans:
		v.Distortion = rapid.SampledFrom([]metric.Distortion{0, 1, 2, 3, 4}).Draw(t, "distortion")
		fallthrough
	case clustering.MPCKmeans:
		v.Penalty, v.Metric, v.Inference = penalty.Draw(t, "penalty"), form.Draw(t, "metric"), engine.Draw(t, "engine")
	}
	return v
}

func TestVectorSpecsSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anySpec(t)
		want.KernelKmeans, want.Vector = nil, anyVector(t)
		want.Start = clustering.Start(rapid.IntRange(0, 8).Draw(t, "start"))
		for range rapid.IntRange(0, 3).Draw(t, "centroids") {
			want.Vector.InitialCentroids = append(want.Vector.InitialCentroids, rapid.Float64().Draw(t, "centroid"))
		}
		for at := range want.Seeds {
			want.Seeds[at].Probability = rapid.SampledFrom([]float64{0, 0.25, 1, 3}).Draw(t, "probability")
		}
		encoded, err := proto.Marshal(SpecProto(want))
		if err != nil {
			t.Fatal(err)
		}
		p := &cleavev1.JobSpec{}
		if err := proto.Unmarshal(encoded, p); err != nil {
			t.Fatal(err)
		}
		got, err := Spec(p)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v %+v, want %+v %+v", got, got.Vector, want, want.Vector)
		}
	})
}

// The API and the domain number these alike; the conversions rely on it.
func TestVectorNumbersHaveTheSameNames(t *testing.T) {
	same := func(api, domain string) {
		t.Helper()
		_, api, _ = strings.Cut(api, "_")
		api = strings.ToLower(strings.ReplaceAll(api, "_", "-"))
		if api != strings.TrimPrefix(domain, "squared-") {
			t.Errorf("%s travels as %s", domain, api)
		}
	}
	for d := metric.SquaredEuclidean; d <= metric.IDivergence; d++ {
		same(cleavev1.Distortion(d).String(), d.String())
	}
	for f := metric.Identity; f <= metric.Full; f++ {
		same(cleavev1.Metric(f).String(), f.String())
	}
	for c := metric.Potts; c <= metric.Bilenko2004; c++ {
		same(cleavev1.Penalty(c).String(), c.String())
	}
	for e := inference.ICM; e <= inference.Exact; e++ {
		same(cleavev1.Inference(e).String(), e.String())
	}
	for start, name := range map[clustering.Start]cleavev1.Start{
		clustering.StartNeighbourhoods:        cleavev1.Start_START_NEIGHBORHOODS,
		clustering.StartWeightedFarthestFirst: cleavev1.Start_START_WEIGHTED_FARTHEST_FIRST,
		clustering.StartCentroids:             cleavev1.Start_START_CENTROIDS,
	} {
		if cleavev1.Start(start) != name {
			t.Errorf("start %d travels as %v", start, name)
		}
	}
	for geometry, distortion := range map[cleavev1.Geometry]metric.Distortion{
		cleavev1.Geometry_GEOMETRY_EUCLIDEAN: metric.SquaredEuclidean, cleavev1.Geometry_GEOMETRY_SPHERICAL: metric.Cosine,
	} {
		if int(geometry) != int(distortion) {
			t.Errorf("geometry %v is distortion %v", geometry, distortion)
		}
	}
}

// Options that are left out entirely are the defaults, of every algorithm.
func TestVectorSpecsMayBeEmpty(t *testing.T) {
	for at, p := range []*cleavev1.JobSpec{
		{Algorithm: &cleavev1.JobSpec_Kmeans{}}, {Algorithm: &cleavev1.JobSpec_SeededKmeans{}},
		{Algorithm: &cleavev1.JobSpec_ConstrainedKmeans{}}, {Algorithm: &cleavev1.JobSpec_CopKmeans{}},
		{Algorithm: &cleavev1.JobSpec_PcKmeans{}}, {Algorithm: &cleavev1.JobSpec_MKmeans{}},
		{Algorithm: &cleavev1.JobSpec_MpcKmeans{}}, {Algorithm: &cleavev1.JobSpec_HmrfKmeans{}},
	} {
		got, err := Spec(p)
		want := clustering.Spec{MaxIterations: DefaultMaxIterations, Vector: &clustering.Vector{Algorithm: clustering.Algorithm(at + 1)}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: got %+v, %v", p, got, err)
		}
	}
}

func TestVectorSpecRefusesWhatItCannotSay(t *testing.T) {
	none, zero, nan, infinite := uint32(0), 0.0, math.NaN(), math.Inf(1)
	seeded := func(probability *float64) *cleavev1.JobSpec {
		return &cleavev1.JobSpec{
			Algorithm:   &cleavev1.JobSpec_SeededKmeans{SeededKmeans: &cleavev1.SeededKmeans{}},
			Supervision: &cleavev1.Supervision{Seeds: []*cleavev1.Seed{{Index: 3, Label: 1, Probability: probability}}}}
	}
	hmrf := func(o *cleavev1.HmrfKmeans) *cleavev1.JobSpec {
		return &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_HmrfKmeans{HmrfKmeans: o}}
	}
	for _, c := range []struct {
		reason, field string
		spec          *cleavev1.JobSpec
	}{
		{"UNKNOWN_ENUM_VALUE", "spec.kmeans.geometry", &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{Geometry: 9}}}},
		{"UNKNOWN_ENUM_VALUE", "spec.seeded_kmeans.geometry", &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_SeededKmeans{SeededKmeans: &cleavev1.SeededKmeans{Geometry: -9}}}},
		{"UNKNOWN_ENUM_VALUE", "spec.constrained_kmeans.geometry", &cleavev1.JobSpec{
			Algorithm: &cleavev1.JobSpec_ConstrainedKmeans{ConstrainedKmeans: &cleavev1.ConstrainedKmeans{Geometry: 3}}}},
		{"UNKNOWN_ENUM_VALUE", "spec.cop_kmeans.geometry", &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_CopKmeans{CopKmeans: &cleavev1.CopKmeans{Geometry: 3}}}},
		{"UNKNOWN_ENUM_VALUE", "spec.pc_kmeans.inference", &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_PcKmeans{PcKmeans: &cleavev1.PcKmeans{Inference: 257}}}},
		{"UNKNOWN_ENUM_VALUE", "spec.m_kmeans.metric", &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_MKmeans{MKmeans: &cleavev1.MKmeans{Metric: 257}}}},
		{"UNKNOWN_ENUM_VALUE", "spec.mpc_kmeans.penalty", &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_MpcKmeans{MpcKmeans: &cleavev1.MpcKmeans{Penalty: 257}}}},
		{"UNKNOWN_ENUM_VALUE", "spec.hmrf_kmeans.distortion", hmrf(&cleavev1.HmrfKmeans{Distortion: 258})},
		{"UNKNOWN_ENUM_VALUE", "spec.hmrf_kmeans.inference", hmrf(&cleavev1.HmrfKmeans{Inference: 258})},
		{"BAD_MAX_RESTARTS", "spec.cop_kmeans.max_restarts", &cleavev1.JobSpec{
			Algorithm: &cleavev1.JobSpec_CopKmeans{CopKmeans: &cleavev1.CopKmeans{MaxRestarts: &none}}}},
		{"BAD_PROBABILITY", "spec.supervision.seeds", seeded(&zero)},
		{"BAD_PROBABILITY", "spec.supervision.seeds", seeded(&nan)},
		{"BAD_PROBABILITY", "spec.supervision.seeds", seeded(&infinite)},
		{"OPTION_DOES_NOT_APPLY", "spec.storage", &cleavev1.JobSpec{
			Storage: cleavev1.StorageMode_STORAGE_MODE_FLOAT16, Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}}}},
	} {
		_, err := Spec(c.spec)
		f, is := err.(*fault.Error)
		if !is || f.Reason != c.reason || f.Field != c.field || f.Kind != fault.InvalidArgument {
			t.Errorf("got %#v, want %s on %s", err, c.reason, c.field)
		}
	}
}
