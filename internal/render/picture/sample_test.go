package picture

import (
	"testing"

	"pgregory.net/rapid"
)

func TestEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, limit := rapid.IntRange(0, 300).Draw(t, "n"), rapid.IntRange(-2, 300).Draw(t, "limit")
		chosen := evenSample(n, limit)
		if len(chosen) != min(n, max(limit, 0)) {
			t.Fatalf("%d chosen", len(chosen))
		}
		for at, i := range chosen {
			if i < 0 || i >= n || (at > 0 && i <= chosen[at-1]) {
				t.Fatalf("chosen %v", chosen)
			}
		}
		if len(chosen) > 1 && (chosen[0] != 0 || (limit >= 2 && chosen[len(chosen)-1] != n-1)) {
			t.Fatalf("the ends are missing: %v", chosen)
		}
	})
}
