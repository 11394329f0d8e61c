package format

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/csv"
)

// Tables as R, spreadsheets and instruments lay them out.
func TestLayoutsOfTables(t *testing.T) {
	for name, c := range map[string]struct{ text, want, says string }{
		"write.table of R": {"\"x\" \"y z\"\n\"Mazda RX4\" 1.5 2\n\"Fiat 128\" 2.5 3\n",
			"column 1:t=Mazda RX4|Fiat 128 x:n=1.5|2.5 y z:i=2|3", "separated by spaces"},
		"write.table, no quotes": {"x y\n1 1.5 2\n2 2.5 3\n", "column 1:i=1|2 x:n=1.5|2.5 y:i=2|3",
			"separated by spaces"},
		"a unit": {"weight\n10 kg\n20 kg\n", "weight:n=10|20",
			`column "weight" is read as numbers, without "kg"`},
		"a unit and its plural": {"age,x\n1 day,1\n-12.5 days,2\n", "age:n=1|-12.5 x:i=1|2", `without "day"`},
		"a unit, decimal commas": {"w;x\n1,5kg;1\n;2\n1.200,25kg;3\n", "w:n=1.5|_|1200.25 x:i=1|2|3",
			`without "kg" and with "." between thousands`},
		"no unit but a 0":         {"w,x\n1 kg,5\n0,6\n", "w:n=1|0 x:i=5|6", `without "kg" (which some cells lack)`},
		"a 0, then two units":     {"w,x\n1 kg,5\n0,6\n7 g,8\n", "w:t=1 kg|0|7 g x:i=5|6|8", ""},
		"two units":               {"way\n10 km\n200 m\n", "way:t=10 km|200 m", ""},
		"some without a unit":     {"room\n101\n103a\n", "room:t=101|103a", ""},
		"a unit of an id":         {"id,x\n1a,5\n2a,6\n", "id:t=1a|2a x:i=5|6", ""},
		"a unit of a code":        {"zip,x\n1a,5\n2a,6\n", "zip:t=1a|2a x:i=5|6", ""},
		"some without a currency": {"price\n$1.50\n0\n$2\n", "price:n=1.5|0|2", `without "$" (which some cells lack)`},
		"some without percent":    {"share\n50%\n0.5\n", "share:t=50%|0.5", ""},
		"units below the header": {"a,b,c\ncm,kg,\n1,2,x\n3,4,y\n", "a:i=1|3 b:i=2|4 c:t=x|y",
			`the second row belongs to the header, because it has words where the others have numbers: "cm,kg,"`},
		"one word below a header": {"a,b\ncm,1\n2,3\n", "a:t=cm|2 b:i=1|3", ""},
		"the header again": {"a,b\n1,x\na,b\n2,y\n", "a:i=1|2 b:t=x|y",
			"line 3 is skipped: it is blank or has text instead of a row"},
		"words again": {"a,b\nc,d\na,b\n", "column 1:t=a|c|a column 2:t=b|d|b",
			"the first line is read as data"},
		"a header of nothing": {",,\n7,2,3\n4,5,6\n", "column 1:i=7|4 column 2:i=2|5 column 3:i=3|6", ""},
		"a comment and a note": {"a,b,c\n1,2,3\n# pause\n4,5,6\nSource: us\n", "a:i=1|4 b:i=2|5 c:i=3|6",
			"2 lines (the first is line 3) are skipped"},
		"a note with a comma": {"a,b,c\n1,2,3\n4,5,6\n\nSource: us, 2024\nSee: a, b, c, d\n",
			"a:i=1|4 b:i=2|5 c:i=3|6", "2 lines (the first is line 5) are skipped"},
		"a note of a sheet":     {"a,b,c\n1,2,3\n,,\nSource: us,,\n", "a:i=1 b:i=2 c:i=3", "line 4 is skipped"},
		"a name without values": {"a,b,c\nann,2,3\nbob,,\n", "a:t=ann|bob b:i=2|_ c:i=3|_", ""},
		"blank lines": {"a,b\n1,2\n\n\n3,4\n\n", "a:i=1|3 b:i=2|4",
			"2 lines (the first is line 3) are skipped: they are blank"},
		"too many separators":     {"a,b\n1,2\n4,5,,\n", "a:i=1|4 b:i=2|5", ""},
		"rows end in a separator": {"x;y\n1;2;\n3;4;\n", "x:i=1|3 y:i=2|4 column 3:n=_|_", ""},
		"all rows do":             {"x;y;\n1;2;\n3;4;\n", "x:i=1|3 y:i=2|4 column 3:n=_|_", ""},
		"a last column of NA":     {"x,y\nr1,1,NA\nr2,3,NA\n", "column 1:t=r1|r2 x:i=1|3 y:n=_|_", ""},
		"one, decimal commas":     {"x\n12,5\n-3,25\n7\n", "x:n=12.5|-3.25|7", ""},
		"one, names of rows":      {"x\n1,5\n2,7\n3,8\n", "column 1:i=1|2|3 x:i=5|7|8", ""},
		"numbers of pandas": {",0,1\n0,5.5,6\n1,7.5,8\n", "column 1:i=0|1 0:n=5.5|7.5 1:i=6|8",
			"is read as the header; to read it as data, use --header no"},
		"years above an index": {",2019,2020\nFrance,5,6\nSpain,7,8\n",
			"column 1:t=France|Spain 2019:i=5|7 2020:i=6|8",
			"is read as the header; to read it as data, use --header no"},
		"numbers of columns": {"0,1,2\n5,6,7\n8,9,10\n", "column 1:i=0|5|8 column 2:i=1|6|9 column 3:i=2|7|10",
			"is read as data; to read it as the header, use --header yes"},
		"numbers again": {"0,1,2\n0,2,3\n0,3,4\n", "column 1:i=0|0|0 column 2:i=1|2|3 column 3:i=2|3|4", ""},
		"years of people": {"ann,2001,2002\nbob,2001,2003\n",
			"column 1:t=ann|bob column 2:i=2001|2001 column 3:i=2002|2003", ""},
		"an edge":                {"0,1\n1,2\n2,0\n", "column 1:i=0|1|2 column 2:i=1|2|0", ""},
		"a gap in the first row": {",5,7\n1,6,8\n", "column 1:i=_|1 column 2:i=5|6 column 3:i=7|8", ""},
		"told to Excel":          {"sep=;\r\na;b;c\r\n1,5;2;x\r\n2,5;3;y\r\n", "a:n=1.5|2.5 b:i=2|3 c:t=x|y", ""},
		"told, one column":       {"\"sep=|\"\na\n1,5\n2,5\n", "a:n=1.5|2.5", ""},
		"comments on two columns": {"# by x, at noon, in mm\n# 5 rows\nx,y\n1,2\n3,4\n", "x:i=1|3 y:i=2|4",
			"the table begins on line 3"},
		"a comment before spaces": {"# made by a probe\n1 2\n3 4\n", "column 1:i=1|3 column 2:i=2|4",
			"the table begins on line 2"},
		"a header as a comment": {"#id,x\n7,1\n5,2\n", "id:i=7|5 x:i=1|2", ""},
		"a title of a sheet": {"Sales 2024;;\n;;\na;b;c\n1;2;x\n3;4;y\n", "a:i=1|3 b:i=2|4 c:t=x|y",
			`begins on line 3; the text before it is skipped: "Sales 2024"`},
		"a header with gaps":    {"name;;\nann;1;2\nbob;3;4\n", "name:t=ann|bob column 2:i=1|3 column 3:i=2|4", ""},
		"a first row with gaps": {"a;b\n1;\n2;x\n", "a:i=1|2 b:t=_|x", ""},
		"one, quoted names":     {"x\n\"12\",5\n\"3\",7\n", "column 1:i=12|3 x:i=5|7", ""},
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

// Rows without values are left out after the last row that has some, and nowhere else; also if they are many.
func TestHollowRows(t *testing.T) {
	const many = 300_000
	hollow := strings.Repeat(";;\n", many)
	for _, c := range []struct {
		text, says string
		rows       int
	}{
		{"a;b;c\n1;x;2.5\n;;\n2;y;3\n; ;\r\n;;\n", "the lines from 5 on have only empty cells", 3},
		{"a;b;c\n1;x;2.5\n;;\n\n;;\n", "the lines from 3 on have only empty cells", 1},
		{"a;b;c\n1;x;2.5\n;\n;;;\n", "the lines from 3 on have only empty cells", 1},
		{"a;b;c\n1;x;2.5\n" + hollow, "the lines from 3 on have only empty cells", 1},
		{"a;b;c\n1;x;2.5\n" + hollow + "3;z;4\n", "", many + 2},
		// read again
		{"a;b;c\n1;x;2.5\n" + hollow + "3;z;many\n;;\n", "the lines from 300004 on have only empty cells", many + 2},
	} {
		got, says, err := readText(t, "t.csv", c.text, csv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Rows() != c.rows || !strings.Contains(says, c.says) || c.says == "" && says != "" {
			t.Errorf("got %d rows (%s), want %d", got.Rows(), says, c.rows)
		}
		for at := range got.Columns {
			if last := got.Rows() - 1; got.Columns[at].IsEmpty(last) || last > 1 && !got.Columns[at].IsEmpty(1) {
				t.Errorf("%d rows: column %d is wrong", c.rows, at)
			}
		}
		if last := got.Rows() - 1; last > 2 && got.Place(last) != "on line 300003" {
			t.Errorf("the last row stands %s", got.Place(last))
		}
	}
	for text, want := range map[string]string{
		"a;b;c\n1;2;3\n" + hollow + "\n" + "4;5;6;7\n": "line 300004: the line has 4 cells",
		"a;b;c\n;;\n;;\n": "no rows of data",
	} {
		if _, _, err := readText(t, "t.csv", text, csv.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A text whose first row cannot be told is not called empty.
func TestNoFirstRow(t *testing.T) {
	for text, reason := range map[string]string{
		"\"x\"y,z\n1,2\n":          "UNCLOSED_QUOTE",
		"\n\"x\n1,2\n":             "UNCLOSED_QUOTE",
		"[{\"x\": 1}, {\"x\": 2}]": "UNKNOWN_FORMAT",
		"{\"x\": 1}\n{\"x\": 2}\n": "UNKNOWN_FORMAT",
	} {
		_, _, err := readText(t, "t.csv", text, csv.Options{})
		if !fault.Is(err, reason) {
			t.Errorf("%q: got %v", text, err)
		}
		if reason == "UNCLOSED_QUOTE" && !strings.Contains(err.Error(), "t.csv, line 1: the header") &&
			!strings.Contains(err.Error(), "t.csv, line 2: the header") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
