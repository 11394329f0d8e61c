package wire

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/planning"
)

func TestStorageModes(t *testing.T) {
	for mode, want := range map[cleavev1.StorageMode]planning.Storage{
		cleavev1.StorageMode_STORAGE_MODE_UNSPECIFIED: planning.Auto,
		cleavev1.StorageMode_STORAGE_MODE_FLOAT32:     planning.Float32,
		cleavev1.StorageMode_STORAGE_MODE_NONE:        planning.None,
	} {
		if got := Storage(&cleavev1.JobSpec{Storage: mode}); got != want {
			t.Errorf("%v is %v, want %v", mode, got, want)
		}
	}
}

func TestPlanProto(t *testing.T) {
	plan := &planning.Plan{
		Tiles: 4, TileRows: 16, Stored: 1, Computed: 3, Storage: "float32+none", EntryBytes: 100, Bytes: 300,
		Passes: 2.5, Seconds: 1.5, Why: "so", Products: 30, CoordinatorBytes: 77,
		Shares: []planning.Share{
			{Worker: planning.Worker{Name: "a", Threads: 2, Free: 500}, Stored: 1, Computed: 1, Bytes: 200},
			{Worker: planning.Worker{Name: "b", Threads: 1, Free: planning.Unlimited}, Computed: 2, Bytes: 100},
		},
	}
	want := &cleavev1.Plan{
		Tiles: 4, TileRows: 16, StoredTiles: 1, ComputedTiles: 3,
		Storage: cleavev1.PlanStorage_PLAN_STORAGE_PARTLY_FLOAT32, TileBytes: 100, Bytes: 300, Workers: 2,
		GridExponent: -40,
		Passes:       2.5, PredictedTime: durationpb.New(1500 * time.Millisecond), Explanation: "so", Products: 30,
		CoordinatorBytes: 77,
		Shares: []*cleavev1.WorkerShare{
			{Name: "a", Threads: 2, MemoryBytes: 500, StoredTiles: 1, ComputedTiles: 1, Bytes: 200},
			{Name: "b", Threads: 1, ComputedTiles: 2, Bytes: 100},
		},
	}
	if got := PlanProto(plan, -40); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	plan.Seconds = 1e300
	if got := PlanProto(plan, 0).GetPredictedTime(); got.CheckValid() != nil || got.AsDuration() <= 0 {
		t.Errorf("a very long time is %v", got)
	}
}

// Every name that planning gives to what is held has a value of its own, and every value a name.
func TestPlanStorages(t *testing.T) {
	problems := map[string]planning.Workload{
		"points":        {Matrix: &planning.Matrix{Spec: kernel.MatrixSpec{Function: kernel.Gaussian}}},
		"float16":       {Matrix: &planning.Matrix{Spec: kernel.MatrixSpec{Function: kernel.Gaussian, HalfScale: 1}}},
		"graph":         {Matrix: &planning.Matrix{Spec: kernel.MatrixSpec{Function: kernel.Adjacency}}},
		"vectors":       {Vectors: &planning.Vectors{}},
		"sparse points": {Vectors: &planning.Vectors{Entries: []int64{1}}},
		"neighbors":     {Neighbors: &planning.Neighbors{}},
	}
	seen := map[cleavev1.PlanStorage]bool{}
	for what, p := range problems {
		for _, held := range [][2]bool{{true, false}, {false, true}, {true, true}} {
			name := p.StorageName(held[0], held[1])
			storage := PlanStorageProto(name)
			if storage == 0 || PlanStorageName(storage) != name {
				t.Errorf("%s: %q is %v, which is %q", what, name, storage, PlanStorageName(storage))
			}
			seen[storage] = true
		}
	}
	if want := len(cleavev1.PlanStorage_name) - 1; len(seen) != want {
		t.Errorf("%d values are in use, %d are declared", len(seen), want)
	}
}
