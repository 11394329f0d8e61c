package cli

import (
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
)

func TestSpectralUsageErrors(t *testing.T) {
	clitest.Folder(t, clitest.SpectralFiles)
	for _, c := range []struct{ args, want string }{
		{"run --data p.csv --k 2 --algorithm spectral --objective ratio-cut",
			"--objective ratio-cut does not apply to spectral, only normalized-cut or ratio-association"},
		{"run --data p.csv --k 2 --algorithm spectral --objective kernel-kmeans",
			"--objective kernel-kmeans does not apply to spectral"},
		{"run --data p.csv --k 2 --algorithm spectral-learning --objective normalized-cut",
			"--objective does not apply to spectral-learning"},
		{"run --data p.csv --k 2 --algorithm constrained-spectral --constraints c.csv --objective ratio-cut",
			"--objective ratio-cut does not apply to constrained-spectral, where it is always normalized-cut"},
		{"run --data p.csv --k 2 --algorithm spectral --beta 1",
			"--beta does not apply to spectral, only to constrained-spectral"},
		{"run --data p.csv --k 2 --algorithm spectral --discretize sign",
			"--discretize sign does not apply to spectral, where it is always plain"},
		{"run --data p.csv --k 2 --algorithm kernel-kmeans --beliefs q.csv",
			"--beliefs does not apply to kernel-kmeans, only to constrained-spectral"},
		{"run --data p.csv --k 2 --algorithm kmeans --source-graph e.csv", "--source-graph does not apply to kmeans"},
		{"run --data p.csv --k 2 --algorithm spectral --components join", "--components join is for graphs"},
		{"run --data p.csv --k 2 --algorithm spectral --seeds s.csv --constraints c.csv",
			"spectral uses seeds as constraints, so they cannot be combined with --constraints"},
		{"run --data p.csv --k 2 --algorithm spectral --weights w.csv", "--weights does not apply to spectral"},
		{"run --data p.csv --k 2 --algorithm spectral --sigma 0", "--sigma does not apply to spectral"},
		{"run --data p.csv --k 2 --algorithm spectral --init random",
			"--init does not apply to spectral: it computes eigenvectors, which need no starting point"},
		{"run --data p.csv --k 2 --algorithm kmeans --init spectral", "--init spectral does not apply to kmeans"},
		{"run --graph e.csv --k 2 --algorithm spectral --rho 1", "--rho does not apply to a graph"},
		{"run --graph e.csv --k 2 --algorithm spectral --affinity-diagonal zero", "here the diagonal is kept"},
		{"run --graph e.csv --k 2 --algorithm spectral --storage none", "--storage none does not apply to a graph"},
		{"run --data p.csv --k 2 --algorithm spectral --kernel linear --rho 1",
			"--rho does not apply to the linear kernel"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral",
			"constrained-spectral needs --constraints, --seeds or --beliefs"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --beliefs q.csv --source-graph e.csv",
			"--beliefs and --source-graph were both given; each is a whole constraint matrix"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --beliefs q.csv --constraints c.csv",
			"--constraints and --seeds cannot be combined with --beliefs, which is a whole constraint matrix"},
		{"run --graph e.csv -f csp.yaml --constraints c.csv",
			"--constraints and --seeds cannot be combined with --beliefs, which is a whole constraint matrix"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --beliefs q.csv --entail",
			"--entail requires --constraints"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --beliefs twice.csv",
			`twice.csv, line 3, column "j": the pair 1, 0 is listed a second time; the first is on line 2`},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --beliefs silent.csv",
			"silent.csv: the file has no beliefs"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --beliefs c.csv", "the columns are i,j,belief"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --source-data few.csv",
			"few.csv has 2 rows, but the data has 4"},
		{"run --data p.csv --k 2 --algorithm kmeans --seeds s.csv", "--seeds does not apply to kmeans"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --source-graph far.csv",
			"far.csv, line 3: vertex 9 is outside 0..3"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --constraints c.csv --beta much",
			`--beta is "much"; use a finite number, auto, paper or strict`},
	} {
		t.Run(c.args, func(t *testing.T) { refused(t, c.args, c.want) })
	}
}
