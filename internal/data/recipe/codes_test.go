package recipe

import (
	"math"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/table"
)

// Numbers that name rows rather than measure them are never a feature without a word.
func TestNumbersThatNameRows(t *testing.T) {
	cards := integers("n")
	for row := range int64(12) {
		cards.Integers = append(cards.Integers, 40_000_000+row*row*7919)
	}
	prices := integers("n")
	for row := range int64(12) {
		prices.Integers = append(prices.Integers, 400_000+row*row*79)
	}
	for _, c := range []struct {
		column   table.Column
		says     string
		features int
	}{
		{integers("n", 0, 1, 2, 3), "counts the rows from 0 and is used as a feature; if it should not be, use " +
			"--id-column n or --ignore", 2},
		{integers("n", 1001, 1002, 1003), "counts the rows from 1001 and is used as a feature; if it should not be, " +
			"use --id-column n or --ignore", 2},
		{integers("n", 1704067200, 1704067260, 1704067320),
			"changes by 60 from row to row and is used as a feature; if it should not be, use --id-column n " +
				"or --ignore", 2},
		{integers("n", 9, 8, 7), "changes by -1 from row to row and is used as a feature; if it should not be, use " +
			"--id-column n or --ignore", 2},
		{integers("n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
			"is left out: it counts the rows from 1; --keep n uses it, --id-column n makes it the row id", 1},
		{integers("n", 7, 2, 3, 9, 5, 6, 1, 8, 4, 10),
			"is left out: it has each number from 1 to 10 once; --keep n uses it, --id-column n makes it the row id",
			1},
		{integers("n", 7, 2, 3, 9, 5, 6, 1, 8, 4, 11), "", 2},
		{cards, "is left out: it has a different 8-digit number in each row; --keep n uses it, --id-column n makes " +
			"it the row id", 1},
		{prices, "", 2},
		{integers("order_nr", 3, 5, 6, 9, 10, 14, 15, 17, 18, 20), "", 1},
		{integers("seconds", 3, 5, 6, 9, 10, 14, 15, 17, 18, 20), "", 2},
		{integers("n", 5, 5, 5), "is left out: it is the same in all rows; --keep n uses it", 1},
		{integers("n", 1, 2, 4), "", 2},
		{integers("n", 1, 2), "", 2},
	} {
		x := numbers("x")
		for row := range c.column.Len() {
			x.Numbers = append(x.Numbers, math.Sqrt(float64(row)))
		}
		r, notices, err := Fit(t.Context(), made(t, c.column, x), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if c.column.Name == "order_nr" &&
			strings.Contains(notices[0], `"order_nr" is left out: it is named like an id and increases`) {
			notices = nil
		}
		said := strings.Join(notices, "\n")
		if c.says != "" {
			c.says = `column "n" ` + c.says
		}
		if len(r.Features) != c.features || said != c.says {
			t.Errorf("%v: got %q", c.column.Integers, said)
		}
		if _, notices, err = Fit(t.Context(), made(t, c.column, x), Options{Only: []string{"1", "x"}}); err != nil ||
			len(notices) > 0 {
			t.Errorf("%v, asked for: got %q, %v", c.column.Integers, notices, err)
		}
	}
}
