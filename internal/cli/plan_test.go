package cli

import (
	"encoding/json"
	"strings"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func TestPlan(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate gaussians --n 300 --d 4 --k 3 --constraints 10 --out g")
	const job = "--data g/data.csv --k 3 --algorithm kernel-kmeans --constraints g/constraints.csv "
	var p struct {
		Tiles, TileRows, StoredTiles, ComputedTiles, Workers int
		Storage, Explanation, TileBytes, Bytes               string
		Shares                                               []struct{ Name string }
		Passes                                               float64
	}
	if err := json.Unmarshal([]byte(succeed(t, "plan --json --workers 3 "+job)), &p); err != nil {
		t.Fatal(err)
	}
	if p.Tiles != 19 || p.TileRows != 16 || p.StoredTiles != 19 || p.ComputedTiles != 0 ||
		p.Storage != "PLAN_STORAGE_FLOAT32" || p.Workers != 3 ||
		len(p.Shares) != 3 || p.TileBytes != "364800" || p.Passes < 2 ||
		!strings.Contains(p.Explanation, "all of the matrix is stored") {
		t.Errorf("the plan is %+v", p)
	}
	for _, want := range []string{"300 x 300 in 19 tiles of 16 rows", "none: 0 stored", "19 computed when needed",
		"on 1 worker", "about", "as requested"} {
		if out := succeed(t, "plan --storage none "+job); !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	// Planning on a server makes no job, and a run follows its plan.
	address := startServe(t, "--workers 2")
	if out := succeed(t, "plan --storage none --server "+address+" "+job); !strings.Contains(out, "worker-0") {
		t.Errorf("on a server\n%s", out)
	}
	if out := succeed(t, "list --server "+address); strings.Count(out, "\n") != 1 {
		t.Errorf("planning made a job: %s", out)
	}
	d := readResult(t, succeed(t, "run --quiet --json --storage none --server "+address+" "+job))
	if d.Plan.Storage != cleavev1.PlanStorage_PLAN_STORAGE_NONE || d.Plan.StoredTiles != 0 ||
		d.Plan.ComputedTiles != 19 || d.Plan.TileBytes != 0 || d.Plan.Bytes == 0 || d.Plan.Workers != 2 {
		t.Errorf("carried out was %+v", d.Plan)
	}
	if r := invoke(t, "plan --server "+startServe(t, "--workers 0")+" "+job); r.code != 2 ||
		!strings.Contains(r.stderr, "no worker is connected") {
		t.Errorf("without workers: exit code %d, %s", r.code, r.stderr)
	}
}

func TestPlanOfEigenvectors(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate blocks --n 300 --k 3 --constraints 50 --out g")
	for options, wants := range map[string][]string{
		"--algorithm spectral": {"for eigenvectors, besides the data",
			"about 250 matrix-vector products (assumed)", "is assumed to take 250 products"},
		"--algorithm constrained-spectral": {"for eigenvectors, besides the data", "about 300 matrix-vector products",
			"found at once"},
		"--init spectral": {"for eigenvectors, besides the data", "is assumed to take 250 products"},
	} {
		out := succeed(t, "plan --graph g/edges.csv --k 3 --constraints g/constraints.csv "+options)
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is not in\n%s", options, want, out)
			}
		}
	}
}

func TestStorageDoesNotChangeTheAnswer(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate two-circles --n 150 --constraints 20 --seed 3 --out g")
	const job = "run --quiet --json --data g/data.csv --k 3 --constraints g/constraints.csv --seed 5 --init random " +
		"--restarts 2 --storage "
	first := succeed(t, job+"float32")
	for _, storage := range []string{"none", "auto"} {
		if a, b := answer(t, first), answer(t, succeed(t, job+storage)); a.Objective != b.Objective ||
			a.Iterations != b.Iterations {
			t.Errorf("storage %s gives %+v, float32 %+v", storage, b, a)
		}
	}
}
