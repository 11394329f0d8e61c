package wire

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/planning"
)

// Storage returns how a job wants its matrix to be stored. Validate has rejected unknown values.
func Storage(p *cleavev1.JobSpec) planning.Storage {
	switch p.GetStorage() {
	case cleavev1.StorageMode_STORAGE_MODE_FLOAT32:
		return planning.Float32
	case cleavev1.StorageMode_STORAGE_MODE_NONE:
		return planning.None
	}
	return planning.Auto
}

// PlanProto converts a plan for a matrix on this grid.
func PlanProto(plan *planning.Plan, grid kernel.Grid) *cleavev1.Plan {
	return &cleavev1.Plan{
		Tiles:         uint32(plan.Tiles),
		TileRows:      uint32(plan.TileRows),
		Storage:       PlanStorageProto(plan.Storage),
		TileBytes:     uint64(plan.EntryBytes),
		Workers:       uint32(len(plan.Shares)),
		GridExponent:  int32(grid),
		StoredTiles:   uint32(plan.Stored),
		ComputedTiles: uint32(plan.Computed),
		Bytes:         uint64(plan.Bytes),
		Shares:        SharesProto(plan.Shares),
		Passes:        plan.Passes,
		PredictedTime: durationpb.New(
			time.Duration(min(plan.Seconds, maxPredictedTime.Seconds()) * float64(time.Second))),
		Explanation: plan.Why,

		Products:         uint32(plan.Products),
		CoordinatorBytes: uint64(plan.CoordinatorBytes),
	}
}

// planStorage has every name that planning.Workload.StorageName returns.
var planStorage = enumMap[cleavev1.PlanStorage, string]{
	cleavev1.PlanStorage_PLAN_STORAGE_FLOAT32:        "float32",
	cleavev1.PlanStorage_PLAN_STORAGE_FLOAT16:        "float16",
	cleavev1.PlanStorage_PLAN_STORAGE_NONE:           "none",
	cleavev1.PlanStorage_PLAN_STORAGE_PARTLY_FLOAT32: "float32+none",
	cleavev1.PlanStorage_PLAN_STORAGE_PARTLY_FLOAT16: "float16+none",
	cleavev1.PlanStorage_PLAN_STORAGE_SPARSE:         "sparse",
	cleavev1.PlanStorage_PLAN_STORAGE_VECTORS:        "vectors",
	cleavev1.PlanStorage_PLAN_STORAGE_SPARSE_VECTORS: "sparse vectors",
	cleavev1.PlanStorage_PLAN_STORAGE_NEIGHBORS:      "neighbors",
}

// PlanStorageProto converts a name that planning.Workload.StorageName returned.
func PlanStorageProto(name string) cleavev1.PlanStorage { return planStorage.write(name) }

// PlanStorageName is the inverse of PlanStorageProto. It returns "" for an unknown value.
func PlanStorageName(storage cleavev1.PlanStorage) string { return planStorage[storage] }

// maxPredictedTime is the longest time that a plan predicts. A Duration could not hold much more.
const maxPredictedTime = 100 * 365 * 24 * time.Hour

// SharesProto converts the workers' shares of a plan.
func SharesProto(shares []planning.Share) []*cleavev1.WorkerShare {
	return each(shares, func(s planning.Share) *cleavev1.WorkerShare {
		p := &cleavev1.WorkerShare{Name: s.Name, Threads: uint32(s.Threads), StoredTiles: uint32(s.Stored),
			ComputedTiles: uint32(s.Computed), Bytes: uint64(s.Bytes)}
		if s.Free < planning.Unlimited {
			p.MemoryBytes = uint64(max(0, s.Free))
		}
		return p
	})
}
