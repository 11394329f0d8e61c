package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// resultFile has the fields of a result.json.
type resultFile struct {
	*cleavev1.Result
	*cleavev1.RunRecord
}

func readResult(t *testing.T, text string) resultFile {
	t.Helper()
	r := resultFile{&cleavev1.Result{}, &cleavev1.RunRecord{}}
	for _, message := range []proto.Message{r.Result, r.RunRecord} {
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(text), message); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	return r
}

// answer is the part of a result that does not depend on how the job was run: all but the plan, the times and the
// record of the run.
func answer(t *testing.T, text string) *cleavev1.Result {
	t.Helper()
	r := readResult(t, text).Result
	r.Plan, r.Timings = nil, nil
	return r
}

func TestTwoCirclesNeedAKernelAndConstraints(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate two-circles --n 200 --constraints 200 --seed 1 --out g")
	const job = "run --data g/data.csv --k 2 --constraints g/constraints.csv --truth g/truth.csv --quiet --json "
	if d := readResult(t, succeed(t, job+"--kernel gaussian --rho 1")); d.Evaluation.GetNmi() != 1 ||
		d.Constraints.Satisfied != 200 || d.GetKernel().GetRho() != 1 {
		t.Errorf("gaussian: %+v", d)
	}
	if d := readResult(t, succeed(t, job+"--kernel linear --paper")); d.Evaluation.GetNmi() > 0.1 ||
		d.GetKernel().Rho != nil {
		t.Errorf("linear: %+v", d)
	}
}

func TestTheAnswerDoesNotDependOnTheWorkers(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate two-circles --n 80 --constraints 20 --seed 3 --out g")
	succeed(t, "generate blocks --n 60 --k 3 --constraints 20 --seed 3 --out b")
	for _, job := range []string{
		"--data g/data.csv --k 3 --constraints g/constraints.csv --truth g/truth.csv --seed 5 --init random " +
			"--restarts 2",
		"--graph b/edges.csv --k 3 --constraints b/constraints.csv --truth b/truth.csv --init random",
		"--data g/data.csv --k 3 --algorithm kernel-kmeans --constraints g/constraints.csv",
		"--graph b/edges.csv --k 3 --algorithm kernel-kmeans --constraints b/constraints.csv",
	} {
		var labels string
		var first *cleavev1.Result
		for at, workers := range []int{1, 2, 5} {
			out := fmt.Sprintf("o%d", workers)
			succeed(t, fmt.Sprintf("run %s --workers %d --out %s --quiet", job, workers, out))
			d := answer(t, clitest.Read(t, out+"/result.json"))
			if at == 0 {
				labels = clitest.Read(t, out+"/labels.csv")
				first = d
			}
			if clitest.Read(t, out+"/labels.csv") != labels {
				t.Errorf("%s: %d workers give other labels", job, workers)
			}
			if !proto.Equal(d, first) {
				t.Errorf("%s: %d workers give\n%+v\nafter\n%+v", job, workers, d, first)
			}
		}
		if len(first.History) == 0 || first.Iterations != uint32(len(first.History)-1) {
			t.Errorf("%s: %d iterations with a history of %d", job, first.Iterations, len(first.History))
		}
	}
}

func TestRunWritesItsFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate gaussians --n 60 --d 4 --k 3 --constraints 10 --out g")
	r := invoke(t, "run --data g/data.csv --k 3 --algorithm kernel-kmeans --constraints g/constraints.csv --truth "+
		"g/truth.csv --out deep/o")
	if r.code != 0 || r.stderr != "" || !strings.Contains(r.stdout, "NMI ") {
		t.Fatalf("exit code %d, %q, %q", r.code, r.stdout, r.stderr)
	}
	entries, err := os.ReadDir("deep/o")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if got := strings.Join(names,
		" "); got != "_MANIFEST.json _SUCCESS clusters.svg labels.csv objective.svg report.html result.json" {
		t.Errorf("wrote %s", got)
	}
	if labels := labelColumns(clitest.Read(t, "deep/o/labels.csv")); !strings.HasPrefix(labels, "index,label\n0,") ||
		strings.Count(labels, "\n") != 61 {
		t.Errorf("labels.csv is %q", labels)
	}
	for _, name := range []string{"objective.svg", "clusters.svg"} {
		if text := clitest.Read(t, "deep/o/"+name); !strings.Contains(text, "<svg") ||
			!strings.Contains(text, "</svg>") {
			t.Errorf("%s is no picture", name)
		}
	}
	d := readResult(t, clitest.Read(t, "deep/o/result.json"))
	var sum uint32
	for _, size := range d.ClusterSizes {
		sum += size
	}
	if d.State != cleavev1.JobState_JOB_STATE_SUCCEEDED || d.Rows != 60 || d.K != 3 || sum != 60 ||
		d.ObjectiveName != "kernel-kmeans" ||
		d.Objective != d.History[len(d.History)-1].Objective || d.Plan.Workers < 1 ||
		d.Timings.GetTotal().AsDuration() <= 0 {
		t.Errorf("result.json is %+v", d)
	}
	// evaluate gives the same scores to the same labels.
	out := succeed(t, "evaluate --labels deep/o/labels.csv --truth g/truth.csv --constraints g/constraints.csv --json")
	if again := readResult(t, out); !proto.Equal(again.Evaluation, d.Evaluation) ||
		!proto.Equal(again.Constraints, d.Constraints) {
		t.Errorf("evaluate says %s", out)
	}
}

