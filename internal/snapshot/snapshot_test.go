package snapshot_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// written is a snapshot of a memory.
func written(t testing.TB, m *snapshot.Memory, of snapshot.Identity) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := m.Write(&b, of); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestValuesAreReadAsTheyWereWritten(t *testing.T) {
	w := &snapshot.Writer{}
	third := 1.0 / 3
	lists := [][]int32{nil, {-1, 0, 254}, {-1, 255}, {65534}, {65535, -1}, {-2}, {math.MinInt32, math.MaxInt32}}
	for _, list := range lists {
		w.Int32s(list)
	}
	w.Int(-7)
	w.Float(math.Copysign(0, -1))
	w.OptionalFloat(nil)
	w.OptionalFloat(&third)
	w.String("text")
	w.Columns([][]float64{{1, 2}, {3, math.Inf(1)}})
	w.Bools([]bool{true, false})
	r := snapshot.NewReader(w.Bytes())
	for _, list := range lists {
		if got := r.Int32s(); !slices.Equal(got, list) {
			t.Errorf("%v is read as %v", list, got)
		}
	}
	if got := r.Int(); got != -7 {
		t.Errorf("-7 is read as %d", got)
	}
	if got := r.Float(); got != 0 || !math.Signbit(got) {
		t.Errorf("-0 is read as %v", got)
	}
	if none, some := r.OptionalFloat(), r.OptionalFloat(); none != nil || *some != third {
		t.Errorf("%v and %v are read", none, some)
	}
	if got := r.String(); got != "text" {
		t.Errorf("a text is read as %q", got)
	}
	if got := r.Columns(2); len(got) != 2 || got[0][1] != 2 || !math.IsInf(got[1][1], 1) {
		t.Errorf("columns are read as %v", got)
	}
	if got := r.Bools(); !slices.Equal(got, []bool{true, false}) {
		t.Errorf("bits are read as %v", got)
	}
	if err := r.End(); err != nil {
		t.Error(err)
	}
	if r.Int(); !errors.Is(r.Err(), snapshot.ErrDamaged) {
		t.Error("nothing is read as a number")
	}
}

// What a header claims is not allocated before it is there.
func TestClaimsAreNotBelieved(t *testing.T) {
	w := &snapshot.Writer{}
	w.Int(1 << 60)
	w.Int(4)
	for name, read := range map[string]func(*snapshot.Reader){
		"floats": func(r *snapshot.Reader) { r.Floats() }, "whole numbers": func(r *snapshot.Reader) { r.Int32s() },
		"bits": func(r *snapshot.Reader) { r.Bools() }, "columns": func(r *snapshot.Reader) { r.Columns(3) },
		"bytes": func(r *snapshot.Reader) { r.Raw() }, "text": func(r *snapshot.Reader) { _ = r.String() },
	} {
		r := snapshot.NewReader(w.Bytes())
		if read(r); r.Err() == nil {
			t.Errorf("%s that are not there are read", name)
		}
	}
}

func TestPieces(t *testing.T) {
	m := snapshot.NewMemory(1000, nil)
	ctx := snapshot.With(context.Background(), m)
	inner := snapshot.Within(ctx, "outer")
	outer := snapshot.Open(ctx, "outer")
	part := snapshot.Open(inner, "part")
	if again := snapshot.Open(inner, "part"); again != nil || !slices.Equal(m.Repeated(), []string{"outer/part"}) {
		t.Errorf("a piece is opened twice; repeated are %q", m.Repeated())
	}
	if snapshot.Open(snapshot.Without(inner), "other") != nil || snapshot.Open(context.Background(), "other") != nil {
		t.Error("a piece is opened without a memory")
	}
	keep := func(p *snapshot.Piece, v int) { p.Keep(8, func(w *snapshot.Writer) { w.Int(v) }) }
	keep(part, 1)
	keep(part, 2) // nobody asked
	again := snapshot.NewMemory(1000, nil)
	if err := again.Read(written(t, m, snapshot.Identity{1}), snapshot.Identity{1}); err != nil {
		t.Fatal(err)
	}
	restored := snapshot.Open(snapshot.Within(snapshot.With(context.Background(), again), "outer"), "part")
	if r := restored.State(); r == nil || r.Int() != 1 || restored.Result() != nil {
		t.Error("the first state is not restored")
	}
	m.Ask()
	keep(part, 3)
	if r := part.State(); r.Int() != 3 {
		t.Error("the state is not replaced")
	}
	part.Keep(2000, func(*snapshot.Writer) { t.Error("what has no room is encoded") })
	outer.Finish(8, func(w *snapshot.Writer) { w.Int(4) })
	if all, done := m.Pieces(); all != 1 || done != 1 {
		t.Errorf("%d pieces are left, %d of them done", all, done)
	}
}

