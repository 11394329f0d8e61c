package columnar

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
)

func TestNestedArrow(t *testing.T) {
	_, err := OpenArrow(bytes.NewReader(arrowBytes(t, true)), func(string, int) bool { return false })
	if !fault.Is(err, "UNSUPPORTED_COLUMN") || !strings.Contains(err.Error(), `column "nested" holds lists`) || !strings.Contains(err.Error(), "--ignore nested") {
		t.Error(err)
	}
}

// However a file is cut or changed, it is a sentence or a table, and never a panic.
func TestDamagedArrow(t *testing.T) {
	for _, content := range [][]byte{arrowBytes(t, true), arrowBytes(t, true, ipc.WithZstd())} {
		check := func(what string, damaged []byte, must bool) {
			t.Helper()
			_, err := readArrow(damaged)
			var bad *fault.Error
			if err == nil && must || err != nil && !errors.As(err, &bad) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for length := 0; length < len(content); length += 9973 {
			check(fmt.Sprint(length, " bytes"), content[:length], true)
		}
		for at := 8; at < len(content); at += 1999 {
			damaged := bytes.Clone(content)
			damaged[at] ^= 0xFF
			check(fmt.Sprint("byte ", at), damaged, false)
		}
	}
}

func FuzzArrow(f *testing.F) {
	f.Add(arrowRows(f, 35, true))
	f.Add(arrowRows(f, 35, false, ipc.WithLZ4()))
	f.Add(arrowRows(f, 35, false, ipc.WithZstd()))
	f.Fuzz(func(t *testing.T, input []byte) {
		var tables []*table.Table
		var err error
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tables, err = readArrow(input)
		runtime.ReadMemStats(&after)
		// Compressed buffers may unfold, but only so far.
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > uint64(4*scan.FreeBytes+4*scan.MaxGrowth*len(input)) {
			t.Fatalf("allocated %d bytes for an input of %d", bytes, len(input))
		}
		var bad *fault.Error
		if err != nil && (!errors.As(err, &bad) || bad.Kind != fault.InvalidArgument) {
			t.Fatalf("not a proper fault: %v", err)
		}
		for _, part := range tables {
			if err := part.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
