package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
)

// visitors is a table with ids, missing values, categories and some known classes.
func visitors() string {
	var b strings.Builder
	b.WriteString("name,height,visits,channel,kind\n")
	for i := range 60 {
		kind := []string{"short", "tall"}[i%2]
		height := ""
		if i%15 != 7 {
			height = fmt.Sprint(150 + 40*(i%2) + i%7)
		}
		if i%3 == 0 {
			kind = ""
		}
		fmt.Fprintf(&b, "p%02d,%s,%d,%s,%s\n", i, height, i%5, []string{"app", "shop", "phone"}[i%3], kind)
	}
	return b.String()
}

// A kernel matrix has no columns that rows could be compared by.
func TestReportOfAKernelMatrix(t *testing.T) {
	t.Chdir(t.TempDir())
	var b strings.Builder
	for i := range 20 {
		for j := range 20 {
			fmt.Fprintf(&b, "%d,", 1+(1-i%2*2)*(1-j%2*2)*50+i*j)
		}
		b.WriteString("0\n")
	}
	clitest.Write(t, "k.csv", strings.ReplaceAll(b.String(), ",0\n", "\n"))
	succeed(t, "run --kernel-matrix k.csv --k 2 --quiet --out o")
	const by = "compared by the leading components of the kernel matrix"
	if page := clitest.Read(t, "o/report.html"); !strings.Contains(page, "20 rows, "+by+", fall into 2 clusters") ||
		strings.Contains(page, "their columns") {
		t.Error("the page does not say what rows were compared by")
	}
	if text := succeed(t, "explain o"); !strings.Contains(strings.Join(strings.Fields(text), " "), by) {
		t.Errorf("not said:\n%s", text)
	}
}

// The page that run writes is made again from its folder, byte for byte, with what the run has recorded.
func TestReportOfAFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate gaussians --n 90 --d 3 --k 3 --constraints 60 --seed 2 --out g")
	succeed(t, "generate blocks --n 60 --k 2 --constraints 20 --seed 2 --out b")
	clitest.Write(t, "people.csv", visitors())
	clitest.Write(t, "words.svm", "0 1:2 3:1\n0 1:1 3:2\n0 2:3 4:1\n0 2:1 4:1\n")
	for name, run := range map[string]string{
		"vector": "--data g/data.csv --k 3 --algorithm mpc-kmeans --constraints g/constraints.csv --truth " +
			"g/truth.csv --restarts 3",
		"kernel":   "--data g/data.csv --k 3 --algorithm kernel-kmeans --kernel gaussian",
		"spectral": "--data g/data.csv --k 3 --algorithm spectral",
		"graph":    "--graph b/edges.csv --k 2 --algorithm kernel-kmeans --constraints b/constraints.csv",
		"auto":     "--data g/data.csv --k 3 --constraints g/constraints.csv",
		"range":    "--data g/data.csv --k 2..4 --algorithm kmeans",
		"table":    "--data people.csv --k 2 --label-column kind",
		"dropped":  "--data people.csv --k 2 --label-column kind --missing drop",
		"sparse":   "--data words.svm --k 2 --algorithm kmeans",
		"server":   "--data g/data.csv --k 3 --algorithm kmeans --insecure --server " + startServe(t, ""),
	} {
		succeed(t, "run "+run+" --quiet --out o")
		before := clitest.Read(t, "o/report.html")
		r := invoke(t, "report o --out again.html")
		if again := clitest.Read(t, "again.html"); r.stdout != "again.html\n" || r.stderr != "" || again != before {
			t.Errorf("%s: %+v, and the page that is made again is another:\n%s", name, r,
				firstDifference(before, again))
		}
	}
	succeed(t, "run --data people.csv --k 2 --ignore kind --quiet --out o")
	clitest.Write(t, "people.csv", "x,y\n1,2\n")
	r := invoke(t, "report o")
	if page := clitest.Read(t, "o/report.html"); r.code != 0 || !strings.Contains(r.stderr, "people.csv has changed") ||
		!strings.Contains(r.stderr, "without the data") || !strings.Contains(page, "Repeat it") {
		t.Errorf("without the data: %+v", r)
	}
}

// firstDifference shows where two texts part.
func firstDifference(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	from := max(0, at-100)
	return fmt.Sprintf("%.300s\ninstead of\n%.300s", b[min(from, len(b)):], a[min(from, len(a)):])
}

// The files that flags name show the same, with the classes that labels.csv has.
func TestReportOfAFolderWithFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate gaussians --n 90 --d 3 --k 3 --constraints 60 --seed 2 --out g")
	clitest.Write(t, "people.csv", visitors())
	const tables = "--data g/data.csv --constraints g/constraints.csv --truth g/truth.csv"
	for options, files := range map[string]string{
		"--k 3 --algorithm pc-kmeans":              tables,
		"--k 2 --label-column kind --missing drop": "--data people.csv",
		"--k 2 --label-column kind":                "--data people.csv",
	} {
		succeed(t, "run "+files+" "+options+" --quiet --out o")
		before := clitest.Read(t, "o/report.html")
		succeed(t, "report o --out again.html "+files)
		again := clitest.Read(t, "again.html")
		for _, part := range []string{"clusters", "sizes", "profiles", "rows", "separation", "confidence", "truth"} {
			if had, has := sectionOf(before, part), sectionOf(again, part); had != has {
				t.Errorf("%s: the section %s is another:\n%s", options, part, firstDifference(had, has))
			}
		}
		if strings.Contains(files, "people") &&
			strings.Count(sectionOf(again, "profiles"), `<bdi class="class">tall</bdi>`) == 0 {
			t.Errorf("%s: no profile has the class of its cluster", options)
		}
	}
}

