package shell

import "testing"

// FuzzSize reads a size of any form: it is at least 1, or it is refused.
func FuzzSize(f *testing.F) {
	for _, seed := range []string{"4GiB", "1", "", "0", "nan", "1e400", "-1k", " 2 gb "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var size Size
		if err := size.Set(text); err == nil && size < 1 {
			t.Fatalf("%q is %d bytes", text, size)
		}
	})
}
