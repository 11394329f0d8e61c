package cli

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// kernelRuns are runs with different kernels, and what result.json says of them.
var kernelRuns = []struct {
	args, weights string
	kernel        *cleavev1.KernelReport
}{
	{"--kernel gaussian --rho 3", "", &cleavev1.KernelReport{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_GAUSSIAN, Rho: proto.Float64(3)}},
	{"--kernel linear", " --weights w.csv", &cleavev1.KernelReport{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR}},
	{"--kernel cosine", "", &cleavev1.KernelReport{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_COSINE}},
	{"--kernel polynomial --coef0 1", "", &cleavev1.KernelReport{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_POLYNOMIAL, Gamma: proto.Float64(1), Coef0: proto.Float64(1), Degree: proto.Uint32(2)}},
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
		if got := succeed(t, "predict --model o --trained-on g/data.csv --data g/data.csv"+c.weights); got != clitest.Read(t, "o/labels.csv") {
			t.Errorf("%s: by the folder %s", c.args, got)
		}
		id := strings.TrimSpace(succeed(t, "submit --wait "+job+" --server "+address))
		if got := succeed(t, "predict --data g/data.csv --job "+id+" --server "+address); got != clitest.Read(t, "o/labels.csv") {
			t.Errorf("%s: by the job %s", c.args, got)
		}
		succeed(t, "result "+id+" --quiet --data g/data.csv --out remote --server "+address)
		if other := answer(t, clitest.Read(t, "remote/result.json")); !proto.Equal(other.Kernel, d.Kernel) {
			t.Errorf("%s: the coordinator tells of the kernel %+v", c.args, other.Kernel)
		}
	}
}

func TestPredictByAKernelRefuses(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	if err := os.WriteFile("three.csv", []byte("1,2,3\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	address := startServe(t, "--workers 1 --data-dir state")
	succeed(t, "run --quiet --data p.csv --k 2 --algorithm kernel-kmeans --out o")
	succeed(t, "run --quiet --data p.csv --k 2 --objective ratio-cut --out cut")
	succeed(t, "run --quiet --graph e.csv --k 2 --algorithm kernel-kmeans --out graph")
	points := strings.TrimSpace(succeed(t, "submit --wait --quiet --data p.csv --k 2 --algorithm kernel-kmeans --server "+address))
	graph := strings.TrimSpace(succeed(t, "submit --wait --quiet --graph e.csv --k 2 --algorithm kernel-kmeans --server "+address))
	for _, c := range []struct{ args, want string }{
		{"--model o --data p.csv", "o holds a run of kernel-kmeans, whose model is its points"},
		{"--model o --trained-on p.csv --data three.csv", "three.csv: the new points have 3 columns; the job was made of points of 2"},
		{"--model o --trained-on p.csv --data other.csv", "other.csv: the columns are called y,x, those of the model x,y"},
		{"--model o --trained-on m.csv --data p.csv", "m.csv: the file has 2 points; o was made of 4"},
		{"--model o --trained-on x.svm --data p.csv", "--trained-on x.svm holds sparse points"},
		{"--model o --trained-on gone.csv --data p.csv", "gone.csv: the file cannot be read"},
		{"--model o --trained-on p.csv --weights l.csv --data p.csv", "l.csv, line 1"},
		{"--model cut --trained-on p.csv --data p.csv", "cleave: only kernel-kmeans on points can assign new points"},
		{"--model graph --trained-on p.csv --data p.csv", "graph: this is a result of normalized-cut without centroids or a kernel function"},
		{"--job " + points + " --data three.csv --server " + address, "the new points have 3 columns"},
		{"--job " + graph + " --data p.csv --server " + address, "only kernel-kmeans on points can assign new points"},
		{"--job nobody --data p.csv --server " + address, "nobody"},
	} {
		if r := invoke(t, "predict "+c.args); r.code != 2 || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
			t.Errorf("%s: exit code %d, %q; want %q", c.args, r.code, r.stderr, c.want)
		}
	}
}
