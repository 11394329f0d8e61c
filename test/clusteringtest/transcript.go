package clusteringtest

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"

	"github.com/cleave-project/cleave/internal/clustering"
)

// Transcript is an observer that records all events in order, with the bits of all numbers.
type Transcript struct {
	mu    sync.Mutex
	Lines []string
}

var _ clustering.Observer = (*Transcript)(nil)

func (t *Transcript) write(what string, values ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range values {
		what += " " + Bits(v)
	}
	t.Lines = append(t.Lines, what)
}

// Observe implements clustering.Observer. Phases are not part of the answer.
func (t *Transcript) Observe(e clustering.Event) {
	switch e := e.(type) {
	case clustering.KStarted:
		t.write("k", e)
	case clustering.RestartStarted:
		t.write("restart", e.Restart)
	case clustering.IterationDone:
		t.write("iteration", e.Restart, e.HistoryEntry)
	case clustering.ShiftChange:
		t.write("shift", e)
	case clustering.Notice:
		t.write("notice", e)
	case clustering.SolverStep:
		t.write("solver", e)
	case clustering.LevelStarted:
		t.write("level", e)
	case clustering.MethodTried:
		t.write("trial", e.Trial)
	case clustering.Phase:
	}
}

// Bits formats a value with all bits of its numbers. It follows pointers.
func Bits(v any) string {
	b := &strings.Builder{}
	writeBits(b, reflect.ValueOf(v))
	return b.String()
}

func writeBits(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Float64:
		fmt.Fprintf(b, "%x", math.Float64bits(v.Float()))
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		writeBits(b, v.Elem())
	case reflect.Slice, reflect.Array:
		b.WriteString("[")
		for i := range v.Len() {
			writeBits(b, v.Index(i))
			b.WriteString(" ")
		}
		b.WriteString("]")
	case reflect.Struct:
		b.WriteString("{")
		for i := range v.NumField() {
			b.WriteString(v.Type().Field(i).Name + ":")
			writeBits(b, v.Field(i))
			b.WriteString(" ")
		}
		b.WriteString("}")
	default:
		fmt.Fprint(b, v)
	}
}
