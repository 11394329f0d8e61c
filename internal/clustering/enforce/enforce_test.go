package enforce_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/clustering/enforce"
	"github.com/cleave-project/cleave/internal/data/constraint"
)

func must(i, j int32) constraint.Constraint {
	return constraint.Constraint{I: i, J: j, Kind: constraint.MustLink}
}

func cannot(i, j int32) constraint.Constraint {
	return constraint.Constraint{I: i, J: j, Kind: constraint.CannotLink}
}

func unknown(n int) []int32 { return slices.Repeat([]int32{enforce.None}, n) }

func apply(t interface{ Fatal(args ...any) }, k int, labels, fixed []int32, prices []float64,
	constraints []constraint.Constraint) enforce.Result {
	result, err := enforce.Apply(context.Background(), k, labels, fixed, prices, constraints)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// endsAfter is a context that has ended once it was asked a number of times.
type endsAfter struct {
	context.Context
	times int
}

func (c *endsAfter) Err() error {
	if c.times--; c.times < 0 {
		return context.Canceled
	}
	return nil
}

// A search asks all the time whether its context has ended. Mycielski's graph of 47 rows that need six clusters has no
// triangle, so that it takes long to find that five do not suffice.
func TestASearchEndsWithItsContext(t *testing.T) {
	all := []constraint.Constraint{cannot(0, 1)}
	n := int32(2)
	for range 4 {
		for _, c := range all {
			all = append(all, cannot(c.I, n+c.J), cannot(c.J, n+c.I))
		}
		for i := range n {
			all = append(all, cannot(n+i, 2*n))
		}
		n = 2*n + 1
	}
	ctx := &endsAfter{t.Context(), 1000}
	if _, err := enforce.Apply(ctx, 5, make([]int32, n), unknown(int(n)), nil, all); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// The memory for components is proportional to their rows, whatever the number of clusters.
func TestMemoryOfComponents(t *testing.T) {
	const pairs, k = 1000, 4000
	var all []constraint.Constraint
	labels := make([]int32, 2*pairs)
	for i := range labels {
		labels[i] = int32(i)
	}
	for i := range int32(pairs) {
		all = append(all, must(2*i, 2*i+1))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := apply(t, k, labels, unknown(len(labels)), nil, all)
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 4<<20 { // a number per component and cluster takes 32 MB
		t.Errorf("%d bytes", bytes)
	}
	if got.Changed != pairs {
		t.Errorf("%d rows changed", got.Changed)
	}
}

// counting is a context that counts how often it is asked whether it has ended.
type counting struct {
	context.Context
	times int
}

func (c *counting) Err() error {
	c.times++
	return nil
}

// A search among many components finds soon that a few of them cannot all be apart.
func TestASearchFindsTheCliqueFirst(t *testing.T) {
	const n, k = 6400, 8
	var all []constraint.Constraint
	labels := make([]int32, n)
	for i := range int32(n) {
		if i > k { // a path of rows that are apart from the row before
			labels[i] = i % 2
			all = append(all, cannot(i-1, i))
			continue
		}
		for j := range i {
			all = append(all, cannot(j, i))
		}
	}
	ctx := &counting{Context: t.Context()}
	got, err := enforce.Apply(ctx, k, labels, unknown(n), nil, all)
	if err != nil || len(got.Unsatisfied) != 1 || ctx.times > 10 {
		t.Errorf("%v, unsatisfied %v, asked %d times", err, got.Unsatisfied, ctx.times)
	}
}

func violated(labels []int32, c constraint.Constraint) bool {
	return (labels[c.I] == labels[c.J]) != (c.Kind == constraint.MustLink)
}

// What some labels satisfy, and the labels of some rows that they have, hold afterwards; rows that nothing was said
// about keep their labels.
func TestWhatCanHoldHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 60).Draw(t, "rows")
		k := rapid.IntRange(2, 5).Draw(t, "clusters")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		truth := make([]int32, n)
		labels := make([]int32, n)
		fixed := unknown(n)
		for i := range n {
			truth[i], labels[i] = rng.Int32N(int32(k)), rng.Int32N(int32(k))
			if rng.IntN(4) == 0 {
				labels[i] = truth[i]
			}
			if rng.IntN(10) == 0 {
				fixed[i] = truth[i]
			}
		}
		var all []constraint.Constraint
		concerned := make([]bool, n)
		for range rapid.IntRange(0, 2*n).Draw(t, "constraints") {
			i := rng.Int32N(int32(n))
			j := rng.Int32N(int32(n))
			if i == j {
				continue
			}
			c := cannot(i, j)
			if truth[i] == truth[j] {
				c = must(i, j)
			}
			all, concerned[i], concerned[j] = append(all, c), true, true
		}
		got := apply(t, k, labels, fixed, nil, all)
		if len(got.Contradicted)+len(got.Unsatisfied) > 0 {
			t.Fatalf("contradicted %v, unsatisfied %v", got.Contradicted, got.Unsatisfied)
		}
		changed := 0
		for i, c := range got.Labels {
			if fixed[i] != enforce.None && c != fixed[i] {
				t.Fatalf("row %d is known to be %d and has %d", i, fixed[i], c)
			}
			if c != labels[i] {
				changed++
				if !concerned[i] && fixed[i] == enforce.None {
					t.Fatalf("row %d was changed, but nothing was said about it", i)
				}
			}
		}
		if changed != got.Changed {
			t.Fatalf("%d rows changed, %d reported", changed, got.Changed)
		}
		for _, c := range all {
			if violated(got.Labels, c) {
				t.Fatalf("%v does not hold", c)
			}
		}
		if again := apply(t, k, got.Labels, fixed, nil, all); again.Changed != 0 {
			t.Fatalf("%d rows change where all holds", again.Changed)
		}
	})
}

