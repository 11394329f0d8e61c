package cli

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
)

// New rows come in a table as the first one did: with years for a header, and with truths in other capitals.
func TestNewRowsAsTheFirst(t *testing.T) {
	const rows = "1,9,TRUE\n2,8,TRUE\n51,60,FALSE\n52,61,FALSE\n"
	clitest.Folder(t, map[string]string{
		"years.csv": "2019,2020,2021\n1,9,4\n2,8,5\n51,60,40\n52,61,41\n",
		"mixed.csv": "height,2020,2021\n1,9,4\n2,8,5\n51,60,40\n52,61,41\n",
		"old.csv":   "x,y,member\n" + rows,
		"new.csv":   "x,y,member\n" + strings.NewReplacer("TRUE", "True", "FALSE", "false").Replace(rows),
	})
	for _, how := range []string{"--algorithm kmeans --scale zscore --header yes --data years.csv",
		"--algorithm mpc-kmeans --data mixed.csv", "--algorithm kernel-kmeans --rho 9 --landmarks 3 --data mixed.csv"} {
		data := how[strings.LastIndex(how, " ")+1:]
		succeed(t, "run --quiet --k 2 --out found "+how)
		if out := succeed(t, "predict --model found --data "+data); strings.Count(out, "\n") != 5 {
			t.Errorf("%s: the header is a row: %s", how, out)
		}
	}
	succeed(t, "run --quiet --k 2 --algorithm kmeans --data mixed.csv --out mixed")
	succeed(t, "run --quiet --k 2 --algorithm kmeans --data mixed.csv --init centroids:mixed/centroids.csv")
	succeed(t, "run --quiet --k 2 --algorithm kmeans --data old.csv --out members")
	old := succeed(t, "predict --model members --data old.csv")
	r := invoke(t, "predict --model members --data new.csv")
	if r.stdout != old || strings.Contains(r.stderr, "category") {
		t.Errorf("got %s (%s), want %s", r.stdout, r.stderr, old)
	}
}

// What a table without a header or with unusual separators needed flags for, new rows need none for: the model knows
// its columns.
func TestNewRowsDivided(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"named.csv":  "a,1,2\nb,1,3\nc,50,51\nd,52,50\n",
		"years.csv":  "a,2019,2020\nb,2018,2019\nc,2050,2051\nd,2052,2050\n",
		"tildes.csv": "x~y\n1~9\n2~8\n51~60\n52~61\n", "spaces.csv": "1 9\n2 8\n51 60\n52 61\n", "row.csv": "1 9\n",
		"other.csv": "1~9\n2~8\n51~60\n52~61\n", "z.npy": "",
	})
	for _, c := range []struct{ run, predict string }{
		{"--data named.csv", "--data named.csv"},
		{"--data named.csv --header no", "--data named.csv --header no --delimiter comma"},
		{"--data years.csv --header no", "--data years.csv"},
		{"--data tildes.csv --delimiter ~", "--data tildes.csv"},
		{"--data tildes.csv --delimiter ~", "--data other.csv --delimiter ~ --header no"},
		{"--algorithm kernel-kmeans --rho 9 --data tildes.csv --delimiter ~",
			"--trained-on tildes.csv --data other.csv --delimiter ~ --header auto"},
	} {
		if !strings.Contains(c.run, "--algorithm") {
			c.run = "--algorithm kmeans " + c.run
		}
		succeed(t, "run --quiet --k 2 --out found "+c.run)
		r := invoke(t, "predict --model found "+c.predict)
		if r.code != 0 || strings.Count(r.stdout, "\n") != 5 || strings.Contains(r.stderr, "header") {
			t.Errorf("%s: got %s%s", c.predict, r.stdout, r.stderr)
		}
	}
	succeed(t, "run --quiet --k 2 --algorithm kmeans --out spaces --data spaces.csv")
	if out := succeed(t, "predict --model spaces --data row.csv"); strings.Count(out, "\n") != 2 {
		t.Errorf("a single row: got %s", out)
	}
	for args, want := range map[string]string{
		"--data other.csv --delimiter xx": `--delimiter "xx" cannot separate cells`,
		"--data z.npy --header yes":       "--header requires a table as --data",
	} {
		if r := invoke(t, "predict --model found --trained-on tildes.csv "+args); r.code == 0 ||
			!strings.Contains(r.stderr, want) {
			t.Errorf("%s: got %s, want %s", args, r.stderr, want)
		}
	}
}

