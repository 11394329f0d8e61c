package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
)

// pipe runs a command line with something on standard input.
func pipe(t *testing.T, input, line string) invocation {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Main(t.Context(), strings.Fields(line), strings.NewReader(input), &stdout, &stderr, func(string) string {
		return ""
	})
	return invocation{code, stdout.String(), stderr.String()}
}

// Data, and what is known about them, give the same answer from standard input as from files.
func TestStandardInput(t *testing.T) {
	files := map[string]string{
		"people.csv": people, "pairs.csv": "i,j,kind\nann,dan,cannot\nann,bob,must\n",
		"seeds.csv":   "id,class\nbob,red\neve,blue\n",
		"truth.csv":   "id,label\nfay,blue\ndan,blue\neve,blue\nann,red\nbob,red\ncat,red\n",
		"weights.csv": "id,weight\nann,2\n",
		"friends.csv": "src,dst\nann,bob\nbob,cat\ncat,ann\ndan,eve\neve,fay\nfay,dan\ncat,dan\n",
		"edges.csv":   "0,1\n1,2\n2,0\n3,4\n4,5\n5,3\n2,3\n", "edges.txt": "0 1\n1 2\n2 0\n3 4\n4 5\n5 3\n2 3\n",
		"ring.graph": "4 4\n2 4\n1 3\n2 4\n1 3\n", "kernel.csv": "1,0.9,0\n0.9,1,0\n0,0,1\n",
	}
	clitest.Folder(t, files)
	for _, c := range []struct{ args, file string }{
		{"--data FILE --ignore team --algorithm kmeans", "people.csv"},
		{"--data people.csv --ignore team --algorithm pc-kmeans --constraints FILE", "pairs.csv"},
		{"--data people.csv --ignore team --algorithm seeded-kmeans --seeds FILE", "seeds.csv"},
		{"--data people.csv --ignore team --algorithm kmeans --truth FILE", "truth.csv"},
		{"--data people.csv --ignore team --algorithm kernel-kmeans --weights FILE", "weights.csv"},
		{"--graph FILE", "friends.csv"},
		{"--graph FILE", "edges.csv"},
		{"--graph FILE", "edges.txt"},
		{"--graph FILE --format graph", "ring.graph"},
		{"--kernel-matrix FILE --format csv", "kernel.csv"},
	} {
		run := "run --quiet --k 2 --seed 1 --out "
		succeed(t, run+"file "+strings.Replace(c.args, "FILE", c.file, 1))
		if r := pipe(t, files[c.file], run+"piped "+strings.Replace(c.args, "FILE", "-", 1)); r.code != 0 {
			t.Errorf("%s: exit code %d, %s", c.args, r.code, r.stderr)
		} else if piped, file := clitest.Read(t, "piped/labels.csv"),
			clitest.Read(t, "file/labels.csv"); piped != file {
			t.Errorf("%s: %s from standard input, %s from a file", c.args, piped, file)
		}
	}
	succeed(t, "run --quiet --k 2 --algorithm kmeans --ignore team --data people.csv --out model")
	if got, want := pipe(t, people, "predict --model model --data -").stdout,
		succeed(t, "predict --model model --data people.csv"); got != want || !strings.Contains(got, "ann,") {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, command := range []string{"evaluate --labels model/labels.csv --truth ",
		"report model --data people.csv --out page.html --truth "} {
		want := succeed(t, command+"truth.csv")
		if r := pipe(t, files["truth.csv"], command+"-"); r.code != 0 || r.stdout != want {
			t.Errorf("%s-: exit code %d, %s%s; want %s", command, r.code, r.stdout, r.stderr, want)
		}
	}
	refused(t, "report model --data - --truth -", "standard input is one file, but --data - and --truth - both name it")
	for _, c := range []struct{ args, want string }{
		{"--data - --constraints -", "standard input is one file, but --constraints - and --data - both name it"},
		{"--data people.csv --score-on - --truth truth.csv",
			"--score-on is not read from standard input; --constraints, --data, "},
		{"--graph - --format parquet", `the format "parquet" is not supported for this input; use csv, tsv, txt`},
		{"--kernel-matrix -", "neither the name nor the first bytes identify the format; set --format"},
		{"--data people.csv --truth - --sample-constraints 3", "give --truth as a file"},
		{"--data people.csv --ignore team --constraints -", `standard input, line 1: `},
	} {
		if r := pipe(t, "x,y\n1,2\n", "run --quiet --k 2 --out o "+c.args); r.code != 2 ||
			!strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: exit code %d, %q; want %q", c.args, r.code, r.stderr, c.want)
		}
	}
}

// Rows of zeros, which a job that compares directions drops with those that have gaps, are dropped by all that reads
// its table again.
func TestRowsWithoutADirectionAreDroppedAgain(t *testing.T) {
	clitest.Folder(t, map[string]string{"z.csv": "id,a,b\nr0,1,2\nr1,2,4\nr2,0,0\nr3,5,\nr4,5,1\nr5,9,2\nr6,0,0\n"})
	address := startServe(t, "")
	const job = "--data z.csv --k 2 --algorithm kmeans --geometry spherical --missing drop"
	id := strings.TrimSpace(succeed(t, "submit --wait --quiet "+job+" --server "+address))
	succeed(t, "result "+id+" --data z.csv --out remote --quiet --server "+address)
	succeed(t, "run --quiet --out here "+job)
	here := clitest.Read(t, "here/labels.csv")
	if remote := clitest.Read(t, "remote/labels.csv"); remote != here || strings.Count(here, ",-1,") != 3 {
		t.Errorf("labels of the job:\n%s\nof a run:\n%s", remote, here)
	}
	succeed(t, "report here --data z.csv")
	for _, model := range []string{"--model here", "--job " + id + " --server " + address} {
		if out := succeed(t, "predict --data z.csv "+model); strings.Count(out, ",-1,") != 3 {
			t.Errorf("predict %s:\n%s", model, out)
		}
	}
}
