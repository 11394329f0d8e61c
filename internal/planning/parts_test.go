package planning

import (
	"math"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
)

// A job that has its points in two units and looks for neighbors in both.
func TestPlansOfSeveralParts(t *testing.T) {
	const n, d = 20_000, 100
	rows := Workload{Vectors: &Vectors{Rows: n, Columns: d, Width: d}, DatasetBytes: 8 * n * d, K: 3, Lanes: 2}
	scaled := rows
	scaled.Scaled = true
	search := NeighborWorkload(pointShape(n, d), 8*n*d, 10)
	search.Eigen = &Eigensolver{Pairs: 3, Columns: 3, Restarts: 10, SparseEntries: 20 * n}
	again := NeighborWorkload(pointShape(n, d), 8*n*d, 10)
	again.Scaled = true
	parts := []Workload{rows, search, scaled, again}
	roomy := []Worker{{Name: "a", Threads: 2, Free: Unlimited}, {Name: "b", Threads: 1, Free: Unlimited}}

	whole, err := MakeAll(parts, roomy)
	if err != nil {
		t.Fatal(err)
	}
	bytes, seconds, largest, searches := int64(0), 0.0, int64(0), int64(0)
	for at, part := range parts {
		plan, err := Make(part, roomy)
		if err != nil {
			t.Fatal(err)
		}
		if at%2 == 0 {
			bytes += plan.Bytes
		} else { // one search at a time
			searches = max(searches, plan.Bytes)
		}
		for _, share := range plan.Shares {
			largest = max(largest, share.Bytes)
		}
		seconds += plan.Seconds
	}
	bytes += searches // the second, which converts the points, takes more
	if whole.Bytes != bytes || whole.Seconds != seconds || whole.CoordinatorBytes != search.CoordinatorBytes() ||
		whole.CoordinatorBytes == 0 {
		t.Errorf("%d bytes in %v s, %d in the coordinator; want %d, %v, %d", whole.Bytes, whole.Seconds,
			whole.CoordinatorBytes, bytes, seconds, search.CoordinatorBytes())
	}
	for _, what := range []string{"; in addition, if memory allows: ", "for the search for neighbors and ",
		"for the points in other units"} {
		if !strings.Contains(whole.Why, what) {
			t.Errorf("%q is not in %q", what, whole.Why)
		}
	}

	// Parts take turns where there is less room, but each must fit.
	tight, err := MakeAll(parts, []Worker{{Name: "a", Threads: 2, Free: largest},
		{Name: "b", Threads: 1, Free: largest}})
	if err != nil {
		t.Fatal(err)
	}
	for _, share := range tight.Shares {
		if share.Bytes > largest {
			t.Errorf("a worker of %d is to hold %d", largest, share.Bytes)
		}
	}
	least := search.MinFreeBytes(1) // the search has a copy of the data on every worker
	if _, err := MakeAll(parts, []Worker{{Name: "a", Threads: 1, Free: least - 1}}); !fault.Is(err, DoesNotFit) {
		t.Errorf("it fits into %d: %v", least-1, err)
	}
}

// Workers of the same name, such as two on one host, each take their own part of a plan.
func TestPlansTellNamesakesApart(t *testing.T) {
	const n, d = 20_000, 100
	parts := []Workload{{Vectors: &Vectors{Rows: n, Columns: d, Width: d}, DatasetBytes: 8 * n * d, K: 3, Lanes: 2},
		NeighborWorkload(pointShape(n, d), 8*n*d, 10)}
	var plans [2]*Plan
	for at, names := range [][]string{{"a", "b"}, {"host", "host"}} {
		var workers []Worker
		for _, name := range names {
			workers = append(workers, Worker{Name: name, Threads: 2, Free: Unlimited})
		}
		plan, err := MakeAll(parts, workers)
		if err != nil {
			t.Fatal(err)
		}
		plans[at] = plan
	}
	for at, share := range plans[0].Shares {
		if got := plans[1].Shares[at].Bytes; got != share.Bytes || plans[1].Bytes != plans[0].Bytes {
			t.Errorf("worker %d takes %d bytes of %d; with names of their own, %d of %d", at, got, plans[1].Bytes,
				share.Bytes, plans[0].Bytes)
		}
	}
}

// Sums of memory without a limit stay the largest number instead of becoming negative.
func TestTheCoordinatorsMemoryDoesNotOverflow(t *testing.T) {
	part := dense(100, 2, 3)
	part.Range = &Range{PartBytes: Unlimited}
	plan, err := MakeAll([]Workload{part, part, part, part, part}, []Worker{{Threads: 1, Free: Unlimited}})
	if err != nil || plan.CoordinatorBytes != math.MaxInt64 {
		t.Errorf("plan %+v, %v", plan, err)
	}
}
