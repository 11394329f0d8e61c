package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
)

// Files that people try first. Each is refused by one sentence that says what is wrong, where, and what helps; nothing
// is left behind.
func TestStumbles(t *testing.T) {
	const base = "name,x,y,team\np0,0.5,3,red\np1,0.7,4,blue\np2,8.5,9,red\np3,8.7,8,blue\n"
	clitest.Folder(t, map[string]string{
		"ok.csv": base, "mixed.csv": strings.Replace(base, "8.5", "about 8", 1), "ragged.csv": base + "p4,1,2,red,5\n",
		"empty.csv": "", "header.csv": "x,y\n",
		"trunc.csv.gz": "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x4b",
		"zeros.csv":    strings.Replace(base, "p2", "p\x00", 1),
		"quote.csv":    strings.Replace(base, "p1", `"p1`, 1), "after.csv": strings.Replace(base, "p1", `"p"1`, 1),
		"wide.csv":   strings.Repeat("c,", 16384) + "c\n" + strings.Repeat("1,", 16384) + "1\n",
		"points.csv": "id;x\na;1,5\nb;2.5\nc;3,5\n",
		"days.csv":   "id,day\na,2024-05-01\nb,2024-05-01\nc,2024-05-02\nd,2024-05-02\n",
		"book.xlsx":  "PK\x03\x04\x14\x00[Content_Types].xml", "old.xls": "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
		"x.json": `[{"x":1}]`, "paper.pdf": "%PDF-1.4\n", "page.csv": "<!DOCTYPE html>\n<html>\n",
		"base.db": "SQLite format 3\x00", "x.pkl": "\x80\x04\x95", "x.tar.gz": "a", "x.xz": "\xFD7zXZ\x00",
		"cut.parquet": "PAR1abc", "cut.npz": "PK\x03\x04abc", "cut.arrow": "ARROW1\x00\x00abc",
		"mixed/a.csv": base, "mixed/notes.md": "# notes\n", "parts/a.csv": "x,y\n1,2\n", "parts/b.csv": "x,z\n1,2\n",
		"pairs.csv": "i,j,kind\np1,p33,must\n", "maybe.csv": "i;j;kind\np1;p2;maybe\n", "two.csv": "p1,p2\n",
		"seeds.csv": "id,label\np9,red\n",
		"edges.csv": "src,dst,weight\n0,1,1\n1,2,heavy\n", "edge.csv": "src,dst\n0,1\n1\n",
	})
	if err := os.Mkdir("nothing", 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	before := names(t, ".")
	for _, c := range []struct{ args, want string }{
		{"--data mixed.csv", `mixed.csv, line 4, column "x": "about 8" is not a number, unlike most cells of the ` +
			`column; correct it, or use --categorical x`},
		{"--data ragged.csv", `ragged.csv, line 6: the line has 5 cells, but other lines have 4, up to column "team"`},
		{"--data empty.csv", "empty.csv: the file is empty"},
		{"--data header.csv", "header.csv: the file has a header, but no rows of data"},
		{"--data trunc.csv.gz", "trunc.csv.gz: the file is damaged or cut short (unexpected EOF); create or " +
			"download it again"},
		{"--data zeros.csv", "zeros.csv: line 4 has a zero byte"},
		{"--data quote.csv", `quote.csv, line 3, column "name": a quoted cell is not closed; write a quote inside a ` +
			`cell twice: "\"p1,0.7,4,blue"`},
		{"--data after.csv", `after.csv, line 3, column "name": there is text after a quoted cell`},
		{"--data wide.csv", "wide.csv, line 1: the line has more than 16384 cells"},
		{"--data points.csv", `points.csv, line 3, column "x": "2.5" mixes decimal points and commas`},
		{"--data days.csv", `days.csv: no column is left to cluster by (column "id" is the row id, column "day" is ` +
			`left out: it holds dates`},
		{"--data book.xlsx", "book.xlsx: this is an Excel workbook, which Cleave does not read; open it and save the " +
			"sheet as CSV"},
		{"--data old.xls", "old.xls: this is an old Excel workbook"},
		{"--data x.json", "x.json: this is JSON, which Cleave does not read; convert it to CSV or Parquet"},
		{"--data paper.pdf", "paper.pdf: this is a PDF document"},
		{"--data page.csv", "page.csv: this is a web page, which Cleave does not read; if it was downloaded, the " +
			"download may have failed"},
		{"--data base.db", "base.db: this is an SQLite database, which Cleave does not read; export a table with " +
			"sqlite3 -header -csv"},
		{"--data x.pkl", "x.pkl: this is a Python pickle, which Cleave does not read; save arrays with numpy.save"},
		{"--data x.tar.gz", "x.tar.gz: this is a tar archive, which Cleave does not read; unpack it first"},
		{"--data x.xz", "x.xz: the file is compressed with xz, which is not supported; decompress it"},
		{"--data cut.parquet", "cut.parquet: the Parquet file is damaged or cut short"},
		{"--data cut.npz", "cut.npz: the file is damaged or cut short"},
		{"--data cut.arrow", "cut.arrow: "},
		{"--data mixed", "mixed/notes.md: .md is not a supported table format; use .csv, .tsv, .parquet, .arrow (the " +
			"files of a folder form one table)"},
		{"--data parts", `parts/b.csv: column 2 is "z", but in parts/a.csv it is "y"`},
		{"--data nothing", "nothing: the folder contains no files"},
		{"--data okk.csv", "okk.csv: the file cannot be read: no such file or directory; did you mean ok.csv?"},
		{"--data gone/ok.csv", "gone/ok.csv: the file cannot be read: no such file or directory; there is " +
			"no folder gone"},
		{"--data= ", "--data names no file"},
		{"--data ok.csv --label-column Tema", `ok.csv: the table has no column "Tema"; did you mean "team"?`},
		{"--data ok.csv --ignore name,x,y,team", "ok.csv: no column is left to cluster by"},
		{"--data ok.csv --delimiter ;", "ok.csv: no column is left to cluster by (column \"name,x,y,team\" is the " +
			"row id); the table has a single column; set --delimiter"},
		{"--data ok.csv --id-column team",
			`ok.csv, line 4, column "team": the id "red" is used a second time; the first is on line 2`},
		{"--data ok.csv --constraints pairs.csv",
			`pairs.csv, line 2, column "j": the data has no row with the id "p33"; did you mean "p3"?`},
		{"--data ok.csv --constraints maybe.csv",
			`maybe.csv, line 2, column "kind": the kind is "maybe"; use must or cannot`},
		{"--data ok.csv --constraints two.csv",
			`two.csv, line 1: the table has an unknown column "p1"; the columns are i,j,kind[,weight]; column names ` +
				`come from the first line`},
		{"--data ok.csv --constraints book.xlsx", "book.xlsx: this is an Excel workbook"},
		{"--data ok.csv --seeds seeds.csv", `seeds.csv, line 2, column "id": the data has no row with the id "p9"`},
		{"--graph edges.csv", `edges.csv, line 3: the weight is "heavy", which is not a number`},
		{"--graph edge.csv", "edge.csv, line 3: the line has 1 cell; an edge has src, dst and optionally a weight"},
		{"--graph page.csv", "page.csv: this is a web page"},
		{"--kernel-matrix ok.csv", `ok.csv, line 2: row 0, column "name" is "p0", which is not a number`},
	} {
		r := invoke(t, "run --quiet --k 2 --out o "+c.args)
		if r.code != 2 || !strings.Contains(r.stderr, c.want) || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
			t.Errorf("%s: exit code %d, %q; want %q", c.args, r.code, r.stderr, c.want)
		}
		if after := names(t, "."); !slices.Equal(after, before) {
			t.Errorf("%s left behind %q", c.args, after)
		}
	}
	if left := names(t, os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("temporary files were left behind: %q", left)
	}
}