// Rows that share only an opponent with a known label are independent: row 3 can be in no cluster, but 4, 5 and 6 can
// all be where their links hold.
func TestARowWithoutAClusterDoesNotPreventOthers(t *testing.T) {
	const none, a, b, y = 3, 4, 5, 6
	labels := []int32{0, 1, 2, 0, 0, 0, 2}
	fixed := unknown(7)
	copy(fixed, labels[:3])
	got := apply(t, 3, labels, fixed, nil, []constraint.Constraint{
		cannot(none, 0), cannot(none, 1), cannot(none, 2),
		cannot(a, b), cannot(a, 1), cannot(a, y), cannot(b, 1), cannot(b, 2), cannot(y, 0),
	})
	if want := []int32{0, 1, 2, 0, 2, 0, 1}; len(got.Unsatisfied) != 1 || !slices.Equal(got.Labels, want) {
		t.Errorf("unsatisfied %v with the labels %v, want %v", got.Unsatisfied, got.Labels, want)
	}
}

// All links of rows that cannot-links connect, other than through rows with known labels, hold if an exhaustive search
// satisfies them.
func TestEachConnectedPartIsSatisfiedIfItCanBe(t *testing.T) {
	const k = 3
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		n := k + 3 + rng.IntN(4)
		labels := make([]int32, n)
		fixed := unknown(n)
		part := make([]int, n)
		for i := range n {
			labels[i] = rng.Int32N(k)
			part[i] = i
			if i < k { // a row of every cluster is known
				labels[i], fixed[i] = int32(i), int32(i)
			}
		}
		var all []constraint.Constraint
		for range 2 * n {
			i := rng.Int32N(int32(n))
			j := rng.Int32N(int32(n))
			if i == j || fixed[i] != enforce.None && fixed[j] != enforce.None {
				continue
			}
			all = append(all, cannot(i, j))
			if from, to := part[i], part[j]; fixed[i] == enforce.None && fixed[j] == enforce.None {
				for r := range part {
					if part[r] == from {
						part[r] = to
					}
				}
			}
		}
		got := apply(t, k, labels, fixed, nil, all)
		for _, c := range got.Unsatisfied {
			own := part[max(c.I, c.J)] // the row with the larger number is not known
			links := slices.DeleteFunc(slices.Clone(all), func(c constraint.Constraint) bool {
				return part[c.I] != own && part[c.J] != own
			})
			if can := satisfying(k, slices.Clone(fixed), links); can != nil {
				t.Fatalf("%v does not hold, but does with the labels %v: changed %v, known %v, links %v",
					c, can, labels, fixed, links)
			}
		}
	}
}

