package cli

import (
	"maps"
	"testing"
)

var spectralFiles = func() map[string]string {
	files := maps.Clone(smallFiles)
	files["q.csv"] = "i,j,belief\n0,1,1\n3,0,-0.5\n2,2,1\n"
	files["twice.csv"] = "i,j,belief\n0,1,1\n1,0,1\n"
	files["silent.csv"] = "i,j,belief\n"
	files["far.csv"] = "src,dst\n0,1\n1,9\n"
	files["gaps.csv"] = "x,y\n0,0\n0,1\n,\n5,6\n"
	files["few.csv"] = "x\n1\n2\n"
	files["csp.yaml"] = "k: 2\nconstrainedSpectral: {beta: {rule: BETA_RULE_STRICT}, beliefs: [{i: 1, j: 2, value: -1}]}\n"
	return files
}()

func TestSpectralFlagsBecomeAJobSpec(t *testing.T) {
	folder(t, spectralFiles)
	const constraints = `supervision:{constraints:{j:1 kind:CONSTRAINT_KIND_MUST_LINK} constraints:{j:2 kind:CONSTRAINT_KIND_CANNOT_LINK weight:2.5}}`
	for _, c := range []struct{ args, want string }{
		{"--graph e.csv --k 2 --algorithm spectral", `display_name:"e.csv" k:2 spectral:{}`},
		{"--graph e.csv --k 2 --algorithm spectral --objective ratio-association --affinity-diagonal keep --discretize plain",
			`display_name:"e.csv" k:2 spectral:{objective:OBJECTIVE_RATIO_ASSOCIATION}`}, // the rest is implied
		{"--data p.csv --k 2 --algorithm spectral --objective normalized-cut --kernel laplacian --rho 2 --affinity-diagonal keep --constraints c.csv",
			`display_name:"p.csv" k:2 ` + constraints + ` spectral:{objective:OBJECTIVE_NORMALIZED_CUT
				kernel:{function:KERNEL_FUNCTION_LAPLACIAN rho:2} affinity_diagonal:AFFINITY_DIAGONAL_KEEP}`},
		{"--data p.csv --k 2 --algorithm spectral-learning --rho auto --storage none --restarts 3",
			`display_name:"p.csv" k:2 storage:STORAGE_MODE_NONE spectral_learning:{kernel:{} eigenvectors:{kmeans_restarts:3}}`},
		{"--kernel-matrix k.csv --k 2 --algorithm spectral-learning --affinity-diagonal zero",
			`display_name:"k.csv" k:2 spectral_learning:{affinity_diagonal:AFFINITY_DIAGONAL_ZERO}`},
		{"--graph e.csv --k 2 --algorithm constrained-spectral --constraints c.csv --beta 1.5 --discretize sign --components join --objective normalized-cut",
			`display_name:"e.csv" k:2 ` + constraints + ` constrained_spectral:{beta:{value:1.5} discretization:DISCRETIZATION_SIGN components:COMPONENT_POLICY_JOIN}`},
		{"--data p.csv --k 3 --algorithm constrained-spectral --kernel linear --beliefs q.csv --beta strict --discretize weighted",
			`display_name:"p.csv" k:3 constrained_spectral:{kernel:{function:KERNEL_FUNCTION_LINEAR} beta:{rule:BETA_RULE_STRICT} discretization:DISCRETIZATION_WEIGHTED
				beliefs:{j:1 value:1} beliefs:{i:3 value:-0.5} beliefs:{i:2 j:2 value:1}}`},
		{"--graph e.csv --k 2 --algorithm constrained-spectral --source-graph e.csv --beta auto",
			`display_name:"e.csv" k:2 constrained_spectral:{transfer:true beliefs:{j:1 value:1} beliefs:{i:1 j:2 value:2} beliefs:{i:2 j:3 value:1}}`},
		{"--graph e.csv --k 2 --algorithm constrained-spectral --seeds s.csv",
			`display_name:"e.csv" k:2 supervision:{seeds:{} seeds:{index:2 label:1}} constrained_spectral:{}`},
		{"--graph e.csv -f csp.yaml --beta -2", `display_name:"e.csv" k:2 constrained_spectral:{beta:{value:-2} beliefs:{i:1 j:2 value:-1}}`},
		{"--graph e.csv -f csp.yaml --beta auto --beliefs q.csv",
			`display_name:"e.csv" k:2 constrained_spectral:{beliefs:{j:1 value:1} beliefs:{i:3 value:-0.5} beliefs:{i:2 j:2 value:1}}`},
		{"--data p.csv --k 2 --init spectral", `display_name:"p.csv" k:2 initialization:{start:START_SPECTRAL} kernel_kmeans:{}`},
	} {
		t.Run(c.args, func(t *testing.T) { becomes(t, c.args, c.want) })
	}
}

