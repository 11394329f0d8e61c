package profile

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// naiveNumbers are the trait of a cluster from its definition.
func naiveNumbers(values []float64, labels []int32, cluster int32) Trait {
	var inside, outside []float64
	for i, v := range values {
		switch {
		case math.IsNaN(v):
		case labels[i] == cluster:
			inside = append(inside, v)
		default:
			outside = append(outside, v)
		}
	}
	summary := func(of []float64) (Summary, float64) {
		mean, scatter := 0.0, 0.0
		for _, v := range of {
			mean += v / float64(len(of))
		}
		for _, v := range of {
			scatter += (v - mean) * (v - mean)
		}
		sorted := slices.Sorted(slices.Values(of))
		n := len(sorted)
		if n == 0 {
			return Summary{}, 0
		}
		return Summary{Count: n, Mean: mean, Median: (sorted[(n-1)/2] + sorted[n/2]) / 2}, scatter
	}
	in, a := summary(inside)
	out, b := summary(outside)
	t := Trait{Inside: in, Outside: out}
	if in.Count > 0 && out.Count > 0 && in.Mean != out.Mean {
		t.Difference = max(-MaxDifference,
			min(MaxDifference, (in.Mean-out.Mean)/math.Sqrt((a+b)/float64(max(1, in.Count+out.Count-2)))))
	}
	return t
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func TestTraitsOfNumbersAreTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		k := rapid.IntRange(1, 5).Draw(t, "k")
		labels := make([]int32, n)
		values := make([]float64, n)
		for i := range n {
			labels[i] = int32(rapid.IntRange(0, k-1).Draw(t, "label"))
			values[i] = float64(rapid.IntRange(-3, 9).Draw(t, "value")) + 1e4
			if values[i] == 1e4+9 {
				values[i] = math.NaN()
			}
		}
		for cluster, traits := range Traits([]Column{{Numbers: values}}, labels, k) {
			want := naiveNumbers(values, labels, int32(cluster))
			if want.Inside.Count == 0 || want.Outside.Count == 0 {
				if len(traits) != 0 {
					t.Fatalf("cluster %d: %+v", cluster, traits)
				}
				continue
			}
			got := traits[0]
			if got.Inside.Count != want.Inside.Count || got.Outside.Count != want.Outside.Count ||
				!near(got.Inside.Mean, want.Inside.Mean) || !near(got.Outside.Mean, want.Outside.Mean) ||
				got.Inside.Median != want.Inside.Median || got.Outside.Median != want.Outside.Median ||
				math.Abs(got.Difference-want.Difference) > 1e-6 {
				t.Fatalf("cluster %d: got %+v, want %+v", cluster, got, want)
			}
		}
	})
}

// A huge value, such as those that programs write where a value is missing, does not spoil the figures of other rows.
func TestTraitsBesideAHugeValue(t *testing.T) {
	for _, huge := range []float64{1e20, -1e30, 9.969209968386869e36, -math.MaxFloat32} {
		for at := range 5 {
			values := []float64{10, 20, 30, 40, 50}
			labels := []int32{0, 1, 1, 2, 2}
			values[at] = huge
			sparse, err := dataset.NewSparsePoints(5, 1, []int64{0, 1, 2, 3, 4, 5}, make([]int32, 5), values)
			if err != nil {
				t.Fatal(err)
			}
			for what, all := range map[string][][]Trait{"a column": Traits([]Column{{Numbers: values}}, labels, 3),
				"a sparse column": SparseTraits(sparse, labels, 3, 1)} {
				for cluster, traits := range all {
					for _, got := range traits {
						want := naiveNumbers(values, labels, int32(cluster))
						if !near(got.Inside.Mean, want.Inside.Mean) || !near(got.Outside.Mean, want.Outside.Mean) ||
							math.Abs(got.Difference-want.Difference) > 1e-6 {
							t.Errorf("%s of %v, cluster %d: got %+v, want %+v", what, values, cluster, got, want)
						}
					}
				}
			}
		}
	}
}

