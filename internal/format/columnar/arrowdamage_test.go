package columnar

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
)

func TestNestedArrow(t *testing.T) {
	_, err := OpenArrow(bytes.NewReader(arrowBytes(t, true)), ignoring())
	if !fault.Is(err, "UNSUPPORTED_COLUMN") || !strings.Contains(err.Error(), `column "nested" holds lists`) ||
		!strings.Contains(err.Error(), "--ignore nested") {
		t.Error(err)
	}
}

func TestDamagedArrow(t *testing.T) {
	for _, content := range [][]byte{arrowBytes(t, true), arrowBytes(t, true, ipc.WithZstd())} {
		checkDamage(t, content, 9973, 1999, readArrow)
	}
}

func FuzzArrow(f *testing.F) {
	f.Add(arrowRows(f, 35, true))
	f.Add(arrowRows(f, 35, false, ipc.WithLZ4()))
	f.Add(arrowRows(f, 35, false, ipc.WithZstd()))
	f.Fuzz(func(t *testing.T, input []byte) { checkRead(t, input, readArrow) })
}

// checkDamage cuts a file at every cut-th byte and changes every flip-th. Whatever the damage, the file must be a
// sentence or a table, and never a panic.
func checkDamage(t *testing.T, content []byte, cut, flip int, read func([]byte) ([]*table.Table, error)) {
	t.Helper()
	const magic = 8 // bytes at the beginning, by which files are told apart
	for length := 0; length < len(content); length += cut {
		if _, err := read(content[:length]); !isFault(err) {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
	for at := magic; at < len(content); at += flip {
		damaged := bytes.Clone(content)
		damaged[at] ^= 0xFF
		if _, err := read(damaged); err != nil && !isFault(err) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
}

func isFault(err error) bool {
	_, ok := errors.AsType[*fault.Error](err)
	return ok
}

// checkRead reads any bytes. They must be sound tables or a fault, and take memory only in proportion to their number.
func checkRead(t *testing.T, input []byte, read func([]byte) ([]*table.Table, error)) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tables, err := read(input)
	runtime.ReadMemStats(&after)
	// Runs of equal values and compressed buffers may unfold, but only so far.
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > uint64(4*scan.FreeBytes+4*scan.MaxGrowth*len(input)) {
		t.Fatalf("allocated %d bytes for an input of %d", bytes, len(input))
	}
	if bad, ok := errors.AsType[*fault.Error](err); err != nil && (!ok || bad.Kind != fault.InvalidArgument) {
		t.Fatalf("not a proper fault: %v", err)
	}
	for _, part := range tables {
		if err := part.Check(); err != nil {
			t.Fatal(err)
		}
	}
}
