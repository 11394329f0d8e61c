package jobflags

import (
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
)

func TestSpectralFlagsBecomeAJobSpec(t *testing.T) {
	clitest.Folder(t, clitest.SpectralFiles)
	constraints := `supervision:{constraints:` + tableText("i j kind weight", "0 1 must -", "0 2 cannot 2.5") + `}`
	beliefs := tableText("i j belief", "0 1 1", "3 0 -0.5", "2 2 1")
	for _, c := range []struct{ args, want string }{
		{"--graph e.csv --k 2 --algorithm spectral", `display_name:"e.csv" k:2 spectral:{}`},
		{"--graph e.csv --k 2 --algorithm spectral --objective ratio-association --affinity-diagonal keep " +
			"--discretize plain",
			`display_name:"e.csv" k:2 spectral:{objective:OBJECTIVE_RATIO_ASSOCIATION ` +
				`affinity_diagonal:AFFINITY_DIAGONAL_KEEP}`}, // the rest is implied
		{"--data p.csv --k 2 --algorithm spectral --objective normalized-cut --kernel laplacian --rho 2 " +
			"--affinity-diagonal keep --constraints c.csv",
			`display_name:"p.csv" k:2 ` + constraints + ` spectral:{objective:OBJECTIVE_NORMALIZED_CUT
				kernel:{function:KERNEL_FUNCTION_LAPLACIAN rho:2} affinity_diagonal:AFFINITY_DIAGONAL_KEEP}`},
		{"--data p.csv --k 2 --algorithm spectral-learning --rho auto --storage none --restarts 3",
			`display_name:"p.csv" k:2 storage:STORAGE_MODE_NONE spectral_learning:{kernel:{} ` +
				`eigenvectors:{kmeans_restarts:3}}`},
		{"--kernel-matrix k.csv --k 2 --algorithm spectral-learning --affinity-diagonal zero",
			`display_name:"k.csv" k:2 spectral_learning:{affinity_diagonal:AFFINITY_DIAGONAL_ZERO}`},
		{"--graph e.csv --k 2 --algorithm constrained-spectral --constraints c.csv --beta 1.5 --discretize sign " +
			"--components join --objective normalized-cut",
			`display_name:"e.csv" k:2 ` + constraints +
				` constrained_spectral:{beta:{value:1.5} discretization:DISCRETIZATION_SIGN ` +
				`components:COMPONENT_POLICY_JOIN}`},
		{"--data p.csv --k 3 --algorithm constrained-spectral --kernel linear --beliefs q.csv --beta strict " +
			"--discretize weighted",
			`display_name:"p.csv" k:3 constrained_spectral:{kernel:{function:KERNEL_FUNCTION_LINEAR}
				beta:{rule:BETA_RULE_STRICT} discretization:DISCRETIZATION_WEIGHTED beliefs:` + beliefs + `}`},
		{"--graph e.csv --k 2 --algorithm constrained-spectral --source-graph e.csv --beta auto",
			`display_name:"e.csv" k:2 constrained_spectral:{beta:{rule:BETA_RULE_AUTO} transfer:true beliefs:` +
				tableText("i j belief", "0 1 1", "1 2 2", "2 3 1") + `}`},
		{"--graph e.csv --k 2 --algorithm constrained-spectral --seeds s.csv",
			`display_name:"e.csv" k:2 supervision:{seeds:` + tableText("index label", "0 0", "2 1") +
				`} constrained_spectral:{}`},
		{"--graph e.csv -f csp.yaml --beta -2",
			`display_name:"e.csv" k:2 constrained_spectral:{beta:{value:-2} beliefs:` + tableText("i j belief",
				"1 2 -1") + `}`},
		{"--graph e.csv -f csp.yaml --beta auto --beliefs q.csv",
			`display_name:"e.csv" k:2 constrained_spectral:{beta:{rule:BETA_RULE_AUTO} beliefs:` + beliefs + `}`},
		{"--data p.csv --k 2 --init spectral",
			`display_name:"p.csv" k:2 initialization:{start:START_SPECTRAL} kernel_kmeans:{}`},
	} {
		t.Run(c.args, func(t *testing.T) { checkSpec(t, c.args, c.want) })
	}
}

// Beliefs number the rows of the file; those about dropped rows are dropped with them.
func TestBeliefsAboutDroppedRows(t *testing.T) {
	clitest.Folder(t, clitest.SpectralFiles)
	checkSpec(t, "--data gaps.csv --missing drop --k 2 --algorithm constrained-spectral --beliefs q.csv",
		`display_name:"gaps.csv" k:2 constrained_spectral:{beliefs:`+tableText("i j belief", "0 1 1", "2 0 -0.5")+`}`)
}
