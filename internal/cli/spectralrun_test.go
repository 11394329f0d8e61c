package cli

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/test/testscale"
)

// spectralRuns are runs of the spectral family on three kinds of data, and the NMI that they must reach.
var spectralRuns = []struct {
	args string
	nmi  float64
}{
	{"--graph b/edges.csv --k 3 --algorithm spectral", 0.9},
	{"--graph b/edges.csv --k 3 --algorithm spectral --objective ratio-association --constraints b/constraints.csv",
		0.9},
	{"--graph b/edges.csv --k 3 --algorithm spectral-learning --constraints b/constraints.csv", 0.9},
	{"--graph b/edges.csv --k 3 --algorithm constrained-spectral --constraints b/constraints.csv", 0.9},
	{"--graph b/edges.csv --k 3 --algorithm constrained-spectral --constraints b/constraints.csv --beta paper", 0.9},
	{"--graph b/edges.csv --k 3 --algorithm constrained-spectral --constraints b/constraints.csv --beta strict " +
		"--discretize sign", 0.3},
	{"--graph b/edges.csv --k 3 --algorithm constrained-spectral --source-graph b/edges.csv --beta strict", 0.9},
	{"--graph b/edges.csv --k 3 --algorithm constrained-spectral --source-data b/data.csv", 0.9},
	{"--graph b/edges.csv --k 3 --algorithm constrained-spectral --seeds b/seeds.csv", 0.9},
	{"--data b/data.csv --k 3 --algorithm constrained-spectral --rho 1 --seeds b/seeds.csv --constraints " +
		"b/constraints.csv", 0.9},
	{"--data b/data.csv --k 3 --algorithm spectral --rho 1 --storage none", 0.9},
	{"--data b/data.csv --k 3 --algorithm spectral-learning --kernel laplacian --constraints b/constraints.csv " +
		"--affinity-diagonal keep", 0.7},
	{"--data b/data.csv --k 3 --algorithm constrained-spectral --rho 1 --constraints b/constraints.csv --discretize " +
		"weighted", 0.9},
	{"--kernel-matrix b/kernel.csv --k 3 --algorithm spectral", 0.9},
	{"--graph b/edges.csv --k 3 --init spectral", 0.9},
}

// spectralFolder makes a graph of three blocks, and points and a kernel matrix with the same truth.
func spectralFolder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	succeed(t, "generate blocks --n 72 --k 3 --constraints 100 --seed 2 --out b")
	var points, kernel, seeds strings.Builder
	points.WriteString("x,y\n")
	seeds.WriteString("index,label\n")
	groups := truthOf(t, "b/truth.csv")
	for i, group := range groups {
		fmt.Fprintf(&points, "%g,%g\n", 3*float64(group)+math.Sin(float64(i)), math.Cos(float64(7*i)))
		if i%4 == 0 {
			fmt.Fprintf(&seeds, "%d,%d\n", i, group)
		}
		for j, other := range groups {
			value := 0.1
			if group == other {
				value = 1 + 0.1*math.Cos(float64(i+j))
			}
			fmt.Fprintf(&kernel, "%g%s", value, map[bool]string{true: "\n", false: ","}[j == len(groups)-1])
		}
	}
	for name, text := range map[string]string{"b/data.csv": points.String(), "b/kernel.csv": kernel.String(),
		"b/seeds.csv": seeds.String()} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func truthOf(t *testing.T, path string) []int64 {
	t.Helper()
	_, labels, err := format.LoadTable(path, table.Labels, 0)
	if err != nil {
		t.Fatal(err)
	}
	return labels
}

