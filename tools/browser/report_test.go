package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// maxBytes is how large a page may be, however large the data.
const maxBytes = 2_000_000

// TestReports opens a page of each kind of data, in one browser.
func TestReports(t *testing.T) {
	chrome := browser(t)
	folder := t.TempDir()
	for _, job := range []struct {
		name, generate, run string
		change              func(t *testing.T, folder string) // the files that were generated
		sections            string                            // headings that must be there
		absent              string                            // and that must not
		tip                 string
	}{
		{
			name: "points", generate: "gaussians --n 400 --d 6 --k 4 --noise 3 --constraints 120 --seed 1",
			run:    "--data data.csv --k 4 --constraints constraints.csv --truth truth.csv",
			change: contradict,
			sections: "asked clusters sizes profiles rows separation confidence constraints truth methods objective " +
				"plan repeat notices",
			tip: "confidence",
		},
		{
			name: "graph", generate: "blocks --n 300 --k 3 --constraints 300 --seed 1",
			run:      "--graph edges.csv --k 3 --constraints constraints.csv --truth truth.csv",
			sections: "asked clusters sizes rows constraints truth repeat", absent: "profiles separation",
			tip: "vertex",
		},
		{
			name: "clusters", generate: "gaussians --n 2000 --d 4 --k 20 --noise 1 --seed 3",
			run:      "--data data.csv --k 20 --algorithm kmeans",
			sections: "asked clusters sizes profiles rows separation objective",
			absent:   "constraints truth methods notices",
			tip:      "cluster",
		},
		{
			name: "large", generate: "gaussians --n 20000 --d 8 --k 6 --noise 2 --constraints 500 --seed 4",
			run:      "--data data.csv --k 6 --algorithm pc-kmeans --constraints constraints.csv --truth truth.csv",
			sections: "clusters profiles separation constraints truth", tip: "cluster",
		},
		{
			name: "hostile", generate: "two-moons --n 200 --noise 0.1 --seed 2", change: hostileNames,
			run: "--data data.csv --k 2 --algorithm kernel-kmeans --restarts 3 --id-column 1 --label-column 6 " +
				"--name </title><script>alert(1)</script>",
			sections: "clusters profiles separation confidence constraints objective", tip: "<script>",
		},
		{
			name: "sparse", generate: "gaussians --n 300 --d 12 --k 3 --noise 1 --seed 5", change: asSparse,
			run:      "--data data.svm --k 3 --algorithm kmeans --restarts 4",
			sections: "clusters profiles rows separation confidence", tip: "cluster",
		},
		{
			name: "range", generate: "gaussians --n 200 --d 3 --k 3 --noise 1 --seed 6",
			run:      "--data data.csv --k 2..5 --algorithm kmeans",
			sections: "clusters profiles many", tip: "cluster",
		},
	} {
		t.Run(job.name, func(t *testing.T) {
			at := filepath.Join(folder, job.name)
			cleave(t, folder, "generate "+job.generate+" --out "+job.name)
			if job.change != nil {
				job.change(t, at)
			}
			cleave(t, at, "run "+job.run+" --quiet --out result")
			file := filepath.Join(at, "result", "report.html")
			if info, err := os.Stat(file); err != nil || info.Size() > maxBytes {
				t.Fatalf("%v, %v", info, err)
			}
			p := open(t, chrome, file)
			for _, id := range strings.Fields(job.sections) {
				if !eval[bool](p, fmt.Sprintf(`!!document.querySelector("section h2#%s")`, id)) {
					t.Errorf("there is no section %s", id)
				}
			}
			for _, id := range strings.Fields(job.absent) {
				if eval[bool](p, fmt.Sprintf(`!!document.getElementById("%s")`, id)) {
					t.Errorf("there is a section %s", id)
				}
			}
			p.readable()
			p.legible()
			p.explore(job.tip)
			p.shoot(job.name + "-light")
			p.scheme("dark")
			p.shoot(job.name + "-dark")
			p.scheme("light")
			if job.name == "hostile" { // its names are longer than a phone is wide
				p.fits(390)
			} else {
				p.small()
			}
			p.shoot(job.name + "-phone")
			p.fits(1300)
			p.prints(job.name)
		})
	}
	t.Run("without scripts", func(t *testing.T) {
		p := open(t, chrome, filepath.Join(folder, "points", "result", "report.html"))
		call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		p.do(chromedp.Reload())
		if n := eval[int](p, `document.querySelectorAll("#map use:not(.center) title").length`); n != 400 {
			t.Errorf("%d markers have a title", n)
		}
		if eval[bool](p, `document.querySelector(".zoom").checkVisibility()`) {
			t.Error("there are buttons that do nothing")
		}
	})
}

// contradict turns some constraints around, so that some cannot hold.
func contradict(t *testing.T, folder string) {
	path := filepath.Join(folder, "constraints.csv")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for at := 1; at < len(lines); at += 12 {
		if strings.Contains(lines[at], "must") {
			lines[at] = strings.Replace(lines[at], "must", "cannot", 1)
		} else {
			lines[at] = strings.Replace(lines[at], "cannot", "must", 1)
		}
	}
	write(t, path, strings.Join(lines, "\n"))
}

// asSparse writes the points as sparse ones, without those that are negative.
func asSparse(t *testing.T, folder string) {
	text, err := os.ReadFile(filepath.Join(folder, "data.csv"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, row := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		b.WriteString("0")
		for at, cell := range strings.Split(row, ",") {
			if !strings.HasPrefix(cell, "-") {
				fmt.Fprintf(&b, " %d:%s", at+1, cell)
			}
		}
		b.WriteString("\n")
	}
	write(t, filepath.Join(folder, "data.svm"), b.String())
}

// hostileNames calls rows, columns and classes what strangers may call them.
func hostileNames(t *testing.T, folder string) {
	path := filepath.Join(folder, "data.csv")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(string(text), "\n")
	var b strings.Builder
	b.WriteString(
		`id,"</script><script>alert(1)</script>","""><img src=http://127.0.0.1:1/x onerror=alert(1)>","` +
			"שלום עולם \u202e dlrow" + `","` + strings.Repeat("very long name ", 12) + "\",class\n")
	for at, row := range strings.Split(strings.TrimSpace(rows), "\n") {
		x, y, _ := strings.Cut(row, ",")
		class := ""
		if v, err := strconv.ParseFloat(y, 64); err == nil && at%4 == 0 {
			class = []string{"<script>alert(2)</script> " + strings.Repeat("long ", 20),
				"שלום \u202e עולם"}[map[bool]int{true: 1}[v > 0.25]]
		}
		fmt.Fprintf(&b, "\"<script>alert(%d)</script> مرحبا\",%s,%s,%d,%d,%s\n", at, x, y, at%7, at%3, class)
	}
	write(t, path, b.String())
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
