package recipe

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/table"
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
		column table.Column
		says   string
	}{
		{integers("n", 0, 1, 2, 3), "counts the rows from 0"},
		{integers("n", 1001, 1002, 1003), "counts the rows from 1001"},
		{integers("n", 1704067200, 1704067260, 1704067320), "goes on by 60 from row to row"},
		{integers("n", 9, 8, 7), "goes on by -1 from row to row"},
		{cards, "has another number of 8 digits in each row"},
		{prices, ""},
		{integers("n", 5, 5, 5), ""},
		{integers("n", 1, 2, 4), ""},
		{integers("n", 1, 2), ""},
	} {
		x := numbers("x")
		for row := range c.column.Len() {
			x.Numbers = append(x.Numbers, float64(row*row))
		}
		r, notices, err := Fit(made(t, c.column, x), Wishes{})
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(notices, "\n")
		if len(r.Features) != 2 || c.says == "" && said != "" || c.says != "" && said != `column "n" `+c.says+" and is used as a feature; if it is none: --id-column n, or --ignore" {
			t.Errorf("%v: got %q", c.column.Integers, said)
		}
		if _, notices, err = Fit(made(t, c.column, x), Wishes{Only: []string{"n", "x"}}); err != nil || len(notices) > 0 {
			t.Errorf("%v, asked for: got %q, %v", c.column.Integers, notices, err)
		}
	}
}