// names are the files of a folder.
func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, entry := range entries {
		list = append(list, entry.Name())
	}
	return list
}

// What is only unusual is read, and what was made of it is said.
func TestUnusualTablesAreRead(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"shop.csv": "Report of May\n\nid,price,share,member,since,grade\na,\"$1,234.50\",12 " +
			"%,yes,2024-05-01,7\nb,$99.00,15 %,no,2024-05-01,\nc,\"$2,500.00\",80 " +
			"%,yes,2024-06-01,-\nd,\"$2,600.00\",85 %,no,2024-06-01,9\n",
		"plain.csv": "id,price,share,member,grade\na,1234.5,12,1,7\nb,99,15,0,8\nc,2500,80,1,8\nd,2600,85,0,9\n",
		"pairs.csv": "0,1\n1,2\n2,0\n3,4\n4,5\n",
	})
	r := invoke(t, "run --quiet --k 2 --seed 1 --algorithm kmeans --scale zscore --missing median --out unusual "+
		"--data shop.csv")
	for _, said := range []string{
		"the table begins on line 3", `column "price" is read as numbers, without "$" and with "," between thousands`,
		`column "share" is read as numbers, without "%"`,
		`column "member" says "yes" or "no": read as 1 or 0`, `column "since" is left out: it holds dates`,
		`column "grade": 2 empty cells are filled with its median, 8`,
	} {
		if r.code != 0 || !strings.Contains(r.stderr, said) {
			t.Errorf("exit code %d, nothing says %q: %s", r.code, said, r.stderr)
		}
	}
	succeed(t, "run --quiet --k 2 --seed 1 --algorithm kmeans --scale zscore --out plain --data plain.csv")
	if unusual, plain := labelColumns(clitest.Read(t, "unusual/labels.csv")),
		labelColumns(clitest.Read(t, "plain/labels.csv")); unusual != plain {
		t.Errorf("got\n%s\nwant\n%s", unusual, plain)
	}
	if out := succeed(t, "predict --model unusual --data shop.csv"); !strings.HasPrefix(out, "id,label") ||
		strings.Count(out, "\n") != 5 {
		t.Errorf("predict: %s", out)
	}
	if r := invoke(t, "run --quiet --k 2 --data pairs.csv --algorithm kmeans"); r.code != 0 ||
		!strings.Contains(r.stderr, "if these are edges, --graph") {
		t.Errorf("exit code %d, %s", r.code, r.stderr)
	}
}