// Beliefs speak of the rows of the file; those about rows that are left out go with them.
func TestBeliefsAboutDroppedRows(t *testing.T) {
	folder(t, spectralFiles)
	becomes(t, "--data gaps.csv --missing drop --k 2 --algorithm constrained-spectral --beliefs q.csv",
		`display_name:"gaps.csv" k:2 constrained_spectral:{beliefs:{j:1 value:1} beliefs:{i:2 value:-0.5}}`)
}

func TestSpectralUsageErrors(t *testing.T) {
	folder(t, spectralFiles)
	for _, c := range []struct{ args, want string }{
		{"run --data p.csv --k 2 --algorithm spectral --objective ratio-cut", "--objective ratio-cut does not apply to spectral, only normalized-cut or ratio-association"},
		{"run --data p.csv --k 2 --algorithm spectral --objective kernel-kmeans", "--objective kernel-kmeans does not apply to spectral"},
		{"run --data p.csv --k 2 --algorithm spectral-learning --objective normalized-cut", "--objective does not apply to spectral-learning"},
		{"run --data p.csv --k 2 --algorithm constrained-spectral --constraints c.csv --objective ratio-cut",
			"--objective ratio-cut does not apply to constrained-spectral, where it is always normalized-cut"},
		{"run --data p.csv --k 2 --algorithm spectral --beta 1", "--beta does not apply to spectral, only to constrained-spectral"},
		{"run --data p.csv --k 2 --algorithm spectral --discretize sign", "--discretize sign does not apply to spectral, where it is always plain"},
		{"run --data p.csv --k 2 --beliefs q.csv", "--beliefs does not apply to kernel-kmeans, only to constrained-spectral"},
		{"run --data p.csv --k 2 --algorithm kmeans --source-graph e.csv", "--source-graph does not apply to kmeans"},
		{"run --data p.csv --k 2 --algorithm spectral --components join", "--components join does not apply to spectral, where it is always keep"},
		{"run --data p.csv --k 2 --algorithm spectral --seeds s.csv", "--seeds does not apply to spectral"},
		{"run --data p.csv --k 2 --algorithm spectral --weights w.csv", "--weights does not apply to spectral"},
		{"run --data p.csv --k 2 --algorithm spectral --sigma 0", "--sigma does not apply to spectral"},
		{"run --data p.csv --k 2 --algorithm spectral --init random", "--init does not apply to spectral: its coordinates depend on no start"},
		{"run --data p.csv --k 2 --algorithm kmeans --init spectral", "--init spectral does not apply to kmeans"},
		{"run --data x.svm --k 2 --algorithm spectral", "spectral does not take sparse points"},
		{"run --graph e.csv --k 2 --algorithm spectral --rho 1", "--rho does not apply to --graph"},
		{"run --graph e.csv --k 2 --algorithm spectral --affinity-diagonal zero", "the diagonal of a graph is kept"},
		{"run --graph e.csv --k 2 --algorithm spectral --storage none", "--storage none does not apply to --graph"},
		{"run --data p.csv --k 2 --algorithm spectral --kernel linear --rho 1", "--rho does not apply to the linear kernel"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral", "constrained-spectral needs something to respect: give --constraints, --seeds, --beliefs, --source-graph or --source-data"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --beliefs q.csv --source-graph e.csv", "--beliefs and --source-graph were given; each is a whole constraint matrix"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --beliefs q.csv --constraints c.csv", "constraints and seeds go with neither --beliefs nor --source-graph"},
		{"run --graph e.csv -f csp.yaml --constraints c.csv", "constraints and seeds go with neither --beliefs nor --source-graph"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --beliefs q.csv --entail", "--entail goes with --constraints only"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --beliefs twice.csv", "twice.csv, line 3: the pair 1, 0 stands here again; it was on line 2"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --beliefs silent.csv", "silent.csv: the file has no beliefs"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --beliefs c.csv", "the columns here are i,j,belief"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --source-data few.csv", "few.csv has 2 rows, the data 4"},
		{"run --graph e.csv --k 2 --algorithm spectral --seeds s.csv", "--seeds does not apply to spectral"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --source-graph far.csv", "far.csv, line 3: vertex 9 is outside 0..3"},
		{"run --graph e.csv --k 2 --algorithm constrained-spectral --constraints c.csv --beta much", `--beta is "much"; use a finite number, auto or strict`},
	} {
		t.Run(c.args, func(t *testing.T) { misused(t, c.args, c.want) })
	}
}