// New rows are read as those of the model were, also where they alone would leave open what is a thousand.
func TestNewRowsHaveTheSameDecimals(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"commas.csv": "x;y\n1.234,50;7\n1.250,25;8\n9.000,75;9\n9.100,50;6\n",
		"points.csv": "x;y\n1234.5;7\n1250.25;8\n9000.75;9\n9100.5;6\n",
		"doubt.csv":  "x;y\n1.234;7\n1.250;8\n9.000;9\n9.100;6\n",
		"point.csv":  "x;y\n1.234;1.234\n", "comma.csv": "x;y\n1,234;7\n",
		"percent.csv": "x;y\n5 %;7\n6 %;8\n50 %;9\n60 %;6\n", "percents.csv": "x;y\n5,5 %;7\n",
		"otherwise.csv": "x;y\n1.234;7\n12.5;8\n", "exact.csv": "x;y\n1.234,5;7\n",
		"parts/a.csv": "x;y\n1.234,50;7\n1.250,25;8\n", "parts/b.csv": "x;y\n9.000;9\n9.100;6\n",
	})
	for _, c := range []struct{ trained, fresh, want string }{
		{"commas.csv", "point.csv", ",1.504372390625e+06,"}, // x is 1234, y is 1234
		{"points.csv", "comma.csv", ",70.390625,"},          // x is 1234
		{"doubt.csv", "point.csv", ""},                      // x is 1.234, as it was
		{"percent.csv", "percents.csv", ",0.25,"},           // nothing told what decimals are
		{"parts", "parts/b.csv", ",2502.25,"},
	} {
		succeed(t, "run --quiet --k 2 --scale none --algorithm kmeans --out found --data "+c.trained)
		r := invoke(t, "predict --model found --data "+c.fresh)
		if r.code != 0 || !strings.Contains(r.stdout, c.want) || strings.Contains(r.stderr, "1.234 is read") {
			t.Errorf("%s of %s: got %s%s", c.fresh, c.trained, r.stdout, r.stderr)
		}
	}
	// Rows that leave nothing open are read as they are written, and that is said.
	for _, c := range []struct{ trained, fresh, want, said string }{
		{"commas.csv", "otherwise.csv", ",1.512592765625e+06,",
			`the decimal separator is ".", but in the model's data it was ","`}, // x is 1.234 and 12.5
		{"doubt.csv", "exact.csv", ",1.50172795250",
			`the decimal separator is ",", but in the model's data it was "."`}, // x is 1234.5
	} {
		succeed(t, "run --quiet --k 2 --scale none --algorithm kmeans --out found --data "+c.trained)
		if r := invoke(t, "predict --model found --data "+c.fresh); r.code != 0 ||
			!strings.Contains(r.stdout, c.want) || !strings.Contains(r.stderr, c.said) {
			t.Errorf("%s of %s: got %s%s", c.fresh, c.trained, r.stdout, r.stderr)
		}
	}
}

func TestNewRowsThatAreWrong(t *testing.T) {
	clitest.Folder(t, map[string]string{"old.csv": "a,b\n1,2\n2,1\n50,51\n52,50\n",
		"word.csv": "a,b\n1,2\nmany,1\nmore,2\n", "others.csv": "x,y\n1,2\n"})
	succeed(t, "run --quiet --k 2 --algorithm kmeans --data old.csv --out found")
	for data, want := range map[string]string{
		"word.csv":   `word.csv, line 3, column "a": "many" is not a number`,
		"others.csv": `others.csv: the table has no column "a", which the model needs; add it; its cells may be empty`,
	} {
		if r := invoke(t, "predict --model found --data "+data); r.code != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: got %s", data, r.stderr)
		}
	}
}
