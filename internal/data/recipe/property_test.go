package recipe

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/table"
)

// anyTable has columns of all types with any cells empty.
func anyTable(t *rapid.T) *table.Table {
	rows := rapid.IntRange(1, 60).Draw(t, "rows")
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"id", "a", "b", "y", "x", "class", "who", "n", "key",
		"zip"}), 1, 6, rapid.ID).Draw(t, "names")
	columns := make([]table.Column, len(names))
	for at, name := range names {
		c := table.Column{Name: name,
			Type: rapid.SampledFrom([]table.Type{table.Integer, table.Number, table.Text}).Draw(t, "type")}
		switch c.Type {
		case table.Integer:
			c.Integers = rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(-3, 60), rapid.SampledFrom([]int64{-999, 9999})),
				rows, rows).Draw(t, "integers")
		case table.Number:
			c.Numbers = rapid.SliceOfN(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64), rows, rows).Draw(t,
				"numbers")
		default:
			c.Texts = rapid.SliceOfN(rapid.SampledFrom([]string{"", "red", "green", "7", "ü", "-999", "2024-05-01",
				"total"}), rows, rows).Draw(t, "texts")
		}
		if rapid.Bool().Draw(t, "gaps") {
			c.Empty = rapid.SliceOfN(rapid.Bool(), rows, rows).Draw(t, "empty")
		}
		columns[at] = c
	}
	return made(t, columns...)
}

func anyOptions(t *rapid.T, of *table.Table) Options {
	some := func(what string) []string {
		var names []string
		for at := range of.Columns {
			if rapid.IntRange(0, 3).Draw(t, what) == 0 {
				names = append(names, of.Columns[at].Name)
			}
		}
		return names
	}
	w := Options{Missing: Missing(rapid.SampledFrom(MissingMethods()).Draw(t, "missing")),
		Categorical: some("categorical")}
	w.Dates = rapid.Bool().Draw(t, "dates")
	w.KeepLastRow = rapid.Bool().Draw(t, "keep last row")
	if rapid.Bool().Draw(t, "keeping") {
		w.Keep = some("keep")
	}
	if rapid.Bool().Draw(t, "ignoring") {
		w.Ignore = some("ignore")
	}
	if rapid.Bool().Draw(t, "choosing") {
		w.Only = some("only")
	}
	return w
}

// What a recipe makes of its own table fits together, and the recipe that comes back from JSON makes the same.
func TestRecipesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := anyTable(t)
		r, _, err := Fit(t.Context(), of, anyOptions(t, of))
		if err != nil {
			t.Skip(err)
		}
		p, err := r.Apply(t.Context(), of)
		if err != nil {
			if r.Missing == Drop {
				t.Skip(err) // no row is left
			}
			t.Fatal(err)
		}
		if len(p.Notices) > min(1, p.Blank) || p.Points.D != len(p.Names) || p.IDs != nil && len(p.IDs) != of.Rows() ||
			(p.IDs != nil) != (r.ID != "") {
			t.Fatalf("%+v does not fit %+v", p, r)
		}
		if p.Kept == nil && p.Points.N != of.Rows() ||
			p.Kept != nil &&
				(len(p.Kept) != p.Points.N || len(p.Kept) == of.Rows() ||
					r.Missing != Drop && !p.Total && p.Blank == 0) {
			t.Fatalf("the rows kept are %v", p.Kept)
		}
		checkCategories(t, r, p)
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		back := &Recipe{}
		if err := json.Unmarshal(text, back); err != nil || !reflect.DeepEqual(r, back) {
			t.Fatalf("%s became %+v, %v", text, back, err)
		}
		again, err := back.Apply(t.Context(), of)
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Fatal("the recipe that came back makes other points", err)
		}
	})
}

// checkCategories wants one 1 among the columns of a feature, in every row; shares of 1 where it was filled.
func checkCategories(t *rapid.T, r *Recipe, p *Prepared) {
	at := 0
	for f := range r.Features {
		width := r.Features[f].columns()
		if r.Features[f].Categories != nil {
			for row := range p.Points.N {
				marks := slices.Sorted(slices.Values(p.Points.Row(row)[at : at+width]))
				sum := 0.0
				for _, v := range marks {
					sum += v
				}
				filled := r.Features[f].Donors != nil && marks[0] >= 0 && math.Abs(sum-1) < 1e-9
				if !filled && (marks[width-1] != 1 || width > 1 && marks[width-2] != 0) {
					t.Fatalf("row %d has %v in %s", row, marks, r.Features[f].Column)
				}
			}
		}
		at += width
	}
}

