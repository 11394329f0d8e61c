package format

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
)

func TestWriters(t *testing.T) {
	for what, c := range map[string]struct {
		write func(w io.Writer) error
		want  string
	}{
		"labels": {func(w io.Writer) error { return WriteLabels(w, []int32{2, 0, -1}) },
			"index,label\n0,2\n1,0\n2,-1\n"},
		"matrix": {func(w io.Writer) error {
			return WriteMatrix(w, []string{"a,b", "c"}, [][]float64{{0.1, 1e-300}, {-3, 2}})
		}, "\"a,b\",c\n0.1,1e-300\n-3,2\n"},
		"texts": {func(w io.Writer) error {
			return WriteMatrix(w, []string{"", "NA", " a", "b;c", "d\te", "f\"g"}, nil)
		}, "\"\",NA,\" a\",\"b;c\",\"d\te\",\"f\"\"g\"\n"},
		"bare": {func(w io.Writer) error { return WriteMatrix(w, nil, [][]float64{{1}, {2}}) }, "1\n2\n"},
		"indexed": {func(w io.Writer) error {
			return WriteIndexedMatrix(w, []string{"index", "u0"}, [][]float64{{0.5}, {2}})
		}, "index,u0\n0,0.5\n1,2\n"},
		"edges": {func(w io.Writer) error {
			return WriteEdges(w, []dataset.Edge{{Source: 1, Target: 2, Weight: 0.25}})
		}, "src,dst,weight\n1,2,0.25\n"},
		"no edges": {func(w io.Writer) error { return WriteEdges(w, nil) }, "src,dst,weight\n"},
		"constraints": {func(w io.Writer) error {
			return WriteConstraints(w, []constraint.Constraint{{I: 1, J: 2, Kind: constraint.MustLink},
				{I: 0, J: 3, Kind: constraint.CannotLink, Weight: 2, Weighted: true}})
		}, "i,j,kind,weight\n1,2,must,\n0,3,cannot,2\n"},
	} {
		var b bytes.Buffer
		if err := c.write(&b); err != nil || b.String() != c.want {
			t.Errorf("%s: got %q, %v", what, b.String(), err)
		}
	}
}

func TestPointsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		d := rapid.IntRange(1, 5).Draw(t, "d")
		value := rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64)
		points := &dataset.Points{N: n, D: d, Values: rapid.SliceOfN(value, n*d, n*d).Draw(t, "values")}
		var header []string
		if rapid.Bool().Draw(t, "named") {
			header = rapid.SliceOfN(rapid.StringMatching(`f[ -~]{0,9}x`), d, d).Draw(t, "header")
		}
		var b bytes.Buffer
		if err := WritePoints(&b, header, points); err != nil {
			t.Fatal(err)
		}
		got, names, err := ReadPoints(&b, "p.csv")
		if err != nil || !reflect.DeepEqual(got, points) || !slices.Equal(names, header) {
			t.Fatalf("%+v under %q came back as %+v under %q, %v", points, header, got, names, err)
		}
	})
}

func TestTablesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOf(rapid.Int64()).Draw(t, "labels")
		var b bytes.Buffer
		if err := WriteLabels(&b, labels); err != nil {
			t.Fatal(err)
		}
		if _, got, err := ReadNamed(&b, "l.csv", table.Labels, 0, table.Naming{}); err != nil ||
			!slices.Equal(got, labels) {
			t.Fatalf("labels %v came back as %v, %v", labels, got, err)
		}
		constraints := rapid.SliceOf(rapid.Custom(func(t *rapid.T) constraint.Constraint {
			c := constraint.Constraint{I: rapid.Int32Range(0, 9).Draw(t, "i"), J: rapid.Int32Range(10, 19).Draw(t, "j"),
				Kind: constraint.CannotLink}
			if rapid.Bool().Draw(t, "must") {
				c.Kind = constraint.MustLink
			}
			if c.Weighted = rapid.Bool().Draw(t, "weighted"); c.Weighted {
				c.Weight = rapid.Float64Range(1e-300, 1e300).Draw(t, "weight")
			}
			return c
		})).Draw(t, "constraints")
		b.Reset()
		if err := WriteConstraints(&b, constraints); err != nil {
			t.Fatal(err)
		}
		if _, got, err := ReadNamed(&b, "c.csv", table.Constraints, 20, table.Naming{}); err != nil ||
			!slices.Equal(got, constraints) {
			t.Fatalf("constraints %v came back as %v, %v", constraints, got, err)
		}
	})
}

func TestWriteFileIsAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "labels.csv")
	put := func(text string, fail error) error {
		return WriteFile(path, func(w io.Writer) error {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
			return fail
		})
	}
	holds := func(want string) {
		t.Helper()
		got, err := os.ReadFile(path)
		files, _ := os.ReadDir(dir)
		if err != nil || string(got) != want || len(files) != 1 {
			t.Errorf("the file holds %q (%v) among %v, want %q alone", got, err, files, want)
		}
	}
	if err := put("first", nil); err != nil {
		t.Fatal(err)
	}
	holds("first")
	trouble := errors.New("trouble")
	if err := put("half of the sec", trouble); !errors.Is(err, trouble) {
		t.Errorf("got %v", err)
	}
	holds("first")
	if err := put("second", nil); err != nil {
		t.Fatal(err)
	}
	holds("second")
	if info, _ := os.Stat(path); info.Mode().Perm()&0o400 == 0 {
		t.Errorf("mode %v", info.Mode())
	}
	if err := WriteFile(dir, func(io.Writer) error { return nil }); err == nil {
		t.Error("a directory was overwritten")
	}
	if err := WriteFile(filepath.Join(dir, "none", "x"), func(io.Writer) error { return nil }); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("a missing directory: %v", err)
	}
}

// A file that is replaced stays as private as it was, and is written where a link leads.
func TestWriteFileKeepsModesAndLinks(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret.csv")
	link := filepath.Join(dir, "elsewhere", "latest.csv")
	if err := errors.Join(os.WriteFile(secret, []byte("old"), 0o600), os.Mkdir(filepath.Dir(link), 0o777),
		os.Symlink(secret, link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{secret, link} {
		if err := WriteFile(path, func(w io.Writer) error {
			_, err := io.WriteString(w, path)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(secret)
		info, _ := os.Stat(secret)
		if err != nil || string(got) != path || info.Mode() != 0o600 {
			t.Errorf("after writing %s, the file holds %q (%v) with mode %v", path, got, err, info.Mode())
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is now %v, %v", info, err)
	}
}