// satisfying returns labels with which all constraints hold, nil if there are none. It tries everything, and overwrites
// known, which has the known labels.
func satisfying(k int, known []int32, all []constraint.Constraint) []int32 {
	at := slices.Index(known, enforce.None)
	if at < 0 {
		if slices.ContainsFunc(all, func(c constraint.Constraint) bool { return violated(known, c) }) {
			return nil
		}
		return known
	}
	for c := range int32(k) {
		if known[at] = c; satisfying(k, known, all) != nil {
			return known
		}
	}
	known[at] = enforce.None
	return nil
}

// The fewest changes that an exhaustive search finds are what single violations take.
func TestFewLabelsChange(t *testing.T) {
	labels := []int32{0, 0, 0, 1, 1, 1, 2, 2, 2}
	for _, test := range []struct {
		name    string
		given   []constraint.Constraint
		changed int
	}{
		{"nothing", nil, 0},
		{"satisfied", []constraint.Constraint{must(0, 1), cannot(0, 3)}, 0},
		{"a row joins", []constraint.Constraint{must(0, 1), must(1, 3)}, 1},
		{"a row leaves", []constraint.Constraint{cannot(0, 1)}, 1},
		{"a chain trades", []constraint.Constraint{cannot(0, 1), cannot(0, 3), cannot(0, 6), cannot(1, 4),
			cannot(1, 7)}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := apply(t, 3, labels, unknown(9), nil, test.given)
			if got.Changed != test.changed || len(got.Unsatisfied) > 0 {
				t.Errorf("%d rows changed, not %d; unsatisfied %v; labels %v", got.Changed, test.changed,
					got.Unsatisfied, got.Labels)
			}
		})
	}
}

func TestContradictionsAreReported(t *testing.T) {
	fixed := unknown(4)
	fixed[0], fixed[1], fixed[2] = 0, 1, 0
	got := apply(t, 2, []int32{0, 1, 0, 1}, fixed, nil, []constraint.Constraint{must(0, 1), cannot(0, 2), must(0, 3),
		cannot(2, 3), must(2, 0)})
	want := []constraint.Constraint{must(0, 1), cannot(0, 2), cannot(2, 3)}
	if !slices.Equal(got.Contradicted, want) || !slices.Equal(got.Labels, []int32{0, 1, 0, 0}) {
		t.Errorf("contradicted %v, labels %v", got.Contradicted, got.Labels)
	}
}

// Four rows that are all apart do not go into three clusters.
func TestTooManyApart(t *testing.T) {
	var all []constraint.Constraint
	for i := range int32(4) {
		for j := range i {
			all = append(all, cannot(j, i))
		}
	}
	got := apply(t, 3, make([]int32, 4), unknown(4), nil, all)
	if len(got.Unsatisfied) != 1 {
		t.Errorf("unsatisfied %v with the labels %v", got.Unsatisfied, got.Labels)
	}
}

// Of two rows that must be together the one moves whose change costs less.
func TestTheCheaperRowMoves(t *testing.T) {
	for _, prices := range [][]float64{{1, 2}, {2, 1}} {
		got := apply(t, 2, []int32{0, 1}, unknown(2), prices, []constraint.Constraint{must(0, 1)})
		want := []int32{1, 1}
		if prices[0] > prices[1] {
			want = []int32{0, 0}
		}
		if !slices.Equal(got.Labels, want) {
			t.Errorf("with the prices %v the labels are %v", prices, got.Labels)
		}
	}
}
