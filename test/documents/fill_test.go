package documents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "document.md")
	if err := os.WriteFile(path, []byte("Before.\n<!-- sizes -->\nold\n<!-- end of sizes -->\nAfter."), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := FillFile(path, "sizes", "new\n"); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != "Before.\n<!-- sizes -->\nnew\n<!-- end of sizes -->\nAfter." {
			t.Errorf("%s", got)
		}
	}
	if err := FillFile(path, "other", "new\n"); err == nil || !strings.Contains(err.Error(), "<!-- other -->") {
		t.Errorf("a document without marks: %v", err)
	}
}
