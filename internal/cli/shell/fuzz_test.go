package shell

import (
	"math"
	"testing"
)

// FuzzParseBytes reads a size of any form: it is at least 1 and fits into 63 bits, or it is refused.
func FuzzParseBytes(f *testing.F) {
	for _, seed := range []string{"4GiB", "1", "", "0", "nan", "1e400", "-1k", " 2 gb "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if size, err := ParseBytes(text); err == nil && (size < 1 || size > math.MaxInt64) {
			t.Fatalf("%q is %d bytes", text, size)
		}
	})
}