// sectionOf is a section of a page.
func sectionOf(page, id string) string {
	_, rest, _ := strings.Cut(page, `<h2 id="`+id+`"`)
	section, _, _ := strings.Cut(rest, "</section>")
	return section
}

// So it is for a table: rows and columns go by their names, clusters by their classes.
func TestReportOfAJobOnATable(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.Write(t, "people.csv", strings.NewReplacer("p00,150,0", "p00,150,90000", "p01,191,1", "p01,191,-90000").
		Replace(visitors())) // one column decides
	address := startServe(t, "--workers 2 --data-dir state")
	for _, missing := range []string{"auto", "drop"} {
		job := "--data people.csv --k 2 --label-column kind --algorithm constrained-kmeans --missing " + missing
		succeed(t, "run "+job+" --quiet --out o")
		id := strings.TrimSpace(succeed(t, "submit --wait --quiet "+job+" --server "+address))
		succeed(t, "report "+id+" --data people.csv --server "+address)
		before := clitest.Read(t, "o/report.html")
		page := clitest.Read(t, "report.html")
		for _, part := range []string{"clusters", "sizes", "profiles", "rows"} {
			if had, has := sectionOf(before, part), sectionOf(page, part); had == "" || had != has ||
				!strings.Contains(has, "tall") {
				t.Errorf("missing values %s: the section %s is another:\n%s", missing, part, firstDifference(had, has))
			}
		}
		succeed(t, "result "+id+" --data people.csv --quiet --out again --server "+address)
		if had, has := clitest.Read(t, "o/labels.csv"), clitest.Read(t, "again/labels.csv"); had != has {
			t.Errorf("missing values %s: other labels:\n%s", missing, firstDifference(had, has))
		}
		for _, line := range []string{"explain ", "result ", "report --out bare.html "} {
			text := succeed(t, line+id+" --server "+address)
			if strings.HasPrefix(line, "report") {
				text = strings.ReplaceAll(clitest.Read(t, "bare.html"), "&#34;", `"`)
			}
			if !strings.Contains(strings.ToLower(text), `column "visits" has`) {
				t.Errorf("missing values %s: %s does not name the column that decides:\n%.300s", missing, line, text)
			}
		}
	}
}

// The page of a job has what the page of the same run has.
func TestReportOfAJob(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate gaussians --n 60 --d 3 --k 2 --constraints 20 --seed 2 --out g")
	address := startServe(t, "--workers 2 --data-dir state")
	const job = "--data g/data.csv --k 2 --algorithm pc-kmeans --constraints g/constraints.csv"
	succeed(t, "run "+job+" --quiet --out o")
	id := strings.TrimSpace(succeed(t, "submit --wait --quiet "+job+" --server "+address))
	succeed(t, "report "+id+" --data g/data.csv --server "+address)
	before := clitest.Read(t, "o/report.html")
	page := clitest.Read(t, "report.html")
	for _, part := range []string{"asked", "clusters", "sizes", "profiles", "rows", "separation", "constraints"} {
		if had, has := sectionOf(before, part), sectionOf(page, part); had == "" || had != has {
			t.Errorf("the section %s is another:\n%.400s\ninstead of\n%.400s", part, has, had)
		}
	}
	if r := invoke(t, "report "+id+" --out bare.html --server "+address); r.code != 0 ||
		!strings.Contains(clitest.Read(t, "bare.html"), "constraints are satisfied") {
		t.Errorf("without the data: %+v", r)
	}
}

func TestReportOfDroppedRows(t *testing.T) {
	clitest.Folder(t, map[string]string{"d.csv": "x,y\n0,0\n,\n0,1\n9,9\n9,8\n",
		"c.csv": "i,j,kind\n0,2,cannot\n0,1,must\n3,4,must\n"})
	succeed(t, "run --data d.csv --k 2 --algorithm pc-kmeans --missing drop --quiet --out o")
	succeed(t, "report o --data d.csv --constraints c.csv")
	page := clitest.Read(t, "o/report.html")
	for _, want := range []string{"<title>row 4, cluster ", "<title>row 2, cluster "} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if strings.Contains(page, "<title>row 1, cluster ") {
		t.Error("a row that was dropped is drawn")
	}
}

func TestReportRefusals(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate gaussians --n 30 --d 2 --k 2 --out g")
	succeed(t, "generate gaussians --n 31 --d 2 --k 2 --out other")
	succeed(t, "run --data g/data.csv --k 2 --algorithm kmeans --quiet --out o")
	for args, want := range map[string]string{
		"report":                                  "the job or folder is missing",
		"report o --score-on on.csv":              "--score-on requires --truth",
		"report g":                                "result.json",
		"report o --data other/data.csv":          "the data has 31 rows; the run in o had 30",
		"report o --truth other/truth.csv":        "outside 0..29",
		"report o --out missing/folder/page.html": "missing",
		"report nowhere --server 127.0.0.1:1 --constraints g/constraints.csv": "--constraints requires a folder;",
	} {
		if r := invoke(t, args); r.code == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit code %d, %q without %q", args, r.code, r.stderr, want)
		}
	}
	clitest.Write(t, "o/labels.csv", "index,label\n0,1\n")
	if r := invoke(t, "report o"); r.code != 2 || !strings.Contains(r.stderr, "labels for 1 row") {
		t.Errorf("labels that are too few: %+v", r)
	}
}