// Pairs, seeds and classes as people write them give the answer of those in the documented form, and what was guessed
// is said.
func TestPairsAndSeedsAsTheyCome(t *testing.T) {
	files := map[string]string{"t.csv": "name,x,y,kind\n", "pairs.csv": "i,j,kind\n", "bare.csv": "",
		"other.csv": "left,right,same\n", "numbers.csv": "i,j,kind\n", "seeds.csv": "id,label\n",
		"names.csv": "name,segment\n", "ones.csv": "index,label\n"}
	for row := range 24 {
		name := fmt.Sprintf("p%d", row)
		kind := []string{"ann", "bob"}[row%2]
		cell := []string{kind, strings.ToUpper(kind), "unknown", ""}[row/2%4]
		files["t.csv"] += fmt.Sprintf("%s,%d.%d,%d,%s\n", name, 20*(row%2)+row%7, row%3, row%5+9*(row%2), cell)
		if row < 10 {
			files["pairs.csv"] += fmt.Sprintf("%s,p%d,must\n%s,p%d,cannot\n", name, row+2, name, row+1)
			files["bare.csv"] += fmt.Sprintf("%s,p%d,must\n%s,p%d,cannot\n", name, row+2, name, row+1)
			files["other.csv"] += fmt.Sprintf("%s,p%d,yes\n%s,p%d,no\n", name, row+2, name, row+1)
			files["numbers.csv"] += fmt.Sprintf("%d,%d,1\n%d,%d,-1\n", row, row+2, row, row+1)
			files["seeds.csv"] += fmt.Sprintf("%s,%s\n", name, kind)
			files["names.csv"] += fmt.Sprintf("%s,%s\n", name, strings.ToUpper(kind[:1])+kind[1:])
			files["ones.csv"] += fmt.Sprintf("%d,%d\n", row, row%2+1)
		}
	}
	clitest.Folder(t, files)
	for _, c := range []struct{ option, like, says string }{
		{"--constraints bare.csv", "--constraints pairs.csv", ""},
		{"--constraints other.csv", "--constraints pairs.csv",
			`other.csv: column "left" is read as i, column "right" is read as j, column "same" is read as kind`},
		{"--constraints numbers.csv", "--constraints pairs.csv",
			"numbers.csv: its numbers are read as row numbers from 0, because none of them is an id"},
		{"--seeds names.csv", "--seeds seeds.csv",
			`names.csv: column "name" is read as index, column "segment" is read as label`},
		{"--seeds ones.csv", "--seeds seeds.csv",
			"ones.csv: its numbers are read as row numbers from 0, because none of them is an id, its labels are " +
				"read as names of classes, because clusters are numbered 0..1"},
		{"--label-column kind", "", `column "kind": the class "ANN" is read as "ann", "BOB" is read as "bob"`},
		{"--label-column kind", "", `column "kind" has 12 labels of 2 classes for 24 rows: used as seeds`},
		{"--label-column kind", "", `column "kind": in 6 cells, such as "unknown", the class is unknown`},
	} {
		const run = "run --quiet --data t.csv --k 2 "
		if c.like != "" {
			c.option, c.like = c.option+" --ignore kind", c.like+" --ignore kind"
		}
		r := invoke(t, run+c.option+" --out o")
		if r.code != 0 || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%s: exit code %d, %s", c.option, r.code, r.stderr)
			continue
		}
		if c.like == "" {
			continue
		}
		got := labelColumns(clitest.Read(t, "o/labels.csv"))
		succeed(t, run+c.like+" --out like")
		if want := labelColumns(clitest.Read(t, "like/labels.csv")); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.option, got, want)
		}
	}
}
