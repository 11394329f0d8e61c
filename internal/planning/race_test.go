package planning

import "testing"

// A race takes memory and time of the coordinator, and saves the lanes and the runs of the workers.
func TestThePlanOfARace(t *testing.T) {
	all := Workload{Vectors: &Vectors{Rows: 1_000_000, Columns: 8, Width: 8}, DatasetBytes: 64_000_000, K: 8, Lanes: 10,
		Restarts: 10}
	race, vectors := all, *all.Vectors
	vectors.RaceRows = 1 << 15
	race.Vectors, race.Lanes, race.Restarts = &vectors, 1, 1
	workers := []Worker{{Threads: 2, Free: 8 << 30}}
	each, err := Make(all, workers)
	if err != nil {
		t.Fatal(err)
	}
	once, err := Make(race, workers)
	if err != nil {
		t.Fatal(err)
	}
	if once.Seconds > each.Seconds/3 || once.Bytes > each.Bytes/3 {
		t.Errorf("%v s and %d bytes by a race, %v s and %d bytes by all starts", once.Seconds, once.Bytes,
			each.Seconds, each.Bytes)
	}
	if each.CoordinatorBytes != 0 || once.CoordinatorBytes < 3*8*8<<15 || once.CoordinatorBytes > 256<<20 {
		t.Errorf("%d bytes of the coordinator by a race, %d by all starts", once.CoordinatorBytes,
			each.CoordinatorBytes)
	}
	vectors.Entries = []int64{1 << 20}
	if sparse := race.CoordinatorBytes(); sparse <= 0 || sparse == once.CoordinatorBytes {
		t.Errorf("%d bytes for a sample of sparse rows", sparse)
	}
}
