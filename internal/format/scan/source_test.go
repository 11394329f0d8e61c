package scan

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/cleave-project/cleave/internal/fault"
)

// What unfolds into a thousand times its size is refused before it has.
func TestBombs(t *testing.T) {
	var bomb bytes.Buffer
	w, err := zstd.NewWriter(&bomb, zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	zeros := bytes.Repeat([]byte("0,0\n"), 1<<18)
	for range 40 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(&bomb, "p.csv", Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, s)
	if !fault.Is(err, "FILE_GROWS_TOO_MUCH") || !strings.Contains(err.Error(), "p.csv") ||
		!strings.Contains(err.Error(), "1000 times") {
		t.Errorf("got %v", err)
	}
}

// A file whose format the user names is not copied to be read at any position.
func TestNamedFormatsAreReadInPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(path, []byte(zipMagic+"and more"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s, err := Open(file, "a.zip", Options{Format: "npz"})
	if err != nil {
		t.Fatal(err)
	}
	content, _, end, err := s.Seekable()
	if err != nil || content != io.ReaderAt(file) {
		t.Errorf("reads %T instead of the file, %v", content, err)
	}
	end.Close()
}
