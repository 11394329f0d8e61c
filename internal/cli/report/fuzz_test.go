package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
)

// FuzzResult reads a result.json of any content: it is a result, or BAD_MODEL.
func FuzzResult(f *testing.F) {
	for _, seed := range []string{"{}", `{"state": "JOB_STATE_SUCCEEDED", "objective": 1.5, "clusterSizes": [1, 2]}`,
		`{"objective": "NaN"}`, "[", `{"plan": {"x": 1}}`} {
		f.Add([]byte(seed))
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(filepath.Join(folder, ResultFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
		result, run, err := ReadResult(folder)
		if err == nil && (result == nil || run == nil) || err != nil && !fault.Is(err, "BAD_MODEL") {
			t.Fatalf("got %v, %v", result, err)
		}
	})
}
