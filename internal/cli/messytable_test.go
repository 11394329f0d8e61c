package cli

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
)

// messy is a table as people have it: two kinds of rows, with a running number, a unit twice, a constant, codes,
// numbers and words that stand for nothing, gaps, and totals below.
func messy() string {
	var b strings.Builder
	b.WriteString("nr,celsius,fahrenheit,income,weight,currency,zip,since\n")
	for row := range 60 {
		kind := float64(row % 2)
		c := math.Round(10*(10+8*kind+float64(row*7%5)/3)) / 10
		celsius := fmt.Sprintf("%.1f", c)
		income := fmt.Sprint(30_000 + 20_000*row%2 + row*row%900)
		weight := fmt.Sprintf("%.2f", 5+9*kind+float64(row*row%11)/7)
		switch {
		case row%9 == 4:
			income = "-9999"
		case row == 21:
			weight = "broken"
		case row%8 == 1:
			weight = ""
		}
		fmt.Fprintf(&b, "%d,%s,%.1f,%s,%s,EUR,0%d,2024-05-%02d\n", row+1, celsius, 1.8*c+32, income, weight,
			1000+row%2, row%28+1)
	}
	b.WriteString("Total,900,,,,,,\n")
	return b.String()
}

// A table as it comes is clustered by what it measures, each step is said once, and new rows are read alike.
func TestTableAsItComes(t *testing.T) {
	clitest.Folder(t, map[string]string{"messy.csv": messy()})
	r := invoke(t, "run --quiet --k 2 --seed 1 --algorithm kmeans --scale zscore --out found --data messy.csv")
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.stderr)
	}
	for _, said := range []string{
		`the last row is left out: column "nr" calls it "Total"; --keep-last-row`,
		`column "nr" is left out: it counts the rows from 1; --keep nr`,
		`column "fahrenheit" (of "celsius") is left out: a copy`,
		`column "currency" is left out: it is the same in all rows; --keep currency`,
		`cells with -9999 are read as missing; --keep income`,
		`column "weight": a cell is not a number and is read as missing: "broken" on line 23; --categorical weight`,
		`column "zip" has 2 categories: "01000", "01001"`,
		`column "since" is left out: it holds dates; --dates numbers`, `are filled from similar rows; --missing`,
	} {
		if strings.Count(r.stderr, said) != 1 {
			t.Errorf("%q is said %d times:\n%s", said, strings.Count(r.stderr, said), r.stderr)
		}
	}
	labels := strings.Split(strings.TrimSpace(clitest.Read(t, "found/labels.csv")), "\n")
	if len(labels) != 62 || !strings.HasPrefix(labels[61], "60,-1") {
		t.Fatalf("%d lines, the last is %s", len(labels), labels[len(labels)-1])
	}
	for row := 2; row < 60; row++ {
		if same := strings.Split(labels[row+1], ",")[1] == strings.Split(labels[row-1], ",")[1]; !same {
			t.Errorf("rows %d and %d are of one kind", row, row-2)
		}
	}
	again := strings.Split(strings.TrimSpace(succeed(t, "predict --model found --data messy.csv")), "\n")
	for at := range labels {
		if got, want := strings.Split(again[at], ","), strings.Split(labels[at], ","); got[0] != want[0] ||
			got[1] != want[1] {
			t.Errorf("line %d: predicted %s, clustered %s", at, again[at], labels[at])
		}
	}
	r = invoke(t, "run --quiet --k 2 --seed 1 --algorithm kmeans --scale zscore --data messy.csv --keep "+
		"nr,fahrenheit,currency --dates numbers --ignore weight,zip,income --keep-last-row --missing drop")
	if r.code == 0 || !strings.Contains(r.stderr, `line 62, column "nr": "Total" is not a number`) {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
}
