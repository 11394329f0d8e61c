package jobflags

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
)

// FuzzJobFile reads a job file of any content: it is a spec, or BAD_JOB_FILE.
func FuzzJobFile(f *testing.F) {
	for _, seed := range []string{"", "k: 3\n",
		`{"k": 3, "kernelKmeans": {"kernel": {"function": "KERNEL_FUNCTION_GAUSSIAN"}}}`,
		"k: 3\nk: 4\n", "a: &a [*a]\n", "x: &x [y, y]\nz: [*x, *x]\n", "null", "- 1\n",
		"time_limit: 3s\npriority: PRIORITY_LOW\ndisplay_name: x\n", "display_name: 3\n"} {
		f.Add([]byte(seed))
	}
	path := filepath.Join(f.TempDir(), "job.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		job, err := readJobFile(path)
		if err == nil && job.Spec == nil || err != nil && !fault.Is(err, "BAD_JOB_FILE") {
			t.Fatalf("got %v, %v", job, err)
		}
	})
}