func TestOnce(t *testing.T) {
	m := snapshot.NewMemory(1000, nil)
	computed := 0
	once := func(m *snapshot.Memory) int {
		v, err := snapshot.Once(snapshot.With(context.Background(), m), "it", (*snapshot.Writer).Int,
			(*snapshot.Reader).Int,
			func(context.Context) (int, error) { computed++; return 42, nil })
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	once(m)
	again := snapshot.NewMemory(1000, nil)
	if err := again.Read(written(t, m, snapshot.Identity{}), snapshot.Identity{}); err != nil {
		t.Fatal(err)
	}
	if got := once(again); got != 42 || computed != 1 {
		t.Errorf("%d, computed %d times", got, computed)
	}
}

// No cut, no changed byte of the head and no other identity is taken for a snapshot of the run.
func TestForeignSnapshotsAreRefused(t *testing.T) {
	m := snapshot.NewMemory(1000, nil)
	snapshot.Open(snapshot.With(context.Background(), m), "piece").Keep(0, func(w *snapshot.Writer) {
		w.String("state")
	})
	whole := written(t, m, snapshot.Identity{1})
	refused := func(name string, content []byte, of snapshot.Identity) {
		again := snapshot.NewMemory(1000, nil)
		if err := again.Read(content, of); !errors.Is(err, snapshot.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		if all, _ := again.Pieces(); all != 0 {
			t.Errorf("%s: %d pieces", name, all)
		}
	}
	refused("another identity", whole, snapshot.Identity{2})
	for at := range 44 {
		changed := slices.Clone(whole)
		changed[at] ^= 1
		refused("a changed head", changed, snapshot.Identity{1})
	}
	for size := range whole {
		if size != 44 { // no piece at all is a snapshot too
			refused("a cut", whole[:size], snapshot.Identity{1})
		}
	}
}

// FuzzRead reads bytes as a snapshot, and as all kinds of values.
func FuzzRead(f *testing.F) {
	m := snapshot.NewMemory(1<<20, nil)
	ctx := snapshot.With(context.Background(), m)
	snapshot.Open(ctx, "a").Keep(0, func(w *snapshot.Writer) { w.Int32s([]int32{1, 300, -1}) })
	snapshot.Open(ctx, "b").Finish(0, func(w *snapshot.Writer) { w.Columns([][]float64{{1, 2, 3}}) })
	f.Add(written(f, m, snapshot.Identity{}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		again := snapshot.NewMemory(1<<20, nil)
		if err := again.Read(content, snapshot.Identity{}); err == nil {
			if got := written(t, again, snapshot.Identity{}); again.Read(got, snapshot.Identity{}) != nil {
				t.Error("a snapshot that was read cannot be read again")
			}
		}
		for kind := range 8 {
			r := snapshot.NewReader(content)
			for size := len(content); r.More(); size-- {
				switch kind {
				case 0:
					r.Int32s()
				case 1:
					r.Floats()
				case 2:
					r.Columns(3)
				case 3:
					r.Labels(3, 4)
				case 4:
					_ = r.String()
				case 5:
					r.Bools()
				case 6:
					r.OptionalFloat()
				default:
					r.Raw()
				}
				if size < 0 {
					t.Fatal("reading does not end")
				}
			}
		}
	})
}
