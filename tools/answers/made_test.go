package answers

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
)

// A seed draws one table of a kind, always the same; every group has rows, and every row all cells.
func TestMadeTables(t *testing.T) {
	var names []string
	for _, kind := range madeKinds {
		names = append(names, kind.name)
		made := kind.draw(3)
		if !bytes.Equal(made.csv(), kind.draw(3).csv()) || !slices.Equal(made.truth, kind.draw(3).truth) {
			t.Errorf("%s: a seed draws two tables", kind.name)
		}
		if bytes.Equal(made.csv(), kind.draw(4).csv()) {
			t.Errorf("%s: another seed draws the same table", kind.name)
		}
		sizes := make([]int, made.k)
		for _, group := range made.truth {
			if group >= 0 {
				sizes[group]++
			}
		}
		if slices.Min(sizes) == 0 || made.n != kind.rows {
			t.Errorf("%s: groups of %v rows among %d", kind.name, sizes, made.n)
		}
		for at, cells := range made.columns {
			if len(cells) != len(made.truth) {
				t.Errorf("%s: column %s has %d cells for %d rows", kind.name, made.names[at], len(cells),
					len(made.truth))
			}
		}
	}
	if slices.Sort(names); len(names) < 40 || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("%d kinds, want at least 40 of different names", len(names))
	}
}

// Written tables are read as any other file, and become points with as many rows as the truth has.
func TestWriteTables(t *testing.T) {
	folder := t.TempDir()
	if err := WriteTables(folder, 0); err != nil {
		t.Fatal(err)
	}
	refused := []string{"stray-words", "words-200"} // a table may ask its owner what is meant
	for _, kind := range madeKinds {
		at := filepath.Join(folder, kind.name)
		count, err := os.ReadFile(filepath.Join(at, "k"))
		if err != nil {
			t.Fatal(err)
		}
		_, truth, err := format.LoadTable(filepath.Join(at, "truth.csv"), table.Labels, 0)
		if err != nil {
			t.Fatal(err)
		}
		if groups := newSet(kind.name, Made, Table, "",
			truth); strconv.Itoa(groups.k) != strings.TrimSpace(string(count)) {
			t.Errorf("%s: %d groups, and k says %s", kind.name, groups.k, count)
		}
		reader, err := format.OpenTable([]string{filepath.Join(at, "data.csv")}, format.TableOptions{})
		if err != nil {
			t.Errorf("%s: %v", kind.name, err)
			continue
		}
		all, err := reader.ReadAll()
		reader.Close()
		if err != nil {
			t.Errorf("%s: %v", kind.name, err)
			continue
		}
		made, _, err := recipe.Fit(t.Context(), all, recipe.Options{})
		if err != nil {
			if !slices.Contains(refused, kind.name) {
				t.Errorf("%s: %v", kind.name, err)
			}
			continue
		}
		prepared, err := made.Apply(t.Context(), all)
		if err != nil {
			t.Errorf("%s: %v", kind.name, err)
			continue
		}
		if rows := prepared.Points.N; all.Rows() != len(truth) || rows > len(truth) || rows < len(truth)-1 {
			t.Errorf("%s: %d rows and %d points for %d labels", kind.name, all.Rows(), rows, len(truth))
		}
	}
}

// Centers are as far apart as they are asked to be.
func TestCenters(t *testing.T) {
	made := madeKind{"a", 10, func(t *madeTable) { t.groups(5) }}.draw(0)
	centers := made.centers(3, 4)
	for g := range centers {
		for h := range g {
			sum := 0.0
			for c := range 3 {
				sum += (centers[g][c] - centers[h][c]) * (centers[g][c] - centers[h][c])
			}
			if sum < 16 {
				t.Errorf("centers %d and %d are %v apart, squared", g, h, sum)
			}
		}
	}
}

func TestGrouped(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := grouped(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}
