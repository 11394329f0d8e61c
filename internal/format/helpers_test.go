package format

import (
	"bytes"
	"compress/gzip"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
)

// wantFault checks that an error is an input fault with this reason whose message holds every part.
func wantFault(t *testing.T, what string, err error, reason string, parts ...string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.InvalidArgument || f.Reason != reason {
		t.Errorf("%s: want fault %s, got %v", what, reason, err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(f.Message, part) {
			t.Errorf("%s: message %q does not say %q", what, f.Message, part)
		}
	}
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		panic(err)
	}
	w.Close()
	return b.String()
}

// allocated is how many bytes a call allocates in all.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
