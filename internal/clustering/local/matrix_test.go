package local_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/clusteringtest"
	"github.com/cleave-project/cleave/test/testscale"
)

// asked is one cell of the matrix: an algorithm on data of a kind, with a feature.
type asked struct {
	algorithm catalog.Algorithm
	data      dataset.Dataset
	feature   string
	spec      clustering.Spec
}

// features are what a job may ask for besides an algorithm: the option that an algorithm must have, and how it is
// asked for.
var features = []struct {
	name, option string
	ask          func(p *cleavev1.JobSpec, a catalog.Algorithm)
}{
	{"plain", "", func(*cleavev1.JobSpec, catalog.Algorithm) {}},
	{"constraints", "constraints", func(*cleavev1.JobSpec, catalog.Algorithm) {}}, // added below
	{"seeds", "seeds", func(*cleavev1.JobSpec, catalog.Algorithm) {}},
	{"a range of k", "", func(p *cleavev1.JobSpec, _ catalog.Algorithm) {
		p.Clusters = &cleavev1.JobSpec_KRange{KRange: &cleavev1.KRange{Min: 2, Max: 3}}
	}},
	{"neighbors", "knn", func(p *cleavev1.JobSpec, _ catalog.Algorithm) {
		p.NeighborGraph = &cleavev1.NeighborGraph{Neighbors: proto.Uint32(8)}
	}},
	{"landmarks", "landmarks", func(p *cleavev1.JobSpec, a catalog.Algorithm) {
		o, _ := catalog.FindOption("landmarks", a)
		wire.SetOption(p, o, "20")
	}},
	{"standardized columns", "", func(p *cleavev1.JobSpec, _ catalog.Algorithm) {
		p.Scale = cleavev1.Scale_SCALE_ZSCORE
	}},
}