func TestTraitsAreOrderedByTheirDifference(t *testing.T) {
	labels := []int32{0, 0, 0, 1, 1, 1, 1}
	columns := []Column{
		{Name: "noise", Numbers: []float64{1, 2, 3, 1, 2, 3, 2}},
		{Name: "color", Texts: []string{"red", "red", "", "blue", "blue", "red", "green"}},
		{Name: "height", Numbers: []float64{10, 11, 12, 1, 2, 3, 2}},
		{Name: "constant", Numbers: []float64{5, 5, 5, 5, 5, 5, 5}},
		{Name: "sign", Numbers: []float64{1, 1, 1, -1, -1, -1, -1}},
		{Name: "rare", Numbers: []float64{math.NaN(), math.NaN(), math.NaN(), 1, 2, 3, 4}},
	}
	got := Traits(columns, labels, 2)
	var names []string
	for _, trait := range got[0] {
		names = append(names, columns[trait.Column].Name)
	}
	if want := []string{"sign", "height", "color", "noise", "constant"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	if color := got[0][2]; color.Category != "red" || color.Inside != (Summary{Count: 2, Mean: 1}) ||
		color.Outside != (Summary{Count: 4, Mean: 0.25}) || !near(color.Difference, math.Pi-math.Pi/3) {
		t.Errorf("color: %+v", color)
	}
	if got[0][0].Difference != MaxDifference || got[1][0].Difference != -MaxDifference {
		t.Errorf("sign: %v, %v", got[0][0].Difference, got[1][0].Difference)
	}
}

func blobs(n, d, k int) (*dataset.Points, []int32) {
	rng := rand.New(rand.NewPCG(1, 2))
	points := &dataset.Points{N: n, D: d, Values: make([]float64, n*d)}
	labels := make([]int32, n)
	for i := range n {
		labels[i] = int32(rng.IntN(k))
		for j := range d {
			points.Values[i*d+j] = rng.NormFloat64() + 3*float64((int(labels[i])+j)%k)
		}
	}
	return points, labels
}

func all(n int) []int32 {
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// A linear kernel has the distances of its points.
func TestPlacesAreTheSameByAKernel(t *testing.T) {
	points, labels := blobs(60, 3, 4)
	kernel := &dataset.Kernel{N: 60, Values: make([]float64, 60*60)}
	for i := range 60 {
		for j := range 60 {
			for c := range 3 {
				kernel.Values[i*60+j] += points.Row(i)[c] * points.Row(j)[c]
			}
		}
	}
	want := Places(points, labels, 5, all(60))
	got := KernelPlaces(kernel, labels, 5, all(60)) // the last cluster is empty
	for i := range want {
		if got[i].Row != want[i].Row || got[i].Next != want[i].Next || math.Abs(got[i].Own-want[i].Own) > 1e-6 ||
			math.Abs(got[i].Distance-want[i].Distance) > 1e-6 {
			t.Fatalf("row %d: %+v, by the kernel %+v", i, want[i], got[i])
		}
	}
	distance := Euclidean(points)
	inKernel := InKernel(kernel)
	for i := range int32(60) {
		if math.Abs(distance(i, 7)-inKernel(i, 7)) > 1e-6 {
			t.Fatalf("row %d: %v, by the kernel %v", i, distance(i, 7), inKernel(i, 7))
		}
	}
}

func TestTypicalAndBorderlineRows(t *testing.T) {
	points := &dataset.Points{N: 7, D: 1, Values: []float64{0, 1, 2, 5.4, 10, 11, 12}}
	labels := []int32{0, 0, 0, 0, 1, 1, 1}
	places := Places(points, labels, 2, all(7)) // means 2.1 and 11
	typical := Typical(places, labels, 2, 2)
	if typical[0][0].Row != 2 || typical[0][1].Row != 1 || typical[1][0].Row != 5 || len(typical[1]) != 2 {
		t.Errorf("typical: %+v", typical)
	}
	border := Borderline(places, 3)
	if border[0].Row != 3 || border[0].Next != 1 || !near(border[0].Margin(), (5.6-3.3)/5.6) {
		t.Errorf("borderline: %+v", border)
	}
	if !slices.IsSortedFunc(border, func(a, b Place) int { return cmp.Compare(a.Margin(), b.Margin()) }) {
		t.Errorf("borderline: %+v", border)
	}
	if one := Borderline(Places(points, make([]int32, 7), 1, all(7)), 3); len(one) != 0 {
		t.Errorf("of one cluster: %+v", one)
	}
}

func TestPlacesInAGraph(t *testing.T) {
	graph, err := dataset.NewGraph(5, []dataset.Edge{{Source: 0, Target: 1, Weight: 1},
		{Source: 1, Target: 2, Weight: 3}, {Source: 2, Target: 3, Weight: 1}, {Source: 0, Target: 0, Weight: 9}})
	if err != nil {
		t.Fatal(err)
	}
	got := GraphPlaces(graph, []int32{0, 0, 1, 1, 0}, 2, all(5))
	want := []Place{{0, 0, 1, 1}, {1, 0.75, 1, 0.25}, {2, 0.75, 0, 0.25}, {3, 0, 0, 1}, {4, 1, 1, 1}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if m := got[4].Margin(); m != 0 {
		t.Errorf("a vertex without edges has the margin %v", m)
	}
}

func TestSilhouettesAreTheDefinition(t *testing.T) {
	points, labels := blobs(50, 2, 3)
	labels[0] = 3 // alone
	rows := Sample(labels, 5, 40)
	distance := Euclidean(points)
	for at, got := range Silhouettes(distance, labels, rows) {
		i := rows[at]
		mean := func(cluster int32) float64 {
			sum, count := 0.0, 0.0
			for _, j := range rows {
				if j != i && labels[j] == cluster {
					sum += distance(i, j)
					count++
				}
			}
			return sum / count
		}
		a := mean(labels[i])
		b := math.Inf(1)
		for cluster := range int32(5) {
			if m := mean(cluster); cluster != labels[i] && m < b {
				b = m
			}
		}
		want := (b - a) / max(a, b)
		if labels[i] == 3 {
			want = 0
		}
		if !near(got, want) {
			t.Fatalf("row %d: got %v, want %v", i, got, want)
		}
	}
	far := slices.Clone(labels)
	for i := range far {
		far[i] += 1 << 30
	}
	if got, want := Silhouettes(distance, far, rows), Silhouettes(distance, labels, rows); !slices.Equal(got, want) {
		t.Errorf("the numbers of the clusters count: %v, want %v", got, want)
	}
	if got := Silhouettes(distance, make([]int32, 50), all(50)); slices.Max(got) != 0 || slices.Min(got) != 0 {
		t.Errorf("of one cluster: %v", got)
	}
}

func TestSample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "n")
		k := rapid.IntRange(1, 6).Draw(t, "k")
		limit := rapid.IntRange(1, 70).Draw(t, "limit")
		labels := make([]int32, n)
		for i := range labels {
			labels[i] = int32(rapid.IntRange(0, k-1).Draw(t, "label"))
		}
		rows := Sample(labels, k, limit)
		if len(rows) != min(n, limit) || !slices.IsSorted(rows) ||
			len(slices.Compact(slices.Clone(rows))) != len(rows) {
			t.Fatalf("%d of %d rows: %v", limit, n, rows)
		}
		seen := map[int32]bool{}
		for _, i := range rows {
			seen[labels[i]] = true
		}
		for _, label := range labels {
			if limit >= k && !seen[label] {
				t.Fatalf("cluster %d is not in the sample", label)
			}
		}
	})
}