func TestSpectralRuns(t *testing.T) {
	spectralFolder(t)
	for _, c := range testscale.Some(spectralRuns, 4) {
		t.Run(c.args, func(t *testing.T) {
			args := c.args
			one := t.TempDir()
			three := t.TempDir()
			job := "run --quiet --seed 4 --truth b/truth.csv " + args
			succeed(t, job+" --workers 1 --out "+one)
			succeed(t, job+" --workers 3 --out "+three)
			d := answer(t, clitest.Read(t, one+"/result.json"))
			if other := answer(t, clitest.Read(t, three+"/result.json")); !proto.Equal(d, other) {
				t.Errorf("one worker gives\n%+v\nthree\n%+v", d, other)
			}
			names := []string{"labels.csv", "clusters.svg"}
			if d.Spectral != nil {
				names = append(names, "embedding.csv")
			}
			for _, name := range names {
				if clitest.Read(t, one+"/"+name) != clitest.Read(t, three+"/"+name) {
					t.Errorf("%s depends on the workers", name)
				}
			}
			nmi := readResult(t, clitest.Read(t, one+"/result.json")).Evaluation.GetNmi()
			if (d.Spectral == nil) != strings.Contains(args, "--init") || nmi < c.nmi {
				t.Errorf("NMI %v, %+v", nmi, d.Spectral)
			}
			if d.Spectral == nil {
				return
			}
			// Constraints and seeds choose, where nothing is said about the cuts of the paper; these have a beta.
			constrained := strings.Contains(args, "constrained-spectral")
			chosen := constrained && !strings.Contains(args, "--beta") && !strings.Contains(args, "--discretize") &&
				!strings.Contains(args, "--source")
			cut := constrained && d.Spectral.Chosen != cleavev1.CutRule_CUT_RULE_UNCONSTRAINED && d.Spectral.Width == 0
			if s := d.Spectral; (s.Beta != nil) != cut || (s.FeasibleVectors != nil) != cut ||
				(len(s.ConstraintSatisfaction) == 2) != cut ||
				(s.Chosen != cleavev1.CutRule_CUT_RULE_UNSPECIFIED) != chosen || (len(s.Candidates) > 0) != chosen {
				t.Errorf("reported are %+v", s)
			}
		})
	}
}

func TestSpectralJobsOfAServer(t *testing.T) {
	spectralFolder(t)
	address := startServe(t, "--workers 2 --data-dir state")
	job := "--graph b/edges.csv --k 3 --algorithm spectral --constraints b/constraints.csv"
	succeed(t, "run --quiet "+job+" --out embedded")
	id := strings.TrimSpace(succeed(t, "submit --wait --quiet "+job+" --server "+address))
	succeed(t, "result "+id+" --quiet --graph b/edges.csv --out remote --server "+address)
	for _, name := range []string{"labels.csv", "embedding.csv", "objective.svg", "clusters.svg"} {
		if clitest.Read(t, "embedded/"+name) != clitest.Read(t, "remote/"+name) {
			t.Errorf("%s differs", name)
		}
	}
	if out := succeed(t, "watch "+id+" --server "+address); !strings.HasPrefix(out, "eigenvectors: step 1, residual ") {
		t.Errorf("watch: %s", out)
	}
	if out := succeed(t, "plan "+job+" --server "+address); !strings.Contains(out, "72 x 72 in 5 tiles") {
		t.Errorf("plan: %s", out)
	}
	refused(t, "predict --job "+id+" --data b/data.csv --server "+address, "has no model")
}

// The example of Wang2014 4.4 from its files: Q has ones on its diagonal, beta = vol.
func TestWang2014FromFiles(t *testing.T) {
	beliefs := "i,j,belief\n"
	side := []int{1, 1, 1, 1, -1, -1}
	for i := range side {
		for j := i; j < len(side); j++ {
			beliefs += fmt.Sprintf("%d,%d,%d\n", j, i, side[i]*side[j])
		}
	}
	clitest.Folder(t, map[string]string{"e.csv": "src,dst\n0,1\n0,2\n1,2\n2,3\n3,4\n3,5\n4,5\n", "q.csv": beliefs})
	succeed(t, "run --quiet --graph e.csv --k 2 --algorithm constrained-spectral --beliefs q.csv --beta 14 --out o")
	d := readResult(t, clitest.Read(t, "o/result.json"))
	if s := d.Spectral; s.Volume != 14 || *s.Beta != 14 || math.Abs(s.Eigenvalues[0]-0.138987) > 5e-6 ||
		len(s.Costs) != 1 {
		t.Errorf("got %+v", s)
	}
	if got := labelColumns(clitest.Read(t, "o/labels.csv")); got != "index,label\n0,0\n1,0\n2,0\n3,0\n4,1\n5,1\n" {
		t.Errorf("labels %s", got)
	}
	want := []float64{1.49126, 1.49126, 1.20576, 0.43751, -0.20541, -0.20541}
	for i, line := range strings.Split(strings.TrimSpace(clitest.Read(t, "o/embedding.csv")), "\n")[1:] {
		var index int
		var u float64
		if _, err := fmt.Sscanf(line, "%d,%g", &index, &u); err != nil || index != i || math.Abs(u-want[i]) > 5e-6 {
			t.Errorf("row %d is %q, want %v (%v)", i, line, want[i], err)
		}
	}
	refused(t, "run --quiet --graph e.csv --k 2 --algorithm constrained-spectral --beliefs q.csv --beta 100",
		"largest usable beta")
}