func TestStartsAndForms(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	for _, c := range []struct{ args, labels string }{
		{"--data p.csv --k 2 --init labels:l.csv --max-iterations 0", "0011"},
		{"--data p.csv --k 2 --algorithm kernel-kmeans --seeds s.csv", "0011"},
		{"--data p.csv --k 2 --kernel linear --weights w.csv", ""},
		{"--data p.csv --k 2 --kernel polynomial --degree 3 --coef0 1", ""},
		{"--data p.csv -f job.yaml", ""},
		{"--graph e.csv --k 2 --algorithm kernel-kmeans", ""},
		{"--graph e.csv --vertices 6 --k 2 --objective ratio-cut", ""},
		{"--kernel-matrix k.csv --k 2 --objective ratio-association", ""},
		{"--data p.csv --k 2 --constraints c.csv --entail --sigma auto", ""},
		{"--data p.csv --k 2 --constraints none.csv --farthest mean", ""},
		{"--data p.csv --k 4 --init random", ""},
	} {
		t.Run(c.args, func(t *testing.T) {
			out := t.TempDir()
			succeed(t, "run --quiet "+c.args+" --out "+out)
			d := readResult(t, clitest.Read(t, out+"/result.json"))
			if math.IsNaN(d.Objective) || len(d.History) == 0 {
				t.Errorf("result %+v", d)
			}
			var labels strings.Builder
			for _, line := range strings.Split(strings.TrimSpace(labelColumns(clitest.Read(t, out+"/labels.csv"))),
				"\n")[1:] {
				_, label, _ := strings.Cut(line, ",")
				labels.WriteString(label)
			}
			if c.labels != "" && labels.String() != c.labels {
				t.Errorf("labels %s, want %s", labels.String(), c.labels)
			}
			if _, err := os.Stat(out + "/clusters.svg"); err != nil {
				t.Error(err)
			}
		})
	}
}

// cancelOnText cancels a context when a certain text is written.
type cancelOnText struct {
	text   string
	cancel context.CancelFunc
	mu     sync.Mutex
	all    strings.Builder
}

func (c *cancelOnText) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all.Write(p)
	if strings.Contains(c.all.String(), c.text) {
		c.cancel()
	}
	return len(p), nil
}

func TestInterruptOfAnEmbeddedRun(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate two-circles --n 300 --out g")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	// This many restarts take minutes, so that the run cannot end before it is interrupted. The job says so when it
	// begins; the first line of progress comes seconds later.
	stderr := &cancelOnText{text: "landmarks 1000 would take about", cancel: interrupt}
	args := strings.Fields("run --data g/data.csv --k 5 --init random --restarts 10000 --out o")
	code := Main(ctx, args, strings.NewReader(""), io.Discard, stderr, func(string) string { return "" })
	if code != 130 || !strings.Contains(stderr.all.String(), "cleave: canceled; the job ran in this process") {
		t.Errorf("exit code %d, %q", code, stderr.all.String())
	}
	if _, err := os.Stat("o"); err == nil {
		t.Error("an interrupted run left a folder behind")
	}
}

// startServe runs `cleave serve` until the test ends, and returns its address.
func startServe(t *testing.T, flags string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan int, 1)
	var stderr strings.Builder
	go func() {
		args := strings.Fields("serve --listen 127.0.0.1:0 " + flags)
		code := Main(ctx, args, strings.NewReader(""), writer, &stderr, func(string) string { return "" })
		writer.Close()
		ended <- code
	}()
	line, err := bufio.NewReader(reader).ReadString('\n')
	address, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("serve ended with exit code %d: %s", code, stderr.String())
		}
	})
	if err != nil || !found {
		t.Fatalf("serve said %q (%v)", line, err)
	}
	return address
}

