package format

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/format/csv"
)

// Numbers as spreadsheets and reports write them.
func TestNumbersAsPeopleWriteThem(t *testing.T) {
	for name, c := range map[string]struct{ text, want, says string }{
		"percent": {"a,b\n12 %,1\n3.5%,2\n-,3\n", "a:n=12|3.5|_ b:i=1|2|3",
			`column "a" is read as numbers, without "%"`},
		"dollars": {"a,b\n\"$1,234.50\",1\n-$3,2\n", "a:n=1234.5|-3 b:i=1|2",
			`without "$" and with "," between thousands`},
		"euros": {"a;b\n1234,50 €;1\n3 €;2\n", "a:n=1234.5|3 b:i=1|2", `without "€"`},
		"euros, by thousands": {"a;b\n1.234,50\u00a0€;1\n3 €;2\n", "a:n=1234.5|3 b:i=1|2",
			`without "€" and with "." between thousands`},
		"less than one":    {"a;b\n$.50;1\n\"$1,234.50\";2\n", "a:n=0.5|1234.5 b:i=1|2", `without "$"`},
		"codes":            {"a;b\nUSD 5;1\n7 USD;2\n", "a:n=5|7 b:i=1|2", `without "USD"`},
		"two currencies":   {"a;b\n$5;1\n7 €;2\n", "a:t=$5|7 € b:i=1|2", ""},
		"some with a mark": {"a;b\n5 %;1\n0.07;2\n", "a:t=5 %|0.07 b:i=1|2", ""},
		"thousands":        {"a,b\n\"1,234,567\",1\n89,2\n", "a:n=1234567|89 b:i=1|2", `with "," between thousands`},
		"thousands, quoted": {"a,b\n\"1,234\",1\n\"5,678\",2\n", "a:n=1234|5678 b:i=1|2",
			`with "," between thousands`},
		"decimals, quoted": {"a,b\n\"1,5\",1\n\"5,678\",2\n", "a:n=1.5|5.678 b:i=1|2", ""},
		"decimal commas":   {"a;b\n1,234;1\n5,678;2\n", "a:n=1.234|5.678 b:i=1|2", ""},
		"points": {"a;b\n1.234.567;1\n1.234,5;2\n", "a:n=1234567|1234.5 b:i=1|2",
			`with "." between thousands`},
		"points, by others": {"a;b\n1.234;5,6\n950;7,5\n", "a:n=1234|950 b:n=5.6|7.5",
			`column "a" is read as numbers, with "." between thousands`},
		"commas, by others": {"a;b\n1,234;5.6\n950;7.5\n", "a:n=1234|950 b:n=5.6|7.5",
			`column "a" is read as numbers, with "," between thousands`},
		"no thousands": {"a;b\n0.234;5,6\n1.950;7,5\n", "a:n=0.234|1.95 b:n=5.6|7.5", ""},
		"of both kinds": {"a;b;c\n1.234;5,6;1\n1.950;7,5;2.5\n", "a:n=1.234|1.95 b:n=5.6|7.5 c:n=1|2.5",
			`column "a": 1.234 is read as a decimal number`},
		"perhaps thousands": {"a;b\n1.234;1\n950;2\n", "a:n=1.234|950 b:i=1|2",
			`column "a": 1.234 is read as a decimal number; if it means 1234`},
		"no doubt":           {"a;b\n1.234;1\n0.950;2\n", "a:n=1.234|0.95 b:i=1|2", ""},
		"no doubt, no point": {"a;b\n-0;1\n2;2\n", "a:n=0|2 b:i=1|2", ""},
		"no doubt, commas":   {"a,b\n1.234,1\n2.950,2\n", "a:n=1.234|2.95 b:i=1|2", ""},
		"spaces": {"a;b\n1 234,5;1\n12\u202f345;2\n", "a:n=1234.5|12345 b:i=1|2",
			`with " " between thousands`},
		"apostrophes": {"a;b\n1'234.5;1\n1'000'000;2\n", "a:n=1234.5|1000000 b:i=1|2",
			`with "'" between thousands`},
		"apostrophes, curved": {"a;b\n1’234.5;1\n1’000’000;2\n", "a:n=1234.5|1000000 b:i=1|2",
			`with "'" between thousands`},
		"accounts": {"a,b\n\"(1,234.50)\",1\n7,2\n", "a:n=-1234.5|7 b:i=1|2",
			`with "," between thousands and with (5) for -5`},
		"accounts, dollars": {"a,b,c\n($ 5.25),$(3),1\n$ 7,$4,2\n", "a:n=-5.25|7 b:n=-3|4 c:i=1|2",
			`column "a" is read as numbers, without "$" and with (5) for -5`},
		"accounts, integers": {"a,b\n(5),1\n7,2\n", "a:n=-5|7 b:i=1|2", `with (5) for -5`},
		"accounts, commas":   {"a;b\n(5,5);1\n7;2\n", "a:n=-5.5|7 b:i=1|2", `with (5) for -5`},
		"no accounts":        {"a,b\n(x),1\n(),2\n(-5),3\n", "a:t=(x)|()|(-5) b:i=1|2|3", ""},
		"typeset minus":      {"a,b\n\u22125.5,1\n7,2\n", "a:n=-5.5|7 b:i=1|2", "with \u22125 for -5"},
		"accounts as ids":    {"id,b\n(5),1\n(6),2\n", "id:t=(5)|(6) b:i=1|2", ""},
		"bad groups":         {"a;b\n1,2,345;1\n2;2\n", "a:t=1,2,345|2 b:i=1|2", ""},
		"groups of two": {"a;b\n1,23,456;1\n12,34,567.5;2\n", "a:n=123456|1.2345675e+06 b:i=1|2",
			`with "," between thousands`},
		"limits": {"a;b\n<0.5;1\n2.5*;2\n~ 7;3\n8;4\n", "a:n=0.5|2.5|7|8 b:i=1|2|3|4",
			"without signs such as < and *"},
		"zeros without marks": {"a;b\n5 %;1 kg\n0;0\n", "a:n=5|0 b:n=1|0",
			`column "a" is read as numbers, without "%" (which some cells lack)`},
		"dashes":  {"a;b\n–;1\n2;—\n", "a:i=_|2 b:i=1|_", ""},
		"missing": {"a,b,c\n--,x,1\n5,-,.\n7,\\N,<NA>\n", "a:i=_|5|7 b:t=x|-|_ c:i=1|_|_", ""},
		"errors of Excel": {"a,b,c\n#DIV/0!,#REF!,#NUM!\n5,#WERT!,#NAME?\n#NV,7.5,n.a.\n",
			"a:i=_|5|_ b:n=_|_|7.5 c:n=_|_|_", ""},
		"of statistics":       {"a,b\n..,x\n5,#top!\n", "a:i=_|5 b:t=x|#top!", ""},
		"ids":                 {"id,b\n\"1,234\",1\n\"2,345\",2\n", "id:t=1,234|2,345 b:i=1|2", ""},
		"only spaces between": {" x   y\n 1  2.5 \n30  4\n", "x:i=1|30 y:n=2.5|4", "separated by spaces"},
		"words, not cells":    {"full name\nann lee\nbob ray\n", "full name:t=ann lee|bob ray", ""},
		"a title": {"Sales of May\n\na,b,c\n1,2,x\n3,4,y\n", "a:i=1|3 b:i=2|4 c:t=x|y",
			`the table begins on line 3; the text before it is skipped: "Sales of May"`},
		"comments":         {"# by x\n# at noon\na,b,c\n1,2,x\n", "a:i=1 b:i=2 c:t=x", "the table begins on line 3"},
		"carriage returns": {"a,b\r1,x\r2,y\r", "a:i=1|2 b:t=x|y", ""},
	} {
		got, says, err := readText(t, "t.csv", c.text, csv.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if show(got) != c.want || !strings.Contains(says, c.says) || c.says == "" && says != "" {
			t.Errorf("%s: got %s (%s), want %s", name, show(got), says, c.want)
		}
	}
}

// A title is no reason to count lines wrong, and a late mark makes a column one of texts from its first row.
func TestNumbersAreReadAgain(t *testing.T) {
	if _, _, err := readText(t, "t.csv", "My table\n\na,b,c\n1,2,x\n3,4,y,5\n", csv.Options{}); err == nil ||
		!strings.Contains(err.Error(), "t.csv, line 5: the line has 4 cells") {
		t.Errorf("got %v", err)
	}
	const rows = 25_000 // more than tell the form of a table
	for late, want := range map[string]string{"1.234,5": "n", "7 %": "t", "1'000": "n", "2,5": "n", "(5)": "n",
		"\u22125": "n"} {
		got, _, err := readText(t, "t.csv", "a;b\n"+strings.Repeat("1;2000000000\n", rows)+late+";2\n", csv.Options{})
		if err != nil || got.Columns[0].Type.String()[:1] != want || got.Rows() != rows+1 {
			t.Errorf("%s: got %v, %v", late, got.Columns[0].Type, err)
		}
	}
	_, _, err := readText(t, "t.csv", "a;b\n"+strings.Repeat("x;2000000000\n", rows)+"x\x00;2\n", csv.Options{})
	wantFault(t, "zero byte", err, "NOT_A_TEXT", `t.csv, line 25002, column "a": the cell has a zero byte`)
}
