package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/columnar"
)

// lateTable returns a CSV of whole numbers whose last row has other cells, after the part that types are guessed from.
func lateTable(last string) string {
	var b strings.Builder
	b.WriteString("x,y\n")
	for i := range 100_000 {
		fmt.Fprintf(&b, "%d,%d\n", i, i)
	}
	return b.String() + last + "\n"
}

// Rows late in a file may change the types of columns of all files, and reading ends nevertheless.
func TestLateTypesInSeveralFiles(t *testing.T) {
	files := []string{"x,y\n1,2\n3,4\n", lateTable("1.5,2"), lateTable("7,word"), "x,y\n5,6\n"}
	dir := t.TempDir()
	var paths []string
	for at, text := range files {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("%d.csv", at)))
		if err := os.WriteFile(paths[at], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := OpenTable(paths, TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := readWithin(r, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got.Rows() != 2+100_001+100_001+1 || got.Columns[0].Type != table.Number || got.Columns[1].Type != table.Text {
		t.Errorf("%d rows, columns %v and %v", got.Rows(), got.Columns[0].Type, got.Columns[1].Type)
	}
	if c := got.Columns; c[0].Numbers[100_002] != 1.5 || c[1].Texts[0] != "2" || c[1].Texts[200_003] != "word" {
		t.Errorf("row 100,002 begins with %v, row 0 ends with %q, row 200,003 with %q", c[0].Numbers[100_002],
			c[1].Texts[0], c[1].Texts[200_003])
	}
}

// However many files have late types, reading starts over once, and each file is opened a fixed number of times.
func TestManyFilesWithLateTypes(t *testing.T) {
	text := lateTable("1.5,2")
	names := make([]string, 5)
	opened := 0
	r, err := OpenParts(names, TableOptions{}, func(at int, o TableOptions) (Part, error) {
		opened++
		return OpenObject(Object{Name: fmt.Sprintf("%d.csv", at), ReaderAt: strings.NewReader(text),
			Size: int64(len(text))}, nil, o)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := readWithin(r, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got.Rows() != 5*100_001 || got.Columns[0].Type != table.Number || got.Columns[0].Numbers[5*100_001-1] != 1.5 {
		t.Errorf("%d rows, x is %v", got.Rows(), got.Columns[0].Type)
	}
	if opened > 3*len(names) {
		t.Errorf("%d files were opened %d times", len(names), opened)
	}
}

// readWithin reads a table that may start over at most so many times.
func readWithin(r *TableReader, restarts int) (*table.Table, error) {
	var parts []*table.Table
	for {
		part, err := r.Next()
		switch {
		case errors.Is(err, ErrRestarted):
			if restarts--; restarts < 0 {
				return nil, errors.New("reading does not end")
			}
			parts = nil
		case errors.Is(err, io.EOF):
			return table.Join(parts)
		case err != nil:
			return nil, err
		default:
			parts = append(parts, part)
		}
	}
}

// An object is read like a file of the same bytes, and a Parquet file by any split of its row groups.
func TestObjectsAreReadLikeFiles(t *testing.T) {
	const text = "id,x,c\na,1,red\nb,2.5,blue\nc,,red\nd,4,green\n"
	source, err := OpenTable([]string{"-"}, TableOptions{Format: "csv", Stdin: strings.NewReader(text)})
	if err != nil {
		t.Fatal(err)
	}
	want, err := source.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	w, err := columnar.NewWriter(&file, source.Columns())
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range [][]int{{0}, {1, 2}, {3}} { // a row group each
		if err := w.Write(want.Take(rows)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"t.csv": text, "t.csv.gz": gzipped(text), "t.parquet": file.String()} {
		object := Object{Name: "s3://bucket/" + name, ReaderAt: strings.NewReader(content), Size: int64(len(content))}
		whole, err := OpenObject(object, nil, TableOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&TableReader{Part: whole}).ReadAll()
		if err != nil || got.ID() != want.ID() {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if groups := len(whole.Groups()); groups != 0 && name != "t.parquet" || groups != 3 && name == "t.parquet" {
			t.Errorf("%s has %d row groups", name, groups)
		}
	}
	object := Object{Name: "s3://bucket/t.parquet", ReaderAt: bytes.NewReader(file.Bytes()), Size: int64(file.Len())}
	for split := range 4 {
		var parts []*table.Table
		for _, groups := range []RowGroups{{0, split}, {split, 3}} {
			r, err := OpenObject(object, &groups, TableOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for part, err := r.Next(); !errors.Is(err, io.EOF); part, err = r.Next() {
				if err != nil {
					t.Fatal(err)
				}
				parts = append(parts, part)
			}
		}
		if got, err := table.Join(parts); err != nil || got.ID() != want.ID() {
			t.Errorf("split at row group %d: %v, %v", split, got, err)
		}
	}
	_, err = OpenObject(object, &RowGroups{0, 4}, TableOptions{})
	wantFault(t, "more groups than the file has", err, "CORRUPT_FILE", "s3://bucket/t.parquet", "3 row groups")
}