// TestAPrivateServerServesWhoHasItsToken starts a server as a program would that embeds it: the server refuses calls
// without the token that it prints, runs jobs for calls with the token, and ends when standard input closes.
func TestAPrivateServerServesWhoHasItsToken(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate two-moons --n 40 --out g")
	stdin, parent := io.Pipe()
	reader, stdout := io.Pipe()
	ended := make(chan invocation, 1)
	go func() {
		var stderr strings.Builder
		code := Main(t.Context(), strings.Fields("serve --private --listen 127.0.0.1:0"), stdin, stdout, &stderr,
			func(string) string { return "" })
		stdout.Close()
		ended <- invocation{code: code, stderr: stderr.String()}
	}()
	var token, address string
	if _, err := fmt.Fscanf(reader, "token %s\nlistening on %s\n", &token, &address); err != nil {
		t.Fatal(err)
	}
	if r := invoke(t, "list --server "+address); r.code == 0 || !strings.Contains(r.stderr, "requires authentication") {
		t.Errorf("without a token: exit code %d: %s", r.code, r.stderr)
	}
	r := invokeIn(t.Context(), "run --data g/data.csv --k 2 --quiet --out o --server "+address,
		func(name string) string {
			return map[string]string{tokenVariable: token}[name]
		})
	if r.code != 0 {
		t.Errorf("with the token: exit code %d: %s", r.code, r.stderr)
	}
	parent.Close()
	if r := <-ended; r.code != 0 {
		t.Errorf("serve ended with exit code %d: %s", r.code, r.stderr)
	}
	if r := invoke(t, "serve --private --insecure"); r.code != 2 || !strings.Contains(r.stderr, "give one of them") {
		t.Errorf("--private --insecure: exit code %d: %s", r.code, r.stderr)
	}
}

