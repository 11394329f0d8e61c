package clustering

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// permutations calls do with every permutation of 0..k-1.
func permutations(k int, do func(order []int32)) {
	order := make([]int32, k)
	for c := range order {
		order[c] = int32(c)
	}
	var visit func(from int)
	visit = func(from int) {
		if from == k {
			do(order)
			return
		}
		for at := from; at < k; at++ {
			order[from], order[at] = order[at], order[from]
			visit(from + 1)
			order[from], order[at] = order[at], order[from]
		}
	}
	visit(0)
}

// No matching of clusters has more rows in common than the one found.
func TestMatchingHasMostRowsInCommon(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		n := 1 + rng.IntN(40)
		k := 1 + rng.IntN(6)
		common := newOverlap(k)
		for range n {
			common.dense[rng.IntN(k)*k+rng.IntN(1+rng.IntN(k))]++
		}
		kept := func(partner []int32) (rows int32) {
			for a, b := range partner {
				if b >= 0 {
					rows += common.dense[a*k+int(b)]
				}
			}
			return rows
		}
		most := int32(0)
		permutations(k, func(order []int32) { most = max(most, kept(order)) })
		for name, found := range map[string][]int32{"match": common.match(), "exact": common.matchExactly()} {
			taken := map[int32]bool{}
			for _, b := range found {
				if b >= 0 && taken[b] {
					t.Fatalf("seed %d: %s gives a cluster twice: %v", seed, name, found)
				}
				taken[b] = true
			}
			if kept(found) != most {
				t.Fatalf("seed %d: %s keeps %d rows, %d are possible", seed, name, kept(found), most)
			}
		}
	}
}

// The confidence is the share of runs that agree, after the best renumbering of their clusters, which is unique here.
func TestConfidenceIsTheShareOfRunsThatAgree(t *testing.T) {
	for _, k := range []int{1, 3, 5, 300, 700} { // in a byte and not, matched exactly and not
		rng := rand.New(rand.NewPCG(uint64(k), 3))
		n := 40 * k
		answer := make([]int32, n)
		for i := range answer {
			answer[i] = int32(i % k)
		}
		result := &Result{Labels: answer, ClusterSizes: make([]int, k)}
		agree := make([]float64, n)
		voted := make([]float64, n)
		for range 4 {
			numbers := rng.Perm(k)
			run := make([]int32, n)
			for i, c := range answer {
				moved := c
				if rng.IntN(10) == 0 {
					moved = int32(rng.IntN(k))
				}
				if run[i] = int32(numbers[moved]); rng.IntN(20) == 0 {
					run[i] = -1 // a row that the run left out
					continue
				}
				if voted[i]++; moved == c {
					agree[i]++
				}
			}
			result.Runs = append(result.Runs, NewLabeling(run, k))
		}
		result.Vote()
		if result.Runs != nil || result.Rows.Runs != 4 {
			t.Errorf("k = %d: %d runs are left, %d counted", k, len(result.Runs), result.Rows.Runs)
		}
		for i, got := range result.Rows.Confidence {
			if want := agree[i] / voted[i]; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Fatalf("k = %d, row %d: %v, not %v", k, i, got, want)
			}
		}
	}
}

// A single run gives no confidence, and a run with another number of rows does not count.
func TestOneRunHasNoConfidence(t *testing.T) {
	one := &Result{Labels: []int32{0, 1}, ClusterSizes: make([]int, 2), Runs: []Labeling{NewLabeling([]int32{0, 1}, 2)}}
	if one.Vote(); one.Rows != nil {
		t.Errorf("%+v", one.Rows)
	}
	other := &Result{Labels: []int32{0, 1}, ClusterSizes: make([]int, 2),
		Runs: []Labeling{NewLabeling([]int32{1, 0}, 2), NewLabeling([]int32{1}, 2)}}
	if other.Vote(); !slices.Equal(other.Rows.Confidence, []float64{1, 1}) {
		t.Errorf("%+v", other.Rows)
	}
}

func TestLabelingsAreReadAsTheyWereWritten(t *testing.T) {
	for _, k := range []int{2, 255, 256, 100_000} {
		labels := []int32{0, -1, int32(k - 1), 1}
		l := NewLabeling(labels, k)
		w := &snapshot.Writer{}
		l.save(w)
		read := readLabeling(snapshot.NewReader(w.Bytes()), k)
		if read == nil || !slices.Equal(read.labels(), labels) {
			t.Errorf("k = %d: %v", k, read)
		}
		if k > 2 && readLabeling(snapshot.NewReader(w.Bytes()), k-1) != nil {
			t.Errorf("k = %d: labels of more clusters were taken", k)
		}
		if among := l.Among(6, []int32{1, 2, 4, 5}).labels(); !slices.Equal(among,
			[]int32{-1, 0, -1, -1, int32(k - 1), 1}) {
			t.Errorf("k = %d: %v among six", k, among)
		}
	}
	w := &snapshot.Writer{}
	(*Labeling)(nil).save(w)
	if readLabeling(snapshot.NewReader(w.Bytes()), 2) != nil {
		t.Error("there is a labeling where none was")
	}
}

// Distances in an embedding are measured from the means of the rows that have coordinates.
func TestDistancesInAnEmbedding(t *testing.T) {
	e := &Embedding{Rows: 5, Columns: 2, Values: []float64{0, 0, 2, 0, 9, 9, 10, 0, 10, 4}}
	r := &Result{}
	own, next := e.Distances([]int32{0, 0, 1, 1, 1}, 3, []int32{0, 1, 3, 4})
	r.SetDistances(MeasureEmbedding, own, next)
	nan := math.NaN()
	wantDistance := []float64{1, 1, nan, 4, 4}
	wantMargin := []float64{104 - 1, 68 - 1, nan, 81 - 4, 97 - 4}
	same := func(a, b []float64) bool {
		return slices.EqualFunc(a, b, func(v, w float64) bool { return v == w || math.IsNaN(v) && math.IsNaN(w) })
	}
	if !same(r.Rows.Distance, wantDistance) || !same(r.Rows.Margin, wantMargin) {
		t.Errorf("%v, %v", r.Rows.Distance, r.Rows.Margin)
	}
	one := &Result{}
	own, next = e.Distances(make([]int32, 5), 1, nil)
	if one.SetDistances(MeasureEmbedding, own, next); !math.IsNaN(one.Rows.Margin[0]) {
		t.Errorf("a margin of %v to no other cluster", one.Rows.Margin[0])
	}
}
