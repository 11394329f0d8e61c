// Package clusteringtest provides random data, constraints and labels, and recording observers, for tests.
package clusteringtest

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
)

// Recorder is an observer that records the events of a run.
type Recorder struct {
	Entries    []clustering.HistoryEntry
	Shifts     []clustering.ShiftChange
	Notices    []clustering.Notice
	Restarts   []int
	Steps      []clustering.SolverStep
	Levels     []clustering.LevelStarted
	Trials     []clustering.Trial
	Ks         []clustering.KStarted
	EarlySteps int // steps of eigensolvers before the first iteration
}

// Observe implements clustering.Observer.
func (r *Recorder) Observe(e clustering.Event) {
	switch e := e.(type) {
	case clustering.RestartStarted:
		r.Restarts = append(r.Restarts, e.Restart)
	case clustering.ShiftChange:
		r.Shifts = append(r.Shifts, e)
	case clustering.Notice:
		r.Notices = append(r.Notices, e)
	case clustering.MethodTried:
		r.Trials = append(r.Trials, e.Trial)
	case clustering.SolverStep:
		r.Steps = append(r.Steps, e)
	case clustering.KStarted:
		r.Ks = append(r.Ks, e)
	case clustering.LevelStarted:
		r.Levels = append(r.Levels, e)
	case clustering.IterationDone:
		if len(r.Entries) == 0 {
			r.EarlySteps = len(r.Steps)
		}
		r.Entries = append(r.Entries, e.HistoryEntry)
	case clustering.Phase:
	}
}

// NewRand returns a generator with the given seed.
func NewRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// Blobs returns n points around k centers in d dimensions.
func Blobs(t testing.TB, rng *rand.Rand, n, d, k int) *dataset.Points {
	t.Helper()
	values := make([]float64, n*d)
	for i := range n {
		for f := range d {
			values[i*d+f] = rng.NormFloat64() + 4*float64((i%k)*(f+1)%k)
		}
	}
	points, err := dataset.NewPoints(n, d, values)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

// RandomGraph returns a connected graph of n vertices in k groups.
func RandomGraph(t testing.TB, rng *rand.Rand, n, k int) *dataset.Graph {
	t.Helper()
	var edges []dataset.Edge
	for i := range n {
		edges = append(edges, dataset.Edge{Source: int32(i), Target: int32((i + 1) % n), Weight: 0.5 + rng.Float64()})
		for range 6 {
			j := rng.IntN(n)
			if i%k == j%k || rng.IntN(5) == 0 {
				edges = append(edges, dataset.Edge{Source: int32(i), Target: int32(j), Weight: 0.5 + rng.Float64()})
			}
		}
	}
	g, err := dataset.NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// RandomConstraints returns m constraints: must-links between points that are equal modulo k, otherwise cannot-links.
func RandomConstraints(rng *rand.Rand, n, k, m int) []constraint.Constraint {
	var cs []constraint.Constraint
	for len(cs) < m {
		i := int32(rng.IntN(n))
		j := int32(rng.IntN(n))
		if i == j {
			continue
		}
		kind := constraint.CannotLink
		if i%int32(k) == j%int32(k) {
			kind = constraint.MustLink
		}
		cs = append(cs, constraint.Constraint{I: i, J: j, Kind: kind})
	}
	return cs
}

// RandomLabels returns n labels of k clusters.
func RandomLabels(rng *rand.Rand, n, k int) []int32 {
	labels := make([]int32, n)
	for i := range labels {
		labels[i] = int32(rng.IntN(k))
	}
	return labels
}

// MustLink returns a must-link of default weight.
func MustLink(i, j int32) constraint.Constraint {
	return constraint.Constraint{I: i, J: j, Kind: constraint.MustLink}
}

// CannotLink returns a cannot-link of default weight.
func CannotLink(i, j int32) constraint.Constraint {
	return constraint.Constraint{I: i, J: j, Kind: constraint.CannotLink}
}

// WantFault fails the test unless users see err as a fault with the given reason whose message contains all parts.
func WantFault(t testing.TB, err error, reason string, says ...string) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](refusal.Of(err))
	if !ok || f.Reason != reason {
		t.Fatalf("got %v, want a fault %s", err, reason)
	}
	for _, part := range says {
		if !strings.Contains(f.Message, part) {
			t.Errorf("%q does not say %q", f.Message, part)
		}
	}
}