func TestAServerGivesTheSameAsAnEmbeddedRun(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate two-circles --n 120 --constraints 30 --seed 2 --out g")
	address := startServe(t, "--workers 3 --data-dir state")
	const job = "--data g/data.csv --k 2 --rho 1 --constraints g/constraints.csv --init random --paper"
	succeed(t, "run "+job+" --truth g/truth.csv --quiet --out embedded")
	succeed(t, "run "+job+" --truth g/truth.csv --quiet --out remote --server "+address)
	if clitest.Read(t, "embedded/labels.csv") != clitest.Read(t, "remote/labels.csv") {
		t.Error("labels differ")
	}
	if e, r := answer(t, clitest.Read(t, "embedded/result.json")),
		answer(t, clitest.Read(t, "remote/result.json")); !proto.Equal(e, r) {
		t.Errorf("embedded %+v\nremote %+v", e, r)
	}

	id := strings.TrimSpace(succeed(t, "submit --wait --quiet "+job+" --server "+address))
	at := id + " --server " + address
	if out := succeed(t, "get "+at); !strings.Contains(out, "SUCCEEDED") || !strings.Contains(out, "constraints  30") {
		t.Errorf("get: %s", out)
	}
	if out := succeed(t, "list --server "+address); strings.Count(out, "SUCCEEDED") != 2 {
		t.Errorf("list: %s", out)
	}
	if out := succeed(t, "list --state running --server "+address); strings.Count(out, "\n") != 1 {
		t.Errorf("list of running jobs: %s", out)
	}
	if out := succeed(t, "workers --server "+address); strings.Count(out, "READY") != 3 ||
		strings.Count(out, kernel.NumericClass) != 3 {
		t.Errorf("workers: %s", out)
	}
	tables := succeed(t, "tables --server "+address)
	if lines := strings.Split(strings.TrimSpace(tables), "\n"); len(lines) != 3 ||
		!strings.Contains(tables, "constraints of data.csv  i,j,kind,weight  30") ||
		!strings.Contains(tables, "data.csv                 f0,f1            120") {
		t.Errorf("the same tables twice are %s", tables)
	}
	if out := succeed(t, "datasets --server "+address); strings.Contains(out, "POINTS") {
		t.Errorf("points of a table are kept: %s", out)
	}
	if out := succeed(t, "watch "+at); !strings.HasSuffix(out, "SUCCEEDED: CONVERGED\n") ||
		!strings.HasPrefix(out, "iteration 0: ") {
		t.Errorf("watch: %s", out)
	}
	if r := invoke(t, "result --quiet --out fetched --truth g/truth.csv "+at); r.code != 0 ||
		!strings.Contains(r.stderr, "clusters.svg was not drawn") || r.stdout != "" {
		t.Errorf("result: exit code %d, %s%s", r.code, r.stdout, r.stderr)
	}
	succeed(t, "result --quiet --out fetched --truth g/truth.csv --data g/data.csv "+at)
	for _, name := range []string{"labels.csv", "objective.svg", "clusters.svg"} {
		if clitest.Read(t, "fetched/"+name) != clitest.Read(t, "remote/"+name) {
			t.Errorf("result fetches another %s", name)
		}
	}
	if f, r := answer(t, clitest.Read(t, "fetched/result.json")),
		answer(t, clitest.Read(t, "remote/result.json")); !proto.Equal(f, r) {
		t.Errorf("fetched %+v\nremote %+v", f, r)
	}
	if err := os.WriteFile("short.csv", []byte("f0,f1\n1,2\n3,4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, "labels.csv", clitest.Read(t, "g/truth.csv"))
	if out := succeed(t, "cancel "+at); !strings.HasSuffix(out, ": has already ended: SUCCEEDED\n") {
		t.Errorf("cancel: %s", out)
	}
	for _, c := range []struct{ line, want string }{
		{"get 00000000-0000-7000-8000-000000000000 --server " + address, "there is no job"},
		{"result " + at + " --data g/truth.csv", `no column "f0"`},
		{"result " + at + " --data short.csv", "this is not the job's data"},
		{"result " + at + " --truth labels.csv --out .", "labels.csv would be overwritten"},
	} {
		if r := invoke(t, c.line); r.code != 2 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: exit code %d, %q; want 2, %q", c.line, r.code, r.stderr, c.want)
		}
	}
	succeed(t, "delete "+at)
	for _, line := range strings.Split(strings.TrimSpace(tables), "\n")[1:] {
		succeed(t, "tables delete "+strings.Fields(line)[0][:16]+" --server "+address)
	}
	if out := succeed(t, "tables --json --server "+address); strings.Contains(out, "tableId") {
		t.Errorf("after its deletion the tables are %s", out)
	}
	if r := invoke(t, "get "+at); r.code != 2 {
		t.Errorf("a deleted job: exit code %d, %s", r.code, r.stderr)
	}
}

func TestRequestIDs(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	address := startServe(t, "--workers 1")
	const id = " --request-id 4a8ec0ab-4ea1-4d7d-8a4e-0d5e4c1d1b3f"
	first := succeed(t, "submit --wait --quiet --data p.csv --k 2 --algorithm kernel-kmeans --server "+address+id)
	if again := succeed(t, "submit --data p.csv --k 2 --algorithm kernel-kmeans --server "+address+id); again != first {
		t.Errorf("submitting twice made %s and %s", first, again)
	}
	if r := invoke(t, "submit --data p.csv --k 3 --algorithm kernel-kmeans --server "+address+id); r.code != 2 ||
		!strings.Contains(r.stderr, "other data or options; give a new --request-id") {
		t.Errorf("another job under the same id: exit code %d, %s", r.code, r.stderr)
	}
	if out := succeed(t, "cancel --server "+address+id); out != strings.TrimSpace(first)+
		": has already ended: SUCCEEDED\n" {
		t.Errorf("cancel says %q", out)
	}
	if r := invoke(t, "cancel --request-id other --server "+address); r.code != 2 ||
		!strings.Contains(r.stderr, `there is no job with the request id "other"`) {
		t.Errorf("a request without a job: exit code %d, %s", r.code, r.stderr)
	}
	if r := invoke(t, "submit --data p.csv --k 3 --algorithm kernel-kmeans --server "+address+" --request-id "+
		strings.Repeat("x", 201)); r.code != 2 || !strings.Contains(r.stderr, "at most 200 bytes") {
		t.Errorf("a long id: exit code %d, %s", r.code, r.stderr)
	}
}

func TestCancelAndWaitingForWorkers(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	address := startServe(t, "--workers 0")
	id := strings.TrimSpace(succeed(t, "submit --data p.csv --k 2 --algorithm kernel-kmeans --server "+address))
	if out := succeed(t, "get "+id+" --server "+address); !strings.Contains(out, "PENDING") &&
		!strings.Contains(out, "RUNNING") {
		t.Errorf("get: %s", out)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stdout := &cancelOnText{text: "waiting", cancel: stop}
	args := strings.Fields("watch " + id + " --server " + address)
	if code := Main(ctx, args, strings.NewReader(""), stdout, io.Discard, func(string) string {
		return ""
	}); code != 130 {
		t.Errorf("watch of a waiting job: exit code %d, %s", code, stdout.all.String())
	}
	succeed(t, "cancel "+id+" --server "+address)
	if r := invoke(t, "watch "+id+" --server "+address); r.code != 130 || !strings.Contains(r.stderr, "was canceled") {
		t.Errorf("watch of a canceled job: exit code %d, %s", r.code, r.stderr)
	}
	if cells := strings.Fields(succeed(t, "list --server "+address)); len(cells) < 11 || cells[9] != "0" ||
		cells[10] == "0" {
		t.Errorf("a job without an iteration is listed with an objective: %q", cells)
	}
	if out := succeed(t, "cancel "+id+" --server "+address); out != id+": has already ended: CANCELLED\n" {
		t.Errorf("canceled twice: %s", out)
	}
	succeed(t, "delete "+id+" --server "+address)
	if r := invoke(t, "delete "+id+" --server "+address); r.code != 2 ||
		!strings.Contains(r.stderr, "there is no job") {
		t.Errorf("deleted twice: exit code %d, %s", r.code, r.stderr)
	}
}
