package worker

import (
	"errors"
	"testing"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// Operands that arrive twice keep the sums of the tiles; others, and those after a reset, do not.
func TestOperandsThatArriveTwice(t *testing.T) {
	j := matrixJob(t, 4)
	tiles := partition.AllTiles(64)
	if _, err := j.build(tiles, true); err != nil {
		t.Fatal(err)
	}
	m := j.shard.(*matrix)
	set := func(id uint64) {
		t.Helper()
		if err := m.setOperands(j, &workerv1.SetOperands{
			K: 3, OperandsId: id, Weights: inline(wire.PackFloat64s(clustering.Ones(64))),
			SparseStarts:  inline(wire.PackInt64s(make([]int64, 65))),
			SparseColumns: inline(nil), SparseValues: inline(nil),
		}); err != nil {
			t.Fatal(err)
		}
	}
	load := func() {
		t.Helper()
		if _, err := m.Load(t.Context(), tiles, 5, make([]int32, 64)); err != nil {
			t.Fatal(err)
		}
	}
	set(1)
	load()
	set(1)
	if _, err := m.Update(t.Context(), tiles, 5, nil); err != nil {
		t.Errorf("after the same operands: %v", err)
	}
	set(2)
	if _, err := m.Update(t.Context(), tiles, 6, nil); !errors.Is(err, kernel.ErrNotReady) {
		t.Errorf("after other operands: %v", err)
	}
	m.Reset()
	set(2)
	load()
}
