package cli

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// kernelRuns are runs with different kernels, and what result.json says of them.
var kernelRuns = []struct {
	args, weights string
	kernel        *cleavev1.KernelReport
}{
	{"--kernel gaussian --rho 3", "", &cleavev1.KernelReport{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_GAUSSIAN,
		Rho: proto.Float64(3)}},
	{"--kernel linear", " --weights w.csv",
		&cleavev1.KernelReport{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR}},
	{"--kernel laplacian --rho 2 --scale zscore", "",
		&cleavev1.KernelReport{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_LAPLACIAN, Rho: proto.Float64(2)}},
	{"--kernel cosine", "", &cleavev1.KernelReport{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_COSINE}},
	{"--kernel polynomial --coef0 1", "",
		&cleavev1.KernelReport{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_POLYNOMIAL, Gamma: proto.Float64(1),
			Coef0: proto.Float64(1), Degree: proto.Uint32(2)}},
}

// The points of a converged run are assigned to their own clusters.
func TestPredictByAKernel(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	succeed(t, "generate gaussians --n 90 --d 3 --k 3 --seed 2 --out g")
	address := startServe(t, "--workers 2 --data-dir state")
	for _, c := range kernelRuns {
		job := "--quiet --data g/data.csv --k 3 --seed 1 " + c.args + c.weights
		succeed(t, "run "+job+" --out o")
		d := readResult(t, clitest.Read(t, "o/result.json"))
		if d.StopReason != cleavev1.StopReason_STOP_REASON_CONVERGED || !proto.Equal(d.Kernel, c.kernel) {
			t.Fatalf("%s: %s by the kernel %+v", c.args, d.StopReason, d.Kernel)
		}
		if got := labelColumns(succeed(t, "predict --model o --trained-on g/data.csv --data g/data.csv"+
			c.weights)); got != labelColumns(clitest.Read(t, "o/labels.csv")) {
			t.Errorf("%s: by the folder %s", c.args, got)
		}
		id := strings.TrimSpace(succeed(t, "submit --wait "+job+" --server "+address))
		if got := labelColumns(succeed(t, "predict --data g/data.csv --job "+id+" --server "+address)); got !=
			labelColumns(clitest.Read(t, "o/labels.csv")) {
			t.Errorf("%s: by the job %s", c.args, got)
		}
		succeed(t, "result "+id+" --quiet --data g/data.csv --out remote --server "+address)
		if other := answer(t, clitest.Read(t, "remote/result.json")); !proto.Equal(other.Kernel, d.Kernel) {
			t.Errorf("%s: the coordinator tells of the kernel %+v", c.args, other.Kernel)
		}
	}
}

// A new sparse point may have fewer columns than those of the run, or more.
func TestPredictSparsePointsByAKernel(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"old.svm": "0 1:1 2:1\n0 1:2 2:2.5\n1 7:1 8:2\n1 7:3 8:3\n", "new.svm": "0 1:3 2:2\n1 7:1 8:1 50:0.25\n",
		"few.svm": "0 2:1\n",
	})
	address := startServe(t, "--workers 1 --data-dir state")
	for _, kernel := range []string{"gaussian", "linear", "cosine"} {
		job := "--quiet --data old.svm --k 2 --algorithm kernel-kmeans --kernel " + kernel
		succeed(t, "run "+job+" --out o")
		id := strings.TrimSpace(succeed(t, "submit --wait "+job+" --server "+address))
		for _, by := range []string{"--model o --trained-on old.svm", "--job " + id + " --server " + address} {
			labels := succeed(t, "predict --data old.svm "+by)
			if labels != labelColumns(clitest.Read(t, "o/labels.csv")) {
				t.Errorf("%s, %s: the points of the run are %s", kernel, by, labels)
			}
			lines := strings.Split(labels, "\n")
			if got := labelColumns(succeed(t, "predict --data few.svm "+by)); got != lines[0]+"\n"+lines[1]+"\n" {
				t.Errorf("%s, %s: a point like the first is %s", kernel, by, got)
			}
			if got := labelColumns(succeed(t, "predict --data new.svm "+by)); got != lines[0]+"\n"+lines[1]+"\n1"+
				lines[3][1:]+"\n" {
				t.Errorf("%s, %s: points like the first and the third are %s", kernel, by, got)
			}
		}
	}
}

