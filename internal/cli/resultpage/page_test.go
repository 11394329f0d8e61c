package resultpage

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func pageOf(t *testing.T, r *report.Report, s report.Scene) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, r, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sections are the ids of the sections of a page.
func sections(page string) (ids []string) {
	for _, match := range regexp.MustCompile(`<h2 id="([a-z]+)"`).FindAllStringSubmatch(page, -1) {
		ids = append(ids, match[1])
	}
	return ids
}

// example is n rows in k groups that lie apart, and a report that puts them there.
func example(n, d, k int) (*report.Report, *dataset.Points) {
	rng := rand.New(rand.NewPCG(3, 4))
	points := &dataset.Points{N: n, D: d, Values: make([]float64, n*d)}
	labels := make([]int32, n)
	sizes := make([]uint32, k)
	for i := range n {
		labels[i] = int32(i % k)
		sizes[i%k]++
		for j := range d {
			points.Values[i*d+j] = rng.NormFloat64() + 10*float64((i%k)*(j+1)%k)
		}
	}
	result := clitest.ExampleResult()
	result.K, result.Rows, result.ClusterSizes, result.Kernel, result.Constraints = uint32(k), uint32(n),
		sizes, nil, nil
	return report.New(&client.Outcome{Result: result, Labels: labels}, jobflags.Rows{}), points
}

func TestPageOfPoints(t *testing.T) {
	r, points := example(60, 3, 3)
	truth := &jobflags.Truth{Labels: make([]int64, 60)}
	for i, label := range r.Labels {
		truth.Labels[i] = int64(label) + 5
	}
	truth.Labels[7] = 5 // of cluster 1
	if err := r.Score(truth); err != nil {
		t.Fatal(err)
	}
	r.Result.Choice = clitest.ExampleChoice()
	r.Result.Constraints = &cleavev1.ConstraintReport{Total: 2, Satisfied: 1, CannotLinkViolated: 1}
	s := report.Scene{
		Data: points, Header: []string{"height", "weight", "<age>"}, Truth: truth, Title: "people",
		Constraints: []constraint.Constraint{{I: 0, J: 3, Kind: constraint.CannotLink},
			{I: 1, J: 4, Kind: constraint.MustLink}},
		Spec: &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3}, Seed: 42,
			Data: &cleavev1.JobSpec_DatasetId{DatasetId: "abc123"}},
	}
	r.Run.Origin = &cleavev1.Origin{
		Version: "v9", Command: []string{"run", "--data", "it's people.csv"}, Directory: "/home/me",
		Inputs: []*cleavev1.InputFile{{Flag: "data", Path: "people.csv", Sha256: "feed"}},
	}
	page := pageOf(t, r, s)
	if got, want := strings.Join(sections(page), " "),
		"notices asked clusters sizes profiles rows separation constraints truth methods objective "+
			"plan repeat"; got != want {
		t.Errorf("the sections are %s, want %s", got, want)
	}
	for _, want := range []string{
		"60 rows, compared by their nearest neighbors, fall into 3 clusters of 20 rows each. 1 of 2 constraints are " +
			"satisfied; 1 cannot-link is violated.", "The clusters are far apart",
		"height", "&lt;age&gt;", "<title>row 7, cluster 1, true class \u20685\u2069</title>",
		"cleave run --data &#39;it&#39;\\&#39;&#39;s people.csv&#39;", "# in /home/me", "SHA-256 of people.csv", "feed",
		"v9", "abc123", ">42<",
		"1 of 2 constraints are satisfied", "60 rows of 3 columns",
		"spectral clustering of the nearest-neighbor graph with hard constraints (chosen)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if n := strings.Count(page, "<use class=\"mark"); n != 60+3 { // and the silhouette's
		t.Errorf("%d markers", n)
	}
	if again := pageOf(t, r, s); again != page {
		t.Error("the same report gives two pages")
	}
}

// A table gives profiles in its own names, categories among them, and ids.
// A truth that could not be scored, because it is about other points, costs neither the map nor the page.
func TestPageWithATruthOfOtherPoints(t *testing.T) {
	r, points := example(60, 3, 3)
	for _, n := range []int{1, 100} {
		s := report.Scene{Data: points, Truth: &jobflags.Truth{Labels: make([]int64, n)}}
		if got := sections(pageOf(t, r, s)); !slices.Contains(got, "clusters") {
			t.Errorf("%d true classes: the sections are %s", n, got)
		}
	}
}