// fieldRules say for every field of a result what holds for every algorithm, on every kind of data, with every
// feature. A new field without a rule fails the test: whoever adds it says where it is set.
var fieldRules = map[string]func(a asked, r *clustering.Result) error{
	"Labels": func(a asked, r *clustering.Result) error {
		if len(r.Labels) != a.data.Rows() || slices.Min(r.Labels) < 0 ||
			int(slices.Max(r.Labels)) >= len(r.ClusterSizes) {
			return fmt.Errorf("%v", r.Labels)
		}
		return nil
	},
	"ClusterSizes": func(a asked, r *clustering.Result) error {
		counted := make([]int, len(r.ClusterSizes))
		for _, label := range r.Labels {
			counted[label]++
		}
		if !slices.Equal(counted, r.ClusterSizes) || len(counted) < a.spec.K ||
			len(counted) > max(a.spec.K, a.spec.MaxK) {
			return fmt.Errorf("%v, counted are %v", r.ClusterSizes, counted)
		}
		return nil
	},
	"StopReason":    func(_ asked, r *clustering.Result) error { return set(r.StopReason != 0 || r.Iterations == 0) },
	"Iterations":    func(_ asked, r *clustering.Result) error { return set(r.Iterations >= 0) },
	"ObjectiveName": func(_ asked, r *clustering.Result) error { return set(r.ObjectiveName != "") },
	"Objective": func(_ asked, r *clustering.Result) error {
		return set(!math.IsNaN(r.Objective) && !math.IsInf(r.Objective, 0))
	},
	"PlainObjective": func(a asked, r *clustering.Result) error {
		_, graph := a.data.(*dataset.Graph)
		return set(r.Kernel.PlainObjective != nil || !graph || strings.Contains(r.ObjectiveName, "kmeans"))
	},
	"History": func(a asked, r *clustering.Result) error {
		return set(len(r.History) > 0 || a.algorithm.Family == catalog.SpectralFamily || a.algorithm.Name == "auto")
	},
	"Restart": func(_ asked, r *clustering.Result) error { return set(r.Restart >= 0) },
	"Satisfaction": func(a asked, r *clustering.Result) error {
		want := 0
		if a.feature == "constraints" {
			want = len(a.spec.Supervision.Constraints)
		}
		if r.Satisfaction.Total < want || want == 0 && a.feature != "seeds" && r.Satisfaction.Total != 0 {
			return fmt.Errorf("%+v of %d constraints", r.Satisfaction, want)
		}
		return nil
	},
	"Rows": func(a asked, r *clustering.Result) error {
		if r.Rows == nil {
			return fmt.Errorf("there are no scores of rows")
		}
		if n := len(r.Rows.Distance); r.Rows.Measure != 0 && n != a.data.Rows() {
			return fmt.Errorf("%d distances", n)
		}
		return nil
	},
	"Units": func(a asked, r *clustering.Result) error {
		return set(r.Units != nil || a.feature != "standardized columns" || a.algorithm.Name == "auto")
	},
	"Model": func(a asked, r *clustering.Result) error {
		needed := a.algorithm.Family == catalog.KMeansFamily || a.feature == "landmarks"
		return set(r.Model != nil || !needed)
	},
	"Eigen": func(a asked, r *clustering.Result) error {
		return set(r.Spectral.Eigen != nil || a.algorithm.Family != catalog.SpectralFamily)
	},
	"Embedding": func(a asked, r *clustering.Result) error {
		return set(r.Spectral.Embedding != nil || a.algorithm.Family != catalog.SpectralFamily)
	},
	"Matrix": func(a asked, r *clustering.Result) error {
		return set(r.Kernel.Matrix != nil || a.algorithm.Family == catalog.KMeansFamily || a.algorithm.Name == "auto" ||
			a.feature == "landmarks")
	},
	"Choice": func(a asked, r *clustering.Result) error {
		return set((r.Auto.Choice != nil) == (a.algorithm.Name == "auto"))
	},
	"NeighborGraph": func(a asked, r *clustering.Result) error {
		return set((r.NeighborGraph != nil) == (a.feature == "neighbors"))
	},
	"Landmarks": func(a asked, r *clustering.Result) error {
		return set((r.Landmarks != nil) == (a.feature == "landmarks"))
	},
	"KSelection": func(a asked, r *clustering.Result) error { return set((r.KSelection != nil) == (a.spec.MaxK > 0)) },
	"Sigma":      func(_ asked, r *clustering.Result) error { return set(r.Kernel.Sigma >= 0) },
	"BehindUnconstrained": func(a asked, r *clustering.Result) error {
		return set(r.BehindUnconstrained >= 0 &&
			(r.BehindUnconstrained == 0 || len(a.spec.Supervision.Constraints)+len(a.spec.Supervision.Seeds) > 0))
	},
	"Inference": func(a asked, r *clustering.Result) error {
		engine := slices.Contains(a.algorithm.Options, "inference")
		return set(r.Inference == nil || engine || a.algorithm.Name == "auto")
	},
	"Suspects": func(a asked, r *clustering.Result) error {
		return set(len(r.Auto.Suspects) == 0 || len(a.spec.Supervision.Constraints)+len(a.spec.Supervision.Seeds) > 0)
	},
	"Shifts": func(_ asked, r *clustering.Result) error { return set(len(r.Kernel.Shifts) <= r.Iterations+1) },
	"Warnings": func(_ asked, r *clustering.Result) error {
		return set(!slices.ContainsFunc(r.Warnings, func(n clustering.Notice) bool {
			return n.Code == "" || n.Message == ""
		}))
	},
	"Runs": func(_ asked, r *clustering.Result) error { return set(r.Runs == nil) }, // they were compared
}

// everyFieldHasARule checks the fields of a result, and those of its parts that have no rule as a whole.
func everyFieldHasARule(t *testing.T, part reflect.Type) {
	t.Helper()
	for field := range part.Fields() {
		switch {
		case fieldRules[field.Name] != nil:
		case field.Type.Kind() == reflect.Struct:
			everyFieldHasARule(t, field.Type)
		default:
			t.Errorf("the field %s of %s has no rule: say in fieldRules what holds for every algorithm",
				field.Name, part)
		}
	}
}

