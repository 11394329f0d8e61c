package format

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/csv"
)

// openText opens a table of this text; the name of the file tells nothing but its suffix.
func openText(t testing.TB, name, text string, o csv.Options) (*TableReader, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := OpenTable([]string{path}, o)
	if err == nil {
		t.Cleanup(r.Close)
	}
	return r, err
}

// readText reads it; notices and errors are without the folder.
func readText(t testing.TB, name, text string, o csv.Options) (*table.Table, string, error) {
	t.Helper()
	r, err := openText(t, name, text, o)
	if err != nil {
		return nil, "", err
	}
	all, err := r.ReadAll()
	return all, strings.Join(r.Notices(), "\n"), err
}

// show is a table in one line: name:type=cell|cell.
func show(t *table.Table) string {
	var columns []string
	for at := range t.Columns {
		c := &t.Columns[at]
		var cells []string
		for row := range t.Rows() {
			cell := c.CellText(row)
			if c.IsEmpty(row) {
				cell = "_"
			}
			cells = append(cells, cell)
		}
		columns = append(columns, fmt.Sprintf("%s:%s=%s", c.Name, c.Type.String()[:1], strings.Join(cells, "|")))
	}
	return strings.Join(columns, " ")
}

func TestTablesAsPeopleHaveThem(t *testing.T) {
	for name, c := range map[string]struct{ text, want, says string }{
		"commas":              {"a,b\n1,2.5\n3,4\n", "a:i=1|3 b:n=2.5|4", ""},
		"semicolons":          {"a;b;c\n1;2,5;x\n3;4;y\n", "a:i=1|3 b:n=2.5|4 c:t=x|y", ""},
		"commas and points":   {"a;b\n1,5;1.5\n2;2\n1.5;2\n", "a:t=1,5|2|1.5 b:n=1.5|2|2", ""},
		"no header, decimals": {"1,5;2,5\n3,5;4,5\n", "column 1:n=1.5|3.5 column 2:n=2.5|4.5", ""},
		"tabs":                {"a\tb\n1\tx y\n2\tz, w\n", "a:i=1|2 b:t=x y|z, w", ""},
		"pipes":               {"a|b\n1|2\n", "a:i=1 b:i=2", ""},
		"one column":          {"x\n1\n2\n", "x:i=1|2", ""},
		"CRLF and BOM":        {"\xEF\xBB\xBFa,b\r\n1,x\r\n2,y\r\n", "a:i=1|2 b:t=x|y", ""},
		"no last line end":    {"a,b\n1,2\n3,4", "a:i=1|3 b:i=2|4", ""},
		"blank lines around":  {"\n\na,b\n1,2\n\n \n", "a:i=1 b:i=2", ""},
		"quotes":              {"a,b\n\"x, \"\"y\"\"\",1\n plain , \"2\"\n", `a:t=x, "y"|plain b:i=1|2`, ""},
		"quoted line breaks":  {"a,\"b\n c\"\n\"x\ny\",1\n\"z\",2\n", "a:t=x\ny|z b c:i=1|2", ""},
		"quote inside":        {"a,b\n5\" pipe,1\n6\",2\n", `a:t=5" pipe|6" b:i=1|2`, ""},
		"missing":             {"a,b,c\n1,NA,x\n,2.5,?\nnan,none,none\n", "a:i=1|_|_ b:n=_|2.5|_ c:t=x|_|none", ""},
		"padded": {"id,n\n007,01\n008,02\n", "id:t=007|008 n:i=1|2",
			`column "n" is read as numbers, without leading zeros`},
		"plus": {"a,b\n+5,1\n-6,2\n", "a:i=5|-6 b:i=1|2", ""},
		"long ids": {"user_id,n\n12345678901234567890,1\n2,1\n",
			"user_id:t=12345678901234567890|2 n:i=1|1", ""},
		"negative zero": {"a\n-0\n1\n", "a:n=0|1", ""},
		"years of data": {"2001,2002\n1,2\n", "column 1:i=2001|1 column 2:i=2002|2", "--header yes"},
		"years in a header": {"land,2001,2002\nFrance,1,2\nSpain,3,4\n", "land:t=France|Spain 2001:i=1|3 2002:i=2|4",
			"--header no"},
		"a number as a name": {"x,2\n1,2\n3,4\n", "x:i=1|3 2:i=2|4", "--header no"},
		"no header":          {"ann,3\nbob,4\n", "column 1:t=ann|bob column 2:i=3|4", ""},
		"words, no header": {"red,big\nblue,big\nred,small\n", "column 1:t=red|blue|red column 2:t=big|big|small",
			"repeat some of its cells"},
		"words with a header": {"color,size\nblue,big\nred,small\n", "color:t=blue|red size:t=big|small", ""},
		"same names":          {"x,x,,x\n1,2,3,4\n", "x:i=1 x.1:i=2 column 3:i=3 x.2:i=4", `several columns "x"`},
		"names of R":          {"a,b\nr1,1,2\nr2,3,4\n", "column 1:t=r1|r2 a:i=1|3 b:i=2|4", ""},
		"pandas":              {",a\n0,1\n1,2\n", "column 1:i=0|1 a:i=1|2", ""},
		"true and false":      {"a,b\ntrue,1\nFalse,2\n", "a:t=true|False b:i=1|2", ""},
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

func TestTableOptions(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		options csv.Options
		want    string
	}{
		"delimiter": {"a;b,c\n1;2,3\n", csv.Options{Delimiter: ','}, "a;b:t=1;2 c:i=3"},
		"header":    {"2001,2002\n1,2\n", csv.Options{Header: "yes"}, "2001:i=1 2002:i=2"},
		"no header": {"a,b\n1,2\n", csv.Options{Header: "no"}, "column 1:t=a|1 column 2:t=b|2"},
		"texts":     {"a,b\n01,2\n", csv.Options{Texts: []string{"a", "2"}}, "a:t=01 b:t=2"},
	} {
		if got, _, err := readText(t, "t.csv", c.text, c.options); err != nil || show(got) != c.want {
			t.Errorf("%s: got %s, %v", name, show(got), err)
		}
	}
}

func TestEncodingsOfTables(t *testing.T) {
	const text = "name,n\nJosé,1\nZoë,2\n"
	const want = "name:t=José|Zoë n:i=1|2"
	latin, err := charmap.Windows1252.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	utf16, err := unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	little, err := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, says string }{
		"UTF-8": {text, ""}, "UTF-16": {utf16, ""}, "UTF-16 without a mark": {little, "read as UTF-16"},
		"Latin-1": {latin, "Windows-1252"},
	} {
		got, says, err := readText(t, "t.csv", c.text, csv.Options{})
		if err != nil || show(got) != want || !strings.Contains(says, c.says) || c.says == "" && says != "" {
			t.Errorf("%s: got %v, %q, %v", name, got, says, err)
		}
	}
	// The first byte that is not UTF-8 may come late.
	late := "n,name\n" + strings.Repeat("1,Jose\n", 100_000) + "2,Jos\xe9\n"
	got, says, err := readText(t, "t.csv", late, csv.Options{})
	if err != nil || got.Columns[1].Texts[100_000] != "José" || strings.Count(says, "Windows-1252") != 1 {
		t.Errorf("got %q, %v", says, err)
	}
}

