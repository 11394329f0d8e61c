package clustertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sbinet/npyio"
	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/test/testscale"
)

// TestTheSameBitsOnAnyNumberOfWorkers runs jobs of every kind with the command line: embedded, and on
// clusters of 1, 2, 3 and 5 worker processes. They must all write the same files.
func TestTheSameBitsOnAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	generate := func(args ...string) string {
		out := filepath.Join(dir, args[0])
		if ran := Cleave(t, append(append([]string{"generate"}, args...), "--out", out)...); ran.ExitCode != 0 {
			t.Fatal(ran.Stderr)
		}
		return out
	}
	points := generate("gaussians", "--n", strconv.Itoa(testscale.Count(600, 1200)), "--d", "6", "--k", "12", "--noise",
		"6", "--constraints", "100", "--seed", "1")
	graph := generate("blocks", "--n", "2100", "--k", "12", "--constraints", "200", "--seed", "1")
	kernel := writeKernel(t, filepath.Join(dir, "kernel.npy"), testscale.Count(300, 500))
	sparse := writeSparse(t, filepath.Join(dir, "sparse.svm"), knownPoints().sparse)
	seeds := writeSeeds(t, filepath.Join(dir, "seeds.csv"), points+"/truth.csv", 60)

	type job struct {
		name   string
		args   []string
		shifts bool // the objective rises at some iteration, and the shift is set
		short  bool // it is fast, and runs always
	}
	jobs := []job{
		{name: "points", args: []string{"--algorithm", "kernel-kmeans", "--data", points + "/data.csv", "--k", "12",
			"--init", "random", "--seed", "3"}},
		{name: "points under constraints",
			args: []string{"--algorithm", "kernel-kmeans", "--data", points + "/data.csv", "--k", "12", "--constraints",
				points + "/constraints.csv"}},
		{name: "points by kmeans++ with restarts",
			args: []string{"--algorithm", "kernel-kmeans", "--data", points + "/data.csv", "--k", "7", "--kernel",
				"polynomial", "--coef0", "1", "--restarts", "3"}},
		{name: "normalized cut", short: true, shifts: true,
			args: []string{"--paper", "--algorithm", "kernel-kmeans", "--graph", graph + "/edges.csv", "--k", "12",
				"--init", "random", "--seed", "4",
				"--constraints", graph + "/constraints.csv"}},
		{name: "ratio cut", shifts: true, args: []string{"--paper", "--algorithm", "kernel-kmeans", "--graph",
			graph + "/edges.csv", "--objective", "ratio-cut", "--k", "8", "--seed", "1",
			"--constraints", graph + "/constraints.csv"}},
		{name: "ratio cut that cycles", args: []string{"--algorithm", "kernel-kmeans", "--graph", graph + "/edges.csv",
			"--objective", "ratio-cut", "--k", "8",
			"--init", "random", "--seed", "1", "--on-rise", "ignore"}},
		{name: "normalized cut with vertices without edges",
			args: []string{"--algorithm", "kernel-kmeans", "--graph", graph + "/edges.csv", "--vertices", "2180",
				"--k", "12", "--init", "random", "--seed", "3", "--constraints", graph + "/constraints.csv"}},
		{name: "normalized cut on many levels",
			args: []string{"--algorithm", "kernel-kmeans", "--graph", graph + "/edges.csv", "--k", "7", "--constraints",
				graph + "/constraints.csv"}},
		{name: "kernel k-means of sparse points", args: []string{"--algorithm", "kernel-kmeans", "--data", sparse,
			"--k", "8", "--init", "random"}},
		{name: "kernel matrix", short: true, args: []string{"--algorithm", "kernel-kmeans", "--kernel-matrix", kernel,
			"--k", "10", "--init", "random", "--seed", "5"}},
		{name: "normalized cut of a kernel matrix", shifts: true,
			args: []string{"--paper", "--algorithm", "kernel-kmeans", "--kernel-matrix", kernel, "--objective",
				"normalized-cut",
				"--k", "6", "--init", "random"}},
		{name: "kmeans with restarts", args: []string{"--data", points + "/data.csv", "--algorithm", "kmeans", "--k",
			"12", "--restarts", "3"}},
		{name: "constrained kmeans", short: true,
			args: []string{"--data", points + "/data.csv", "--algorithm", "constrained-kmeans", "--k", "12",
				"--seeds", seeds}},
		{name: "cop-kmeans", args: []string{"--data", points + "/data.csv", "--algorithm", "cop-kmeans", "--k", "12",
			"--constraints", points + "/constraints.csv"}},
		{name: "mpc-kmeans with a full metric",
			args: []string{"--data", points + "/data.csv", "--algorithm", "mpc-kmeans", "--metric", "full",
				"--k", "12", "--constraints", points + "/constraints.csv"}},
		{name: "mpc-kmeans of scaled points",
			args: []string{"--data", points + "/data.csv", "--algorithm", "mpc-kmeans", "--scale", "zscore",
				"--k", "12", "--constraints", points + "/constraints.csv"}},
		{name: "scaled points", args: []string{"--algorithm", "kernel-kmeans", "--data", points + "/data.csv", "--k",
			"12", "--scale", "zscore", "--init", "random", "--seed", "3"}},
		{name: "kmeans of columns from 0 to 1", args: []string{"--data", points + "/data.csv", "--algorithm", "kmeans",
			"--scale", "minmax", "--k", "12", "--restarts", "2"}},
		{name: "a mixture by quartiles", args: []string{"--data", points + "/data.csv", "--algorithm", "auto",
			"--scale", "robust", "--k", "3"}},
		{name: "spherical kmeans of sparse points",
			args: []string{"--data", sparse, "--algorithm", "kmeans", "--geometry", "spherical", "--k", "8"}},
		{name: "m-kmeans of sparse points", short: true,
			args: []string{"--data", sparse, "--algorithm", "m-kmeans", "--k", "8", "--seed", "2"}},
		{name: "spectral", short: true, args: []string{"--data", points + "/data.csv", "--algorithm", "spectral", "--k",
			"4", "--tolerance", "1e-5", "--restarts", "3"}},
		{name: "spectral learning", args: []string{"--graph", graph + "/edges.csv", "--algorithm", "spectral-learning",
			"--k", "2", "--tolerance", "1e-2",
			"--constraints", graph + "/constraints.csv"}},
		{name: "spectral with vertices without edges",
			args: []string{"--graph", graph + "/edges.csv", "--vertices", "2180", "--algorithm", "spectral", "--k", "2",
				"--tolerance", "1e-2"}},
		{name: "kernel k-means from eigenvectors",
			args: []string{"--algorithm", "kernel-kmeans", "--graph", graph + "/edges.csv", "--init", "spectral",
				"--k", "7"}},
	}

	if !testscale.Long {
		jobs = slices.DeleteFunc(jobs, func(j job) bool { return !j.short })
	}
	run := func(name string, args ...string) files {
		t.Helper()
		out := filepath.Join(t.TempDir(), "out")
		ran := Cleave(t, append(append([]string{"run", "--quiet"}, args...), "--out", out)...)
		if ran.ExitCode != 0 {
			t.Fatalf("%s: exit code %d: %s", name, ran.ExitCode, ran.Stderr)
		}
		return readFiles(t, out)
	}
	want := make([]files, len(jobs))
	for at, job := range jobs {
		want[at] = run(job.name, job.args...)
		hasEigenvectors := slices.ContainsFunc(job.args, func(arg string) bool {
			return strings.HasPrefix(arg, "spectral")
		})
		isSpectral := hasEigenvectors && !slices.Contains(job.args, "--init")
		if !hasEigenvectors && want[at].result.Iterations < 2 {
			t.Errorf("%s: only %d iterations show little", job.name, want[at].result.Iterations)
		}
		if hasModel := !slices.Contains(job.args, "kernel-kmeans") &&
			!isSpectral; hasModel != (len(want[at].model) > 0) {
			t.Errorf("%s: its model has %d bytes", job.name, len(want[at].model))
		}
		if isSpectral != (len(want[at].embedding) > 0) {
			t.Errorf("%s: its embedding has %d bytes", job.name, len(want[at].embedding))
		}
		if shifts, _ := want[at].document["shifts"].([]any); (len(shifts) > 0) != job.shifts {
			t.Errorf("%s: the shift was set: %v, want %v", job.name, shifts, job.shifts)
		}
		if testscale.Long {
			sameFiles(t, job.name+", embedded with three workers", run(job.name, append(job.args, "--workers", "3")...),
				want[at])
		}
	}

	for c, workers := range growingCluster(t, 1, 2, 3, 5) {
		for at, job := range jobs {
			what := fmt.Sprintf("%s, %d workers", job.name, workers)
			got := run(what, append(job.args, "--server", c.Addr)...)
			sameFiles(t, what, got, want[at])
			if got.result.Plan.Workers != workers {
				t.Errorf("%s: the work was spread over %d", what, got.result.Plan.Workers)
			}
		}
	}
}