func TestPageOfATable(t *testing.T) {
	r, points := example(40, 2, 2)
	var ids, colors []string
	heights := make([]float64, 40)
	empty := make([]bool, 40)
	for i := range 40 {
		ids = append(ids, fmt.Sprintf("id-%d", i))
		colors = append(colors, []string{"red", "blue"}[i%2])
		heights[i] = 100 + float64(i%2) + float64(i)/100
	}
	colors[4], empty[5] = "", true
	table, err := table.New([]table.Column{
		{Name: "name", Type: table.Text, Texts: append([]string(nil), ids...)}, {Name: "color", Type: table.Text,
			Texts: colors},
		{Name: "height in cm", Type: table.Number, Numbers: heights, Empty: empty},
		{Name: "number", Type: table.Integer, Integers: make([]int64, 40)},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.RowIDs = ids
	r.Classes = []string{"warm"}
	page := pageOf(t, r, report.Scene{Data: points, Table: table, Title: "t"})
	for _, want := range []string{"color = red", "more often \u2068color = red\u2069", "height in cm",
		"\u2068id-17\u2069, cluster 1", "id-"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, "name =") {
		t.Error("an id is a category")
	}
}

// What is not known is absent, and no kind of data fails.
func TestPagesOfOtherData(t *testing.T) {
	kernel := &dataset.Kernel{N: 6, Values: make([]float64, 36)}
	var edges []dataset.Edge
	for i := range 6 {
		kernel.Values[7*i] = 1
		edges = append(edges, dataset.Edge{Source: int32(i), Target: int32((i + 1) % 6), Weight: 1})
	}
	graph, err := dataset.NewGraph(6, edges)
	if err != nil {
		t.Fatal(err)
	}
	var many []dataset.Edge
	for i := range 2999 {
		many = append(many, dataset.Edge{Source: int32(i), Target: int32(i + 1), Weight: 1})
	}
	large, err := dataset.NewGraph(3000, many)
	if err != nil {
		t.Fatal(err)
	}
	sparse, err := dataset.NewSparsePoints(6, 4, []int64{0, 1, 2, 3, 4, 5, 6}, []int32{0, 0, 1, 1, 2, 3},
		[]float64{1, 2, 1, 2, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data dataset.Dataset
		n    int
		want string
	}{
		"nothing": {nil, 6, "notices asked sizes objective plan repeat"},
		"kernel":  {kernel, 6, "notices asked clusters sizes rows separation objective plan repeat"},
		"graph":   {graph, 6, "notices asked clusters sizes rows objective plan repeat"},
		"large":   {large, 3000, "notices asked clusters sizes rows objective plan repeat"},
		"sparse":  {sparse, 6, "notices asked clusters sizes profiles rows separation objective plan repeat"},
	} {
		r, _ := example(c.n, 1, 2)
		page := pageOf(t, r, report.Scene{Data: c.data})
		if got := strings.Join(sections(page), " "); got != c.want {
			t.Errorf("%s: the sections are %s, want %s", name, got, c.want)
		}
	}
	r, _ := example(6, 1, 2)
	r.Embedding = &clustering.Embedding{Rows: 6, Columns: 2, Values: []float64{0, 0, 5, 5, 0, 1, 5, 6, 1, 0, 6, 5}}
	if got := strings.Join(sections(pageOf(t, r, report.Scene{Data: sparse})),
		" "); !strings.Contains(got, "clusters") || !strings.Contains(got, "separation") {
		t.Errorf("with coordinates of sparse points the sections are %s", got)
	}
	cancelled := &cleavev1.Result{State: cleavev1.JobState_JOB_STATE_CANCELLED}
	empty := report.New(&client.Outcome{Result: cancelled}, jobflags.Rows{})
	if page := pageOf(t, empty, report.Scene{}); !strings.Contains(page, "before it had labels") {
		t.Error("a run without labels does not say so")
	}
}

// Odd values of points, one cluster, one row and one column are pages too.
func TestPagesOfDegenerateData(t *testing.T) {
	for _, shape := range [][3]int{{1, 1, 1}, {5, 1, 1}, {4, 2, 4}, {50, 1, 45}, {3, 400, 2}} {
		r, points := example(shape[0], shape[1], shape[2])
		pageOf(t, r, report.Scene{Data: points})
		for at := range points.Values {
			points.Values[at] = math.MaxFloat64 / 4
		}
		pageOf(t, r, report.Scene{Data: points})
		r.Result.Kernel = &cleavev1.KernelReport{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_COSINE}
		clear(points.Values)
		pageOf(t, r, report.Scene{Data: points})
	}
}

// A large page is a sample, says so, and stays small.
func TestPageOfManyRowsIsSmall(t *testing.T) {
	r, points := example(30_000, 3, 20)
	page := pageOf(t, r, report.Scene{Data: points})
	if len(page) > 2_000_000 {
		t.Errorf("%d bytes", len(page))
	}
	for _, want := range []string{"Drawn: 5,000 of 30,000 rows", "Silhouettes of 2,000 of 30,000 rows"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}

// Rows that are drawn as one are announced, because the map seems to have fewer rows.
func TestPageOfRowsOnTopOfEachOther(t *testing.T) {
	r, points := example(60, 3, 3)
	const announced = "Rows of equal values lie on top of each other"
	if strings.Contains(pageOf(t, r, report.Scene{Data: points}), announced) {
		t.Error("rows that differ are said to lie on top of each other")
	}
	for i := range points.N {
		for j := range points.D {
			points.Values[i*points.D+j] = float64(r.Labels[i])
		}
	}
	if page := pageOf(t, r, report.Scene{Data: points}); !strings.Contains(page,
		announced+": 60 rows are at 3 places.") {
		t.Error("rows at the same place are not announced")
	}
}

func TestUpperFirst(t *testing.T) {
	for text, want := range map[string]string{"": "", "rows": "Rows", "états": "États", "3 rows": "3 rows", "R": "R"} {
		if got := upperFirst(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// Points outside --score-on have no true class: they are neither ringed nor counted.
func TestPageComparesOnlyScoredPoints(t *testing.T) {
	r, points := example(40, 2, 2)
	truth := &jobflags.Truth{Labels: make([]int64, 40), Classes: []string{"a", "b", ""}}
	for i, label := range r.Labels {
		truth.Labels[i] = int64(label)
		if i < 10 {
			truth.Labels[i] = 2
		} else {
			truth.ScoreOn = append(truth.ScoreOn, int32(i))
		}
	}
	if err := r.Score(truth); err != nil {
		t.Fatal(err)
	}
	for _, sample := range [][]int32{nil, {0, 1, 2, 3, 10, 11, 12, 13}} {
		s := report.Scene{Data: points, Truth: truth, Sample: sample}
		if sample != nil {
			s.Data = &dataset.Points{N: len(sample), D: 2,
				Values: slices.Concat(points.Values[:8], points.Values[20:28])}
		}
		page := pageOf(t, r, s)
		if strings.Contains(page, "true class differs") || strings.Contains(page, "true class \u2068\u2069") {
			t.Errorf("sample %v: points that are not scored are compared with the truth", sample)
		}
		if !strings.Contains(page, "row 13, cluster 1, true class \u2068b\u2069") {
			t.Errorf("sample %v: a scored point has no true class", sample)
		}
		if strings.Contains(page, `<th scope="col" class="number">a</th><th scope="col" class="number">b</th><th `+
			`scope="col" class="number"></th>`) {
			t.Error("unscored points are a class")
		}
	}
}

// A sentence about vertices or about one row says so.
func TestPageWords(t *testing.T) {
	r, points := example(1, 1, 1)
	if page := pageOf(t, r, report.Scene{Data: points}); !strings.Contains(page, "1 row is one cluster.") {
		t.Error("one row is not one cluster")
	}
	graph, err := dataset.NewGraph(6, []dataset.Edge{{Source: 0, Target: 1, Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	r, _ = example(6, 1, 2)
	r.Embedding = &clustering.Embedding{Rows: 6, Columns: 2, Values: []float64{0, 0, 5, 5, 0, 1, 5, 6, 1, 0, 6, 5}}
	page := pageOf(t, r, report.Scene{Data: graph})
	for _, want := range []string{"Typical vertices are nearest", "Of 6 vertices, 0 are nearer"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}

// A run that ended before it had labels has a page, also if rows of its table were dropped.
func TestPageWithoutLabels(t *testing.T) {
	rows, err := table.New([]table.Column{{Name: "x", Type: table.Number, Numbers: []float64{1, 2, 3}}})
	if err != nil {
		t.Fatal(err)
	}
	someRows := jobflags.Rows{Filter: jobflags.FilterOf([]int32{0, 2}, 3)}
	r := report.New(&client.Outcome{Result: &cleavev1.Result{}}, someRows)
	if page := pageOf(t, r, report.Scene{Table: rows}); !strings.Contains(page, "before it had labels") {
		t.Error("a run without labels does not say so")
	}
}

// The title of a picture keeps what it shows, however long the name of the data is.
func TestTitleOfLongName(t *testing.T) {
	if got, want := titled(strings.Repeat("name", 20), "4 clusters"),
		strings.Repeat("name", 9)+"nam\u2026: 4 clusters"; got != want {
		t.Errorf("the title is %q, want %q", got, want)
	}
}
