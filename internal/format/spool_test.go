package format

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/csv"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// A spool gives the same bytes again, also those that were not all read before, and is read from its beginning by
// OpenTable: also where the end of a long text shows that its beginning was misread.
func TestSpool(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	const rows = 200_000 // so many that the copy is in a file
	text := "id,x\n" + strings.Repeat("12345678,0.5\n", rows) + "word,0.5\n"
	s := scan.NewSpool(iotest.HalfReader(strings.NewReader(text)))
	defer s.Close()
	beginning := make([]byte, 1000)
	if _, err := io.ReadFull(s, beginning); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r, err := OpenTable([]string{"-"}, csv.Options{Format: "csv", Stdin: s})
		if err != nil {
			t.Fatal(err)
		}
		all, err := r.ReadAll()
		if err != nil || all.Rows() != rows+1 || all.Columns[0].CellText(all.Rows()-1) != "word" {
			t.Fatal(err)
		}
		r.Close()
	}
	if err := s.Rewind(); err != nil {
		t.Fatal(err)
	}
	again, err := io.ReadAll(s)
	if err != nil || string(again) != text {
		t.Errorf("%d bytes of %d, %v", len(again), len(text), err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Formats of binary files are read again from a spool, too; an empty one is refused.
func TestSpooledBinaryTables(t *testing.T) {
	table, _, err := readText(t, "t.csv", "a,b\n1,x\n2,y\n", csv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var content bytes.Buffer
	if err := WriteTable(&content, "parquet", table); err != nil {
		t.Fatal(err)
	}
	s := scan.NewSpool(&content)
	defer s.Close()
	for range 2 {
		r, err := OpenTable([]string{"-"}, csv.Options{Stdin: s})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.ReadAll(); err != nil || show(got) != show(table) {
			t.Errorf("%v, %v", got, err)
		}
		r.Close()
	}
	if _, err := OpenTable([]string{"-"},
		csv.Options{Format: "parquet", Stdin: scan.NewSpool(strings.NewReader(""))}); !fault.Is(err, "CORRUPT_FILE") {
		t.Error(err)
	}
}

// A table on standard input is read again if its last row shows that the first ones were misread, however long it is.
func TestStandardInputIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, rows := range []int{10, 1_000_000} {
		text := "id,x\n" + strings.Repeat("12345678,0.5\n", rows) + "word,0.5\n"
		r, err := OpenTable([]string{"-"}, csv.Options{Stdin: Peekable(iotest.HalfReader(strings.NewReader(text)))})
		if err != nil {
			t.Fatal(err)
		}
		all, err := r.ReadAll()
		if err != nil || all.Rows() != rows+1 || all.Columns[0].CellText(rows) != "word" {
			t.Errorf("%d rows: %v", rows, err)
		}
		r.Close()
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Where there is no place for a long copy the input is read all the same, but only once. A short copy needs no place.
func TestSpoolWithoutSpace(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	for text, again := range map[string]bool{"a,b\n1,2\n": true, "a,b\n" + strings.Repeat("1,2\n", 1<<19): false} {
		s := scan.NewSpool(strings.NewReader(text))
		if all, err := io.ReadAll(s); err != nil || string(all) != text {
			t.Errorf("%d bytes of %d, %v", len(all), len(text), err)
		}
		err := s.Rewind()
		if again {
			if all, err := io.ReadAll(s); err != nil || string(all) != text {
				t.Errorf("%q again, %v", all, err)
			}
		} else if !fault.Is(err, "READ_ONCE") {
			t.Error(err)
		}
		r, err := OpenTable([]string{"-"}, csv.Options{Stdin: strings.NewReader(text)})
		if err != nil {
			t.Fatal(err)
		}
		if all, err := r.ReadAll(); err != nil || all.Rows() != strings.Count(text, "\n")-1 {
			t.Error(err)
		}
		r.Close()
	}
	broken := scan.NewSpool(iotest.ErrReader(errors.New("broken")))
	if _, err := io.ReadAll(broken); err == nil {
		t.Error("an error is gone")
	}
}