// growingCluster yields a cluster with each of these numbers of worker processes, which rise. However slow one of them
// is, none is lost or overtaken, so that every job is spread over all of them on a busy machine too.
func growingCluster(t *testing.T, sizes ...int) iter.Seq2[*Coordinator, int] {
	return func(yield func(*Coordinator, int) bool) {
		c := startPatient(t, "--slow-after", "1h")
		started := 0
		for _, workers := range sizes {
			for ; started < workers; started++ {
				StartWorker(t, c, fmt.Sprintf("w%d", started))
			}
			c.AwaitWorkers(workers)
			if !yield(c, workers) {
				return
			}
		}
	}
}

// writeSeeds writes the first labels of a file as seeds.
func writeSeeds(t testing.TB, path, labels string, count int) string {
	t.Helper()
	text, err := os.ReadFile(labels)
	lines := bytes.SplitAfter(must(t, text, err), []byte("\n"))
	if err := os.WriteFile(path, bytes.Join(lines[:1+count], nil), 0o600); err != nil { // and the header
		t.Fatal(err)
	}
	return path
}

// writeSparse writes sparse points in the svmlight format, with the label 0.
func writeSparse(t testing.TB, path string, points *dataset.SparsePoints) string {
	t.Helper()
	var text strings.Builder
	for i := range points.N {
		text.WriteString("0")
		columns, values := points.Row(i)
		for at, c := range columns {
			fmt.Fprintf(&text, " %d:%v", c+1, values[at])
		}
		text.WriteString("\n")
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// writeKernel writes a kernel matrix that is not quite positive semidefinite.
func writeKernel(t testing.TB, path string, n int) string {
	t.Helper()
	points := gaussians(n, 4, 10, 5)
	k := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range i + 1 {
			square := 0.0
			for c := range points.D {
				d := points.Values[i*points.D+c] - points.Values[j*points.D+c]
				square += d * d
			}
			v := math.Exp(-square / 200)
			k.Set(i, j, v)
			k.Set(j, i, v)
		}
		k.Set(i, i, 0.9)
	}
	file, err := os.Create(path)
	must(t, file, err)
	if err := npyio.Write(file, k); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// files is the output of a run.
type files struct {
	labels    []byte
	model     []byte         // of a run of the k-means family, or of a mixture
	embedding []byte         // of a run of the spectral family
	document  map[string]any // result.json with numbers as text
	result    struct {
		Iterations int
		Objective  float64
		History    []struct {
			Iteration, Moved int
			Objective        float64
		}
		Plan struct{ Workers int }
	}
}

func readFiles(t testing.TB, dir string) (f files) {
	t.Helper()
	labels, err := os.ReadFile(filepath.Join(dir, "labels.csv"))
	f.labels = must(t, labels, err)
	optional := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return text
	}
	f.model = slices.Concat(optional("centroids.csv"), optional("metric.csv"), optional("mixture.csv"),
		optional("forest.csv"))
	f.embedding = optional("embedding.csv")
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	must(t, text, err)
	if err := json.Unmarshal(text, &f.result); err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&f.document); err != nil {
		t.Fatal(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Errorf("result.json has more after its end: %v", err)
	}
	// The placement of the work and its duration are not part of the answer, nor is what was typed.
	delete(f.document, "origin")
	delete(f.document, "plan")
	delete(f.document, "timings")
	return f
}

// sameFiles compares labels.csv, the model and the embedding byte by byte, and all numbers of result.json
// bit by bit.
func sameFiles(t testing.TB, what string, got, want files) {
	t.Helper()
	if !bytes.Equal(got.labels, want.labels) {
		t.Errorf("%s: labels.csv differs", what)
	}
	if !bytes.Equal(got.model, want.model) {
		t.Errorf("%s: the model differs", what)
	}
	if !bytes.Equal(got.embedding, want.embedding) {
		t.Errorf("%s: embedding.csv differs", what)
	}
	bits := func(v float64) string { return strconv.FormatUint(math.Float64bits(v), 16) }
	if bits(got.result.Objective) != bits(want.result.Objective) {
		t.Errorf("%s: the objective is %v, want %v", what, got.result.Objective, want.result.Objective)
	}
	if len(got.result.History) != len(want.result.History) {
		t.Fatalf("%s: %d entries of history, want %d", what, len(got.result.History), len(want.result.History))
	}
	for i, entry := range got.result.History {
		if w := want.result.History[i]; bits(entry.Objective) != bits(w.Objective) || entry != w {
			t.Errorf("%s: entry %d of the history is %+v, want %+v", what, i, entry, w)
		}
	}
	if !reflect.DeepEqual(got.document, want.document) {
		t.Errorf("%s: result.json differs:\n got %v\nwant %v", what, got.document, want.document)
	}
}