// Rows whose texts differ only in case have the same point, whatever else the column has: Fit and Apply merge alike.
func TestCaseDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := []string{"Red", "red", "RED", "Other", "other", "Yes", "yes", "no", "NO", "blue"}
		for rare := range 12 {
			texts = append(texts, fmt.Sprint("Village ", rare), fmt.Sprint("village ", rare))
		}
		cells := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(texts[:10]), rapid.SampledFrom(texts)), 3, 120).Draw(t,
			"cells")
		of := made(t, measured("x", len(cells)), words("color", cells...))
		r, _, err := Fit(t.Context(), of, Options{Only: []string{"color"}})
		if err != nil {
			t.Skip(err)
		}
		p, err := r.Apply(t.Context(), of)
		if err != nil || len(p.Notices) > 0 || p.Points.N != len(cells) {
			t.Fatal(p.Notices, err)
		}
		first := map[string]int{}
		for row, cell := range cells {
			if before, again := first[strings.ToLower(cell)]; !again {
				first[strings.ToLower(cell)] = row
			} else if !slices.Equal(p.Points.Row(row), p.Points.Row(before)) {
				t.Fatalf("%q is %v, but %q is %v, of %q", cell, p.Points.Row(row), cells[before],
					p.Points.Row(before), p.Names)
			}
		}
	})
}

func TestMedian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-10, 10), rapid.SampledFrom([]float64{0, 1, 2})), 1,
			500).Draw(t, "cells")
		if rapid.Bool().Draw(t, "sorted") {
			slices.Sort(cells)
		}
		if got, want := median(cells), medianOfSorted(slices.Sorted(slices.Values(cells))); got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func medianOfSorted(numbers []float64) float64 {
	middle := len(numbers) / 2
	if len(numbers)%2 == 1 || numbers[middle-1] == numbers[middle] {
		return numbers[middle]
	}
	return numbers[middle-1]/2 + numbers[middle]/2
}

// The median of many numbers is exact, also where the sample that brackets it misleads, and the numbers stay.
func TestMedianOfMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, number := range map[string]func(at int) float64{
		"random":             func(int) float64 { return rng.NormFloat64() },
		"ascending":          func(at int) float64 { return float64(at) },
		"descending":         func(at int) float64 { return -float64(at) },
		"equal":              func(int) float64 { return 7 },
		"few":                func(int) float64 { return float64(rng.IntN(3)) },
		"two":                func(at int) float64 { return float64(at % 2) },
		"the sample is high": func(at int) float64 { return rng.Float64() + 10*max(0, 1-float64(at%16)) },
		"the sample is low":  func(at int) float64 { return rng.Float64() - 10*max(0, 1-float64(at%16)) },
		"narrow sample":      func(at int) float64 { return rng.NormFloat64() * min(1, 1e-3+float64(at%16)) },
	} {
		for _, count := range []int{1 << 16, 1<<16 + 1, 1 << 17, 1<<17 - 1} {
			numbers := make([]float64, count)
			for at := range numbers {
				numbers[at] = number(at)
			}
			before := slices.Clone(numbers)
			if got, want := median(numbers), medianOfSorted(slices.Sorted(slices.Values(numbers))); got != want {
				t.Errorf("%s, %d: got %v, want %v", name, count, got, want)
			}
			if !slices.Equal(numbers, before) {
				t.Errorf("%s, %d: the numbers were changed", name, count)
			}
		}
	}
}

// Neither the mean nor the median of the largest numbers is infinite.
func TestFillsAreFinite(t *testing.T) {
	largest := []float64{math.MaxFloat64, math.MaxFloat64, math.MaxFloat64, math.MaxFloat64 / 2}
	if m := mean(largest); math.IsInf(m, 0) || m < math.MaxFloat64/2 {
		t.Error(m)
	}
	if m := median(largest); math.IsInf(m, 0) {
		t.Error(m)
	}
}

func BenchmarkRecipe(b *testing.B) {
	const rows, columns = 500_000, 16
	list := make([]table.Column, columns)
	for at := range list {
		cells := make([]float64, rows)
		for row := range cells {
			cells[row] = math.Mod(float64(row*7919+at), 1000.5)
		}
		list[at] = table.Column{Name: string(rune('a' + at)), Type: table.Number, Numbers: cells}
	}
	of := made(b, list...)
	b.Run("Fit", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := Fit(context.Background(), of, Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	r, _, err := Fit(context.Background(), of, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Apply", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Apply(context.Background(), of); err != nil {
				b.Fatal(err)
			}
		}
	})
}