func TestPredictByAKernelRefuses(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	if err := os.WriteFile("three.csv", []byte("1,2,3\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	address := startServe(t, "--workers 1 --data-dir state")
	if err := os.WriteFile("changed.csv", []byte(clitest.Read(t, "p.csv")), 0o666); err != nil {
		t.Fatal(err)
	}
	succeed(t, "run --quiet --data changed.csv --k 2 --algorithm kernel-kmeans --out changed")
	if err := os.WriteFile("changed.csv", []byte(clitest.Read(t, "p.csv")+"9,9\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	succeed(t, "run --quiet --data p.csv --k 2 --algorithm kernel-kmeans --out o")
	succeed(t, "run --quiet --data p.csv --k 2 --objective ratio-cut --out cut")
	succeed(t, "run --quiet --graph e.csv --k 2 --algorithm kernel-kmeans --out graph")
	points := strings.TrimSpace(succeed(t,
		"submit --wait --quiet --data p.csv --k 2 --algorithm kernel-kmeans --server "+address))
	graph := strings.TrimSpace(succeed(t,
		"submit --wait --quiet --graph e.csv --k 2 --algorithm kernel-kmeans --server "+address))
	for _, c := range []struct{ args, want string }{
		{"--model changed --data p.csv", "changed is a run of kernel-kmeans, which compares new points"},
		{"--model o --trained-on p.csv --data three.csv",
			"three.csv: the new points have 3 columns, but the job clustered points with 2"},
		{"--model o --trained-on p.csv --data w.csv", `w.csv: the table has no column "x"`},
		{"--model o --trained-on m.csv --data p.csv", "m.csv: the file has 2 rows; the run in o had 4"},
		{"--model o --trained-on x.svm --data p.csv", "x.svm: the file has 3 rows; the run in o had 4"},
		{"--job " + points + " --data x.svm --server " + address,
			"of the kind points, but the new data is of the kind sparse points"},
		{"--model o --trained-on gone.csv --data p.csv", "gone.csv: the file cannot be read"},
		{"--model o --trained-on p.csv --weights l.csv --data p.csv", "l.csv, line 1"},
		{"--model cut --trained-on p.csv --data p.csv", "cleave: only kernel-kmeans on points can assign new points"},
		{"--model graph --trained-on p.csv --data p.csv",
			"graph: this result of normalized-cut has neither centroids nor a kernel function"},
		{"--job " + points + " --data three.csv --server " + address, "the new points have 3 columns"},
		{"--job " + graph + " --data p.csv --server " + address, "only kernel-kmeans on points can assign new points"},
		{"--job nobody --data p.csv --server " + address, "nobody"},
	} {
		if r := invoke(t, "predict "+c.args); r.code != 2 || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
			t.Errorf("%s: exit code %d, %q; want %q", c.args, r.code, r.stderr, c.want)
		}
	}
}

// The weights of a run are found again: the points of a neighbor graph do without them, and rows may go by their IDs.
func TestPredictFindsTheWeights(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"p.csv":  "x,y\n0,0\n0,1\n1,0\n9,9\n9,8\n8,9\n",
		"w.csv":  "index,weight\n0,2\n1,1\n2,1\n3,1\n4,1\n5,1\n",
		"t.csv":  "id,x,y\na,0,0\nb,0,1\nc,1,0\nd,9,9\ne,9,8\nf,8,9\n",
		"tw.csv": "id,weight\na,2\nb,1\nc,1\nd,1\ne,1\nf,1\n",
	})
	succeed(t, "run --data p.csv --k 2 --algorithm kernel-kmeans --objective kernel-kmeans --knn 2 --weights w.csv "+
		"--quiet --out graph")
	succeed(t, "predict --model graph --data p.csv")
	succeed(t, "run --data t.csv --id-column id --k 2 --algorithm kernel-kmeans --weights tw.csv --quiet --out named")
	succeed(t, "predict --model named --data t.csv")
}

// The points of a run are read as the run read them, whatever their file is called, also where it is moved.
func TestPredictReadsThePointsAsTheRunDid(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"p.dat":   "x~y\n0~0\n0~1\n1~0\n9~9\n9~8\n8~9\n",
		"a/1.dat": "x,y\n0,0\n0,1\n1,0\n", "a/2.dat": "x,y\n9,9\n9,8\n8,9\n",
		"new.csv": "x,y\n0,0\n0,1\n1,0\n9,9\n9,8\n8,9\n",
	})
	for _, data := range []string{"--data p.dat --format csv --delimiter ~",
		"--data a/1.dat --data a/2.dat --format csv"} {
		for _, algorithm := range []string{"kernel-kmeans", "spectral --knn 2"} {
			succeed(t, "run "+data+" --k 2 --quiet --out o --algorithm "+algorithm)
			labels := labelColumns(clitest.Read(t, "o/labels.csv"))
			if got := labelColumns(succeed(t, "predict --model o --data new.csv")); got != labels {
				t.Errorf("%s, %s: %s, want %s", data, algorithm, got, labels)
			}
		}
	}
	succeed(t, "run --data p.dat --format csv --delimiter ~ --k 2 --quiet --out o --algorithm kernel-kmeans")
	for _, used := range []string{"p.dat", "o/labels.csv"} {
		if r := invoke(t, "predict --model o --data new.csv --out "+used); r.code != 2 ||
			!strings.Contains(r.stderr, used+" is an input") {
			t.Errorf("--out %s: exit code %d: %s", used, r.code, r.stderr)
		}
	}
	if err := os.Rename("p.dat", "moved"); err != nil {
		t.Fatal(err)
	}
	refused(t, "predict --model o --data new.csv", "give them with --trained-on FILE")
	if got, want := labelColumns(succeed(t, "predict --model o --data new.csv --trained-on moved")),
		labelColumns(clitest.Read(t, "o/labels.csv")); got != want {
		t.Errorf("moved: %s, want %s", got, want)
	}
}