// What comes late in a file changes the types of its columns from the first row on.
func TestLateSurprises(t *testing.T) {
	const rows = 60_000
	var text strings.Builder
	text.WriteString("id,a,b,c,d\n")
	for row := range rows {
		fmt.Fprintf(&text, "%d,%d,%d,%d.5,\n", row, row, row, row)
	}
	lines := text.String() + "0x,7.5,many,8,x\n"
	got, _, err := readText(t, "t.csv", lines, csv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var types string
	for at := range got.Columns {
		types += got.Columns[at].Type.String()[:1]
	}
	if types != "tntnt" || got.Rows() != rows+1 || got.Columns[2].Texts[5] != "5" ||
		got.Columns[1].Numbers[rows] != 7.5 || got.Columns[0].Texts[rows] != "0x" || !got.Columns[4].Empty[0] {
		t.Errorf("got the types %s and %d rows", types, got.Rows())
	}
	for name, c := range map[string]struct{ text, want string }{
		"after a restart": {lines + "1,2,3,4,5,6\n", "line 60003: the line has 6 cells, but other lines have 5"},
		"short":           {text.String() + "1,many\n", "line 60002: the line has 2 cells, but other lines have 5"},
		"after a blank":   {text.String() + "\n1,1,1,1,1,1\n", "line 60003: the line has 6 cells"},
		"unclosed":        {text.String() + "\"1,1,1,1,1\n\n", `line 60002, column "id": a quoted cell is not closed`},
	} {
		if _, _, err := readText(t, "t.csv", c.text, csv.Options{}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// Standard input is read again as long as there is a place to keep it.
	short, err := OpenTable([]string{"-"}, csv.Options{Format: "csv", Stdin: strings.NewReader(lines)})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := short.ReadAll(); err != nil || again.Rows() != rows+1 {
		t.Error(err)
	}
	short.Close()
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	long := text.String() + strings.Replace(text.String(), "id", "x", 1)
	r, err := OpenTable([]string{"-"}, csv.Options{Format: "csv", Stdin: strings.NewReader(long)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadAll(); !fault.Is(err, "MIXED_TYPES") ||
		!strings.Contains(err.Error(), `standard input, line 60002, column "id": found "x", but the cells before it `+
			`are integers; standard input cannot be read twice; save it to a file`) {
		t.Error(err)
	}
}

func TestTableFaults(t *testing.T) {
	for name, c := range map[string]struct{ text, reason, says string }{
		"nothing": {"", "EMPTY_DATA", "the file is empty"},
		"blank":   {"\n \n", "EMPTY_DATA", "the file is empty"},
		"header":  {"a,b\n", "EMPTY_DATA", "a header, but no rows"},
		"short": {"a,b\n1,2\n3\n", "RAGGED_ROWS",
			`t.csv, line 3: the line has 1 cell, but other lines have 2, up to column "b"`},
		"infinite": {"a\n1\n1e999\n", "NOT_FINITE", `line 3, column "a": "1e999" is not a finite number`},
		"note":     {"a,b\n1,2\nx,y,z\n3,4\n", "RAGGED_ROWS", `t.csv, line 3: the line has 3 cells`},
		"notes": {"a,b\n1,2\n" + strings.Repeat("x,y,z\n", 30), "RAGGED_ROWS",
			`t.csv, line 3: the line has 3 cells`},
		"ragged": {"a,b\n1,2\n3,4,5\n", "RAGGED_ROWS",
			`t.csv, line 3: the line has 3 cells, but other lines have 2, up to column "b"`},
		"unclosed": {"a,b\n1,\"x\n2,y\n", "UNCLOSED_QUOTE", `line 2, column "b": a quoted cell is not closed`},
		"after":    {"a,b\n1,\"x\"y\n", "UNCLOSED_QUOTE", `line 2, column "b": there is text after a quoted cell`},
		"binary":   {"a,b\n1,\x00\x01\n", "NOT_A_TEXT", "line 2 has a zero byte"},
		"long":     {"a,b\n1," + strings.Repeat("x", table.MaxTextBytes+1) + "\n", "BAD_TEXT", `column "b"`},
		"wide": {strings.Repeat("x,", table.MaxColumns) + "x\n1\n", "TOO_MANY_COLUMNS",
			"t.csv, line 1: the line has more than 16384 cells"},
	} {
		if _, _, err := readText(t, "t.csv", c.text, csv.Options{}); !fault.Is(err, c.reason) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := OpenTable([]string{"gone.csv"}, csv.Options{}); !fault.Is(err, "FILE_NOT_READABLE") {
		t.Error(err)
	}
	if _, _, err := readText(t, "x.xyz", "a\n1\n", csv.Options{}); !fault.Is(err, "UNKNOWN_FORMAT") {
		t.Error(err)
	}
}

// A binary file is recognized whatever its name, and the error says what to do.
func TestBinaryFilesNamedCSV(t *testing.T) {
	noise := func(seed uint64) string { // as in compressed data, without zero bytes
		random := rand.New(rand.NewPCG(seed, 0))
		text := make([]byte, 400)
		for at := range text {
			text[at] = byte(1 + random.IntN(255))
		}
		return string(text)
	}
	tar := "data.csv" + strings.Repeat("\x00", 249) + "ustar\x00" + strings.Repeat("\x00", 300)
	twice := gzipped(gzipped("a,b\n1,2\n"))
	for name, c := range map[string]struct{ text, reason, says string }{
		"picture": {"GIF89a" + noise(1), "UNKNOWN_FORMAT", "t.csv: this is a picture"},
		"pickle":  {"\x80\x05\x95" + noise(2), "UNKNOWN_FORMAT", "t.csv: this is a Python pickle"},
		"lz4":     {"\x04\x22\x4D\x18" + noise(3), "UNKNOWN_FORMAT", "t.csv: this is an LZ4 file"},
		"tar":     {tar, "UNKNOWN_FORMAT", "t.csv: this is a tar archive, which Cleave does not read; unpack it first"},
		"tar.gz":  {gzipped(tar), "UNKNOWN_FORMAT", "this is a tar archive"},
		"twice":   {twice, "UNKNOWN_FORMAT", "this is a file that is compressed twice"},
		"bitmap": {"BM" + noise(4), "NOT_A_TEXT",
			"control characters, so this is not a text file; export its table as CSV"},
		"sound": {"RIFF" + noise(5), "NOT_A_TEXT", "control characters, so this is not a text file"},
		"program": {"\x7fELF\x02\x01\x01\x00" + noise(6), "NOT_A_TEXT",
			"line 1 has a zero byte, so this is not a text file"},
	} {
		if _, _, err := readText(t, "t.csv", c.text, csv.Options{}); !fault.Is(err, c.reason) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// Hive separates cells and lists by control characters.
	got, _, err := readText(t, "t.csv", "caf\xe9\x01a\x02b\x011\nth\xe9\x01c\x02d\x012\n", csv.Options{Delimiter: 1})
	if err != nil || len(got.Columns) != 3 || got.Columns[0].Texts[0] != "café" {
		t.Errorf("Hive: %v, %v", got, err)
	}
}

// Lines are right also after cells of several lines.
func TestLinesOfTables(t *testing.T) {
	got, _, err := readText(t, "t.csv", "a,b\n\"x\ny\nz\",1\nu,2\n\"v\nw\",3\nq,4\n", csv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for row, want := range []string{"on line 2", "on line 5", "on line 6", "on line 8"} {
		if got.Place(row) != want {
			t.Errorf("row %d is %s", row, got.Place(row))
		}
	}
}

// Numbers are those that the reader of points finds, bit for bit, however blocks are cut.
func TestTablesOfNumbersAreThePoints(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, columns := range []int{1, 3, 40} {
		var text bytes.Buffer
		for range 3000 / columns * 20 {
			for column := range columns {
				if column > 0 {
					text.WriteByte(',')
				}
				switch random.IntN(6) {
				case 0:
					fmt.Fprintf(&text, "%d", random.IntN(2000)-1000)
				case 1:
					fmt.Fprintf(&text, "%v", random.NormFloat64())
				case 2:
					fmt.Fprintf(&text, " %.3f ", random.NormFloat64())
				case 3:
					fmt.Fprintf(&text, "%e", math.Float64frombits(random.Uint64()>>2))
				case 4:
					text.WriteString("-0")
				default:
					fmt.Fprintf(&text, "\"%d\"", random.Int64())
				}
			}
			text.WriteString("\n")
		}
		points, _, err := ReadPoints(bytes.NewReader(text.Bytes()), "t.csv")
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := readText(t, "t.csv", text.String(), csv.Options{})
		if err != nil || got.Rows() != points.N || len(got.Columns) != points.D {
			t.Fatal(err)
		}
		for at := range got.Columns {
			c := &got.Columns[at]
			for row := range points.N {
				v := points.Row(row)[at]
				if c.Type == table.Integer && float64(c.Integers[row]) != v ||
					c.Type == table.Number && math.Float64bits(c.Numbers[row]) != math.Float64bits(v) {
					t.Fatalf("row %d, column %d: got %s, want %v", row, at, c.CellText(row), v)
				}
			}
		}
	}
}

func BenchmarkReadTable(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, cell := range map[string]string{"Short": "%.3f", "Long": "%v"} {
		var text bytes.Buffer
		for range 50_000 {
			for column := range 16 {
				if column > 0 {
					text.WriteByte(',')
				}
				fmt.Fprintf(&text, cell, random.NormFloat64())
			}
			text.WriteByte('\n')
		}
		path := filepath.Join(b.TempDir(), "t.csv")
		if err := os.WriteFile(path, text.Bytes(), 0o666); err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				r, err := OpenTable([]string{path}, csv.Options{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := r.ReadAll(); err != nil {
					b.Fatal(err)
				}
				r.Close()
			}
		})
		b.Run(name+"/Points", func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				if _, _, err := LoadPoints(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A column is found by its name before another by its number, as in tables of pandas, whose columns are called 0, 1, 2.
func TestColumnsCalledByNumbers(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for _, name := range []string{"a.csv", "b.csv"} {
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(files[len(files)-1], []byte("0,1,2\n5,x,7\n6,y,8\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []csv.Options{{Header: "yes"}, {Header: "yes", Texts: []string{"1"}}} {
		for count := 1; count <= len(files); count++ {
			r, err := OpenTable(files[:count], o)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got, err := r.ReadAll()
			if err != nil || got.Rows() != 2*count || got.Columns[0].Type != table.Integer ||
				got.Columns[1].Type != table.Text || got.Columns[2].Type != table.Integer {
				t.Errorf("%d files, texts %q: %+v, %v", count, o.Texts, got, err)
			}
		}
	}
	ignored := (&csv.Options{Ignore: []string{"2", " X"}}).Ignores([]string{"1", "0", "2", "x"})
	if !slices.Equal(ignored, []bool{false, false, true, true}) {
		t.Error(ignored)
	}
}