func set(holds bool) error {
	if !holds {
		return fmt.Errorf("it is not what it must be")
	}
	return nil
}

// Every algorithm runs on every kind of data that it takes, with every feature that it claims to have, and every field
// of its result is right.
func TestEveryAlgorithmWithEveryFeature(t *testing.T) {
	rng := clusteringtest.NewRand(3)
	points := clusteringtest.Blobs(t, rng, 60, 3, 3)
	for at := range points.Values { // divergences take no negative values
		points.Values[at] = math.Abs(points.Values[at]) + 0.5
	}
	labels := clusteringtest.RandomLabels(rng, 60, 3)
	all := map[string]dataset.Dataset{
		catalog.Points: points, catalog.SparsePoints: sparseOf(t, points.N, points.D, points.Values),
		catalog.Graph: clusteringtest.RandomGraph(t, rng, 60, 3), catalog.KernelMatrix: linearKernel(t, points),
	}
	cells := 0
	everyFieldHasARule(t, reflect.TypeFor[clustering.Result]())
	for _, a := range catalog.Algorithms {
		for at, kind := range a.Data {
			for number, f := range features {
				if !testscale.Long && (at+number)%len(a.Data) != 0 {
					continue // every algorithm has every feature, on one kind of data
				}
				if f.option != "" && !slices.Contains(a.Options, f.option) {
					continue
				}
				p := &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3},
					Data: &cleavev1.JobSpec_DatasetId{DatasetId: "data"}}
				wire.SetAlgorithm(p, a)
				f.ask(p, a)
				p.Supervision = supervise(a, f.name, labels)
				data := all[kind]
				if err := wire.Validate(p, kindOf(data)); err != nil {
					if f.name == "plain" && a.Name != "constrained-spectral" { // which needs constraints
						t.Errorf("%s on %s is refused: %v", a.Name, kind, err)
					}
					continue // which the catalog says in a sentence
				}
				spec, err := wire.Spec(p, &recipe.Rows{Count: data.Rows()}, wire.NoTables)
				if err != nil {
					t.Errorf("%s on %s with %s: %v", a.Name, kind, f.name, err)
					continue
				}
				r, err := local.Solve(t.Context(), data, spec, 1, clustering.NopObserver{})
				if err != nil {
					t.Errorf("%s on %s with %s: %v", a.Name, kind, f.name, err)
					continue
				}
				cells++
				for name, rule := range fieldRules {
					if err := rule(asked{a, data, f.name, spec}, r); err != nil {
						t.Errorf("%s on %s with %s: %s: %v", a.Name, kind, f.name, name, err)
					}
				}
			}
		}
	}
	if cells < testscale.Count(50, 100) {
		t.Errorf("%d cells were tried", cells)
	}
}

// supervise gives what a feature or an algorithm needs.
func supervise(a catalog.Algorithm, feature string, labels []int32) *cleavev1.Supervision {
	s := &cleavev1.Supervision{}
	if feature == "constraints" {
		s.Constraints = wire.InlineTable(
			table.FromConstraints(clusteringtest.RandomConstraints(clusteringtest.NewRand(5), len(labels), 3, 12)))
	}
	if feature == "seeds" || slices.Contains(a.Needs, "seeds") {
		var rows, classes []int64
		for i := range int64(9) { // two classes, so that a range of k may begin at 2
			rows = append(rows, i)
			classes = append(classes, i%2)
		}
		seeds, err := table.New([]table.Column{{Name: "index", Type: table.Integer, Integers: rows},
			{Name: "label", Type: table.Integer, Integers: classes}})
		if err != nil {
			panic(err)
		}
		s.Seeds = wire.InlineTable(seeds)
	}
	return s
}

// kindOf is the kind of a data set.
func kindOf(d dataset.Dataset) dataset.Kind { return wire.Kind(wire.DatasetProto(d).GetKind()) }
