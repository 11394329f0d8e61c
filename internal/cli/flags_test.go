package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// folder makes a folder of small files and steps into it, so that flags can name them shortly.
func folder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

var smallFiles = map[string]string{
	"p.csv":      "x,y\n0,0\n0,1\n5,5\n5,6\n",
	"e.csv":      "src,dst,weight\n0,1,1\n1,2,2\n2,3,1\n",
	"k.csv":      "1,0.5,0\n0.5,1,0\n0,0,1\n",
	"c.csv":      "i,j,kind,weight\n0,1,must,\n0,2,cannot,2.5\n",
	"none.csv":   "i,j,kind,weight\n",
	"s.csv":      "index,label\n0,0\n2,1\n",
	"w.csv":      "index,weight\n1,2\n",
	"l.csv":      "index,label\n0,0\n1,0\n2,1\n3,1\n",
	"job.yaml":   "k: 3\nseed: 7\nkernelKmeans:\n  kernel: {function: KERNEL_FUNCTION_LAPLACIAN, rho: 2}\n",
	"byid.yaml":  "dataset_id: abc\nk: 2\n",
	"wrong.yaml": "k: 3\nclusters: 4\n",
	"broken.yml": "k: [3\n",
	"x.svm":      "1 1:0.5 3:2\n-1 2:1\n1 3:1\n",
	"m.csv":      "x,y\n0,0.5\n5,5.5\n",
	"m3.csv":     "0,0,0\n1,1,1\n",
	"other.csv":  "y,x\n0,0.5\n5,5.5\n",
	"likely.csv": "index,label,probability\n0,0,0.75\n0,1,0.25\n2,1,\n",
	"hmrf.yaml":  "k: 2\nhmrfKmeans: {distortion: DISTORTION_COSINE, inference: INFERENCE_BP}\n",
}

func TestFlagsBecomeAJobSpec(t *testing.T) {
	folder(t, smallFiles)
	for _, c := range []struct{ args, want string }{
		{"--data p.csv --k 2", `display_name:"p.csv" k:2 kernel_kmeans:{}`},
		{"--data p.csv --k 2 --name mine --seed 18446744073709551615 --restarts 5 --tolerance 1e-6",
			`display_name:"mine" k:2 seed:18446744073709551615 restarts:5 tolerance:1e-6 kernel_kmeans:{}`},
		{"--data p.csv --k 2 --max-iterations 0", `display_name:"p.csv" k:2 max_iterations:0 kernel_kmeans:{}`},
		{"--data p.csv --k 2 --algorithm kernel-kmeans --kernel gaussian --rho 1.5",
			`display_name:"p.csv" k:2 kernel_kmeans:{kernel:{function:KERNEL_FUNCTION_GAUSSIAN rho:1.5}}`},
		{"--data p.csv --k 2 --rho auto", `display_name:"p.csv" k:2 kernel_kmeans:{kernel:{}}`},
		{"--data p.csv --k 2 --kernel polynomial --gamma 0.5 --coef0 -1 --degree 3",
			`display_name:"p.csv" k:2 kernel_kmeans:{kernel:{function:KERNEL_FUNCTION_POLYNOMIAL gamma:0.5 coef0:-1 degree:3}}`},
		{"--data p.csv --k 2 --kernel sigmoid --gamma 2", `display_name:"p.csv" k:2 kernel_kmeans:{kernel:{function:KERNEL_FUNCTION_SIGMOID gamma:2}}`},
		{"--data p.csv --k 2 --sigma auto --on-rise stop --empty keep",
			`display_name:"p.csv" k:2 kernel_kmeans:{shift:{rule:SHIFT_RULE_AUTO} on_rise:RISE_POLICY_STOP on_empty:EMPTY_POLICY_KEEP}`},
		{"--data p.csv --k 2 --sigma 0.25", `display_name:"p.csv" k:2 kernel_kmeans:{shift:{sigma:0.25}}`},
		{"--data p.csv --k 2 --objective ratio-cut --affinity-diagonal keep",
			`display_name:"p.csv" k:2 kernel_kmeans:{objective:OBJECTIVE_RATIO_CUT affinity_diagonal:AFFINITY_DIAGONAL_KEEP}`},
		{"--data p.csv --k 2 --affinity-diagonal keep", `display_name:"p.csv" k:2 kernel_kmeans:{}`}, // implied
		{"--graph e.csv --k 2 --affinity-diagonal keep", `display_name:"e.csv" k:2 kernel_kmeans:{}`},
		{"--graph e.csv --vertices 6 --k 2 --objective normalized-cut", `display_name:"e.csv" k:2 kernel_kmeans:{objective:OBJECTIVE_NORMALIZED_CUT}`},
		{"--kernel-matrix k.csv --k 2 --objective ratio-association", `display_name:"k.csv" k:2 kernel_kmeans:{objective:OBJECTIVE_RATIO_ASSOCIATION}`},
		{"--data p.csv --k 2 --weights w.csv --objective kernel-kmeans",
			`display_name:"p.csv" k:2 kernel_kmeans:{objective:OBJECTIVE_KERNEL_KMEANS weights:1 weights:2 weights:1 weights:1}`},
		{"--data p.csv --k 2 --constraints c.csv --entail --farthest mean",
			`display_name:"p.csv" k:2 supervision:{entail:true
				constraints:{j:1 kind:CONSTRAINT_KIND_MUST_LINK} constraints:{j:2 kind:CONSTRAINT_KIND_CANNOT_LINK weight:2.5}}
				initialization:{farthest:FARTHEST_RULE_MEAN} kernel_kmeans:{}`},
		{"--data p.csv --k 2 --constraints none.csv --farthest mean", `display_name:"p.csv" k:2 supervision:{} initialization:{} kernel_kmeans:{}`},
		{"--data p.csv --k 2 --seeds s.csv", `display_name:"p.csv" k:2 supervision:{seeds:{} seeds:{index:2 label:1}} kernel_kmeans:{}`},
		{"--data p.csv --k 2 --seeds s.csv --init seeds",
			`display_name:"p.csv" k:2 supervision:{seeds:{} seeds:{index:2 label:1}} initialization:{start:START_SEEDS} kernel_kmeans:{}`},
		{"--data p.csv --k 2 --init labels:l.csv",
			`display_name:"p.csv" k:2 initialization:{start:START_LABELS labels:0 labels:0 labels:1 labels:1} kernel_kmeans:{}`},
		{"--data p.csv --k 2 --init kmeans++", `display_name:"p.csv" k:2 initialization:{start:START_KMEANS_PLUS_PLUS} kernel_kmeans:{}`},
		{"--data p.csv --k 2 --init random", `display_name:"p.csv" k:2 initialization:{start:START_RANDOM} kernel_kmeans:{}`},
		{"--data p.csv --k 2 --init farthest-first --farthest total",
			`display_name:"p.csv" k:2 initialization:{start:START_FARTHEST_FIRST farthest:FARTHEST_RULE_TOTAL} kernel_kmeans:{}`},
		{"--data p.csv --k 2 --storage float32", `display_name:"p.csv" k:2 storage:STORAGE_MODE_FLOAT32 kernel_kmeans:{}`},
		{"--data p.csv --k 2 --storage none", `display_name:"p.csv" k:2 storage:STORAGE_MODE_NONE kernel_kmeans:{}`},
		{"--graph e.csv --k 2 --storage float32", `display_name:"e.csv" k:2 storage:STORAGE_MODE_FLOAT32 kernel_kmeans:{}`},
		{"--data p.csv --k 2 --storage auto", `display_name:"p.csv" k:2 kernel_kmeans:{}`},
		{"--data p.csv -f job.yaml", `display_name:"p.csv" k:3 seed:7 kernel_kmeans:{kernel:{function:KERNEL_FUNCTION_LAPLACIAN rho:2}}`},
		{"--data p.csv -f job.yaml --k 2 --seed 0 --rho 3",
			`display_name:"p.csv" k:2 kernel_kmeans:{kernel:{function:KERNEL_FUNCTION_LAPLACIAN rho:3}}`},
		{"--data p.csv -f job.yaml --kernel linear", // takes the file's rho with it
			`display_name:"p.csv" k:3 seed:7 kernel_kmeans:{kernel:{function:KERNEL_FUNCTION_LINEAR}}`},
		{"--data p.csv --k 2 --algorithm kmeans", `display_name:"p.csv" k:2 kmeans:{}`},
		{"--data p.csv --k 2 --algorithm kmeans --geometry spherical --distortion cosine --metric identity --empty farthest --storage auto",
			`display_name:"p.csv" k:2 kmeans:{geometry:GEOMETRY_SPHERICAL}`}, // the rest is implied
		{"--data x.svm --k 2 --algorithm kmeans --geometry euclidean --distortion euclidean", `display_name:"x.svm" k:2 kmeans:{geometry:GEOMETRY_EUCLIDEAN}`},
		{"--data p.csv --k 2 --algorithm seeded-kmeans --seeds s.csv --init seeds",
			`display_name:"p.csv" k:2 supervision:{seeds:{} seeds:{index:2 label:1}} initialization:{start:START_SEEDS} seeded_kmeans:{}`},
		{"--data p.csv --k 2 --algorithm constrained-kmeans --seeds likely.csv", `display_name:"p.csv" k:2
			supervision:{seeds:{probability:0.75} seeds:{label:1 probability:0.25} seeds:{index:2 label:1}} constrained_kmeans:{}`},
		{"--data p.csv --k 2 --algorithm cop-kmeans --constraints c.csv --max-restarts 3 --empty keep", `display_name:"p.csv" k:2
			supervision:{constraints:{j:1 kind:CONSTRAINT_KIND_MUST_LINK} constraints:{j:2 kind:CONSTRAINT_KIND_CANNOT_LINK weight:2.5}}
			cop_kmeans:{max_restarts:3}`},
		{"--data p.csv --k 2 --algorithm pc-kmeans --penalty potts --metric identity --inference lp", `display_name:"p.csv" k:2 pc_kmeans:{inference:INFERENCE_LP}`},
		{"--data p.csv --k 2 --algorithm m-kmeans --metric full --geometry euclidean", `display_name:"p.csv" k:2 m_kmeans:{metric:METRIC_FULL}`},
		{"--data p.csv --k 2 --algorithm mpc-kmeans --penalty bilenko2004 --metric diagonal --inference exact --init weighted-farthest-first",
			`display_name:"p.csv" k:2 initialization:{start:START_WEIGHTED_FARTHEST_FIRST}
			mpc_kmeans:{penalty:PENALTY_BILENKO2004 metric:METRIC_DIAGONAL inference:INFERENCE_EXACT}`},
		{"--data p.csv --k 2 --algorithm hmrf-kmeans --distortion i-divergence --penalty basu2003 --inference bp --init neighbourhoods",
			`display_name:"p.csv" k:2 initialization:{start:START_NEIGHBORHOODS}
			hmrf_kmeans:{distortion:DISTORTION_I_DIVERGENCE penalty:PENALTY_BASU2003 inference:INFERENCE_BP}`},
		{"--data p.csv --k 2 --algorithm hmrf-kmeans --distortion cosine --geometry spherical --metric identity",
			`display_name:"p.csv" k:2 hmrf_kmeans:{distortion:DISTORTION_COSINE metric:METRIC_IDENTITY}`},
		{"--data p.csv --k 2 --algorithm kmeans --init centroids:m.csv",
			`display_name:"p.csv" k:2 initialization:{start:START_CENTROIDS centroids:0 centroids:0.5 centroids:5 centroids:5.5} kmeans:{}`},
		{"--data x.svm --k 2 --algorithm kmeans --init centroids:m3.csv",
			`display_name:"x.svm" k:2 initialization:{start:START_CENTROIDS centroids:0 centroids:0 centroids:0 centroids:1 centroids:1 centroids:1} kmeans:{}`},
		{"--data p.csv -f hmrf.yaml --inference lp",
			`display_name:"p.csv" k:2 hmrf_kmeans:{distortion:DISTORTION_COSINE inference:INFERENCE_LP}`},
		{"--data p.csv -f hmrf.yaml --algorithm hmrf-kmeans", // the same one keeps its options
			`display_name:"p.csv" k:2 hmrf_kmeans:{distortion:DISTORTION_COSINE inference:INFERENCE_BP}`},
		{"--data p.csv -f hmrf.yaml --algorithm kmeans", `display_name:"p.csv" k:2 kmeans:{}`},      // another does not
		{"--data p.csv -f byid.yaml", `display_name:"p.csv" dataset_id:"abc" k:2 kernel_kmeans:{}`}, // the upload sets the id
	} {
		t.Run(c.args, func(t *testing.T) { becomes(t, c.args, c.want) })
	}
}

// becomes prepares the job of flags and compares its spec with one in prototext.
func becomes(t *testing.T, args, text string) {
	t.Helper()
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f := addJobFlags(set)
	if err := set.Parse(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	j, err := f.prepare(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &cleavev1.JobSpec{}
	if err := prototext.Unmarshal([]byte(text), want); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(j.spec, want) {
		t.Errorf("got  %v\nwant %v", j.spec, want)
	}
	if j.data == nil || j.rows != j.data.Rows() {
		t.Errorf("data %v with %d rows", j.data, j.rows)
	}
}

func TestUsageErrors(t *testing.T) {
	folder(t, smallFiles)
	for _, c := range []struct{ args, want string }{
		{"frobnicate", `there is no command "frobnicate"`},
		{"run", "what is to be clustered?"},
		{"run --data p.csv", "how many clusters?"},
		{"run --data p.csv --k 0", `--k is "0"; use a whole number, 1 or more`},
		{"run --data p.csv --k two", `--k is "two"`},
		{"run --data p.csv --k -1", `--k is "-1"`},
		{"run --data p.csv --graph e.csv --k 2", "--data and --graph were both given"},
		{"run --data p.csv --k 2 stray", `what is "stray"? cleave run takes flags only; see cleave run --help`},
		{"run --data p.csv --k 2 --frob", "unknown flag: --frob"},
		{"run --data p.csv --k 2 --algorithm kmaens", `--algorithm is "kmaens"; use kernel-kmeans`},
		{"run --data p.csv --k 2 --objective cut", `--objective is "cut"; use kernel-kmeans, ratio-association, ratio-cut or normalized-cut`},
		{"run --data p.csv --k 2 --kernel linear --rho 1", "--rho does not apply to the linear kernel"},
		{"run --data p.csv --k 2 --kernel linear --rho auto", "--rho does not apply to the linear kernel"},
		{"run --data p.csv --k 2 --gamma 1", "--gamma does not apply to the gaussian kernel"},
		{"run --data p.csv --k 2 --kernel sigmoid --degree 2", "--degree does not apply to the sigmoid kernel"},
		{"run --data p.csv --k 2 --rho 0", `--rho is "0"; it must be greater than 0`},
		{"run --data p.csv --k 2 --rho NaN", "use a finite number or auto"},
		{"run --data p.csv --k 2 --sigma inf", "use a finite number or auto"},
		{"run --data p.csv --k 2 --tolerance -1", "it must be at least 0"},
		{"run --data p.csv --k 2 --restarts 0", `--restarts is "0"`},
		{"run --data p.csv --k 2 --max-iterations -1", `--max-iterations is "-1"`},
		{"run --graph p.csv --k 2 --storage float16", "does not apply to --graph"},
		{"run --graph e.csv --k 2 --storage none", "--storage none does not apply to --graph"},
		{"plan --kernel-matrix k.csv --k 2 --storage none", "--storage none does not apply to --kernel-matrix"},
		{"plan", "what is to be clustered?"},
		{"plan --data p.csv --k 2 --workers 2 --server localhost:1", "--workers is for an embedded run"},
		{"run --graph e.csv --k 2 --kernel linear", "--kernel does not apply to --graph"},
		{"run --graph e.csv --k 2 --rho 1", "--rho does not apply to --graph"},
		{"run --graph e.csv --k 2 --affinity-diagonal zero", "--affinity-diagonal goes with"},
		{"run --graph e.csv --k 2 --weights w.csv", "--weights goes with --objective kernel-kmeans only"},
		{"run --kernel-matrix k.csv --k 2 --kernel gaussian", "--kernel does not apply to --kernel-matrix"},
		{"run --data p.csv --k 2 --vertices 9", "--vertices goes with --graph only"},
		{"run --graph e.csv --k 2 --missing drop", "--missing goes with --data only"},
		{"run --kernel-matrix k.csv --k 2 --missing error", "--missing goes with --data only"},
		{"run --data p.csv --k 2 --missing impute", `--missing is "impute"; use error or drop`},
		{"submit --data p.csv --k 2 --missing drop --server localhost:1", "submit knows no --missing drop"},
		{"run --data p.csv --k 2 --affinity-diagonal zero", "--affinity-diagonal goes with a graph objective"},
		{"run --data p.csv --k 2 --entail", "--entail goes with --constraints only"},
		{"run --data p.csv --k 2 --init seeds", "--init seeds needs --seeds"},
		{"run --data p.csv --k 2 --init random --seeds s.csv", "they have no use with --init random"},
		{"run --data p.csv --k 2 --init centroids:m.csv", "--init centroids does not apply to kernel-kmeans; use farthest-first, random, kmeans++, seeds, labels:FILE or spectral"},
		{"run --data p.csv --k 2 --init centroids:", "centroids:FILE"},
		{"run --data p.csv --k 2 --init means:m.csv", "centroids:FILE"},
		{"run --data p.csv --k 2 --init neighbourhoods", "--init neighbourhoods does not apply to kernel-kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --init farthest-first", "--init farthest-first does not apply to kmeans; use kmeans++, random, labels:FILE or centroids:FILE"},
		{"run --data p.csv --k 2 --algorithm seeded-kmeans --seeds s.csv --init random", "--init random does not apply to seeded-kmeans; use seeds"},
		{"run --data p.csv --k 3 --algorithm kmeans --init centroids:m.csv", "m.csv: the file has 2 centroids for 3 clusters"},
		{"run --data p.csv --k 2 --algorithm kmeans --init centroids:m3.csv", "m3.csv: the centroids have 3 columns, the data 2"},
		{"run --data p.csv --k 2 --algorithm kmeans --init centroids:other.csv", "the columns are called y,x, those of the data x,y"},
		{"run --graph e.csv --k 2 --algorithm kmeans", "kmeans clusters points: give them by --data; graphs go with kernel-kmeans"},
		{"run --kernel-matrix k.csv --k 2 --algorithm pc-kmeans", "pc-kmeans clusters points: give them by --data"},
		{"run --data x.svm --k 2", "kernel-kmeans does not take sparse points: say --algorithm kmeans"},
		{"run --data p.csv --k 2 --geometry spherical", "--geometry does not apply to kernel-kmeans, only to kmeans, seeded-kmeans, constrained-kmeans or cop-kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --kernel linear", "--kernel does not apply to kmeans, only to kernel-kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --rho auto", "--rho does not apply to kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --sigma 0", "--sigma does not apply to kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --objective kernel-kmeans", "--objective does not apply to kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --weights w.csv", "--weights does not apply to kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --farthest total", "--farthest does not apply to kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --constraints c.csv", "--constraints does not apply to kmeans, only to kernel-kmeans, cop-kmeans, pc-kmeans, m-kmeans, mpc-kmeans, hmrf-kmeans, spectral, spectral-learning or constrained-spectral"},
		{"run --data p.csv --k 2 --algorithm kmeans --seeds s.csv", "--seeds does not apply to kmeans, only to kernel-kmeans, seeded-kmeans, constrained-kmeans or constrained-spectral"},
		{"run --data p.csv --k 2 --algorithm kmeans --empty keep", "--empty keep does not apply to kmeans, where it is always farthest; it goes with kernel-kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --storage none", "--storage none does not apply to kmeans, where it is always auto"},
		{"run --data p.csv --k 2 --algorithm kmeans --distortion cosine", "--distortion cosine does not apply to kmeans, where it is always euclidean; it goes with hmrf-kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --max-restarts 3", "--max-restarts does not apply to kmeans, only to cop-kmeans"},
		{"run --data p.csv --k 2 --algorithm cop-kmeans --max-restarts 0", "--max-restarts is \"0\""},
		{"run --data p.csv --k 2 --algorithm cop-kmeans --inference icm", "--inference does not apply to cop-kmeans"},
		{"run --data p.csv --k 2 --algorithm pc-kmeans --metric full", "--metric full does not apply to pc-kmeans, where it is always identity; it goes with m-kmeans, mpc-kmeans or hmrf-kmeans"},
		{"run --data p.csv --k 2 --algorithm pc-kmeans --penalty basu2003", "--penalty basu2003 does not apply to pc-kmeans"},
		{"run --data p.csv --k 2 --algorithm m-kmeans --penalty potts", "--penalty does not apply to m-kmeans"},
		{"run --data p.csv --k 2 --algorithm m-kmeans --inference icm", "--inference does not apply to m-kmeans"},
		{"run --data p.csv --k 2 --algorithm hmrf-kmeans --distortion kl --geometry euclidean", "--geometry does not apply to hmrf-kmeans"},
		{"run --data p.csv --k 2 --algorithm hmrf-kmeans --distortion kl --metric diagonal", "--metric diagonal goes with --distortion euclidean only"},
		{"run --data p.csv --k 2 --algorithm mpc-kmeans --distortion cosine", "--distortion cosine does not apply to mpc-kmeans"},
		{"run --data p.csv --k 2 --algorithm seeded-kmeans", "seeded-kmeans needs points of known label: give --seeds FILE"},
		{"run --data p.csv --k 2 --algorithm pc-kmeans --entail", "--entail goes with --constraints only"},
		{"run --data p.csv --k 2 --seeds likely.csv", "likely.csv: point 0 has a label with a probability; seeds with probabilities go with seeded-kmeans and constrained-kmeans"},
		{"run --data p.csv --k 1 --algorithm seeded-kmeans --seeds s.csv", "s.csv: point 2 has label 1; seeds name clusters, 0..0 for k = 1"},
		{"run --data p.csv -f hmrf.yaml --kernel linear", "--kernel does not apply to hmrf-kmeans"},
		{"run --data p.csv --k 2 --init labels:", "labels:FILE"},
		{"run --data p.csv --k 2 --farthest mean", "--farthest goes with --init farthest-first only"},
		{"run --data p.csv --k 2 --init random --farthest mean --constraints c.csv", "--farthest goes with --init farthest-first only"},
		{"run --data p.csv --k 2 --score-on s.csv", "--score-on goes with --truth only"},
		{"run --data p.csv --k 2 --workers 2 --server localhost:1", "--workers is for an embedded run"},
		{"run --data p.csv --k 2 --workers 0", `--workers is "0"`},
		{"run --data p.csv -f missing.yaml", "missing.yaml: the job file cannot be read"},
		{"run --data p.csv -f wrong.yaml", "wrong.yaml: this is no job:"},
		{"run --data p.csv -f broken.yml", "broken.yml:"},
		{"run -f byid.yaml", "byid.yaml names a data set by its id"},
		{"run --data p.csv --k 2 --out p.csv", "p.csv: this is a file; --out needs a folder"},
		{"submit --data p.csv --k 2", "which coordinator?"},
		{"submit --data p.csv --k 2 --workers 2 --server localhost:1", "unknown flag: --workers"},
		{"watch --server localhost:1", "which job?"},
		{"get a b --server localhost:1", `one job at a time: what is "b"?`},
		{"list", "which coordinator? Give --server HOST:PORT or set CLEAVE_SERVER"},
		{"list --state done --server localhost:1", "use pending, running, succeeded, failed or cancelled"},
		{"datasets drop x --server localhost:1", `what is "drop"?`},
		{"datasets delete --server localhost:1", "which data set?"},
		{"evaluate --labels l.csv", "evaluate needs both --labels FILE and --truth FILE"},
		{"generate", "what is to be made?"},
		{"generate spirals --out g", `there is no shape "spirals"`},
		{"generate two-circles", "where to? Give --out DIR"},
		{"generate two-circles --k 3 --out g", "--k does not apply to two-circles"},
		{"generate blocks --noise 1 --out g", "--noise does not apply to blocks"},
		{"generate blocks --background 5 --out g", "--background does not apply to blocks"},
		{"serve --log-level loud", `the log level "loud" is unknown`},
	} {
		t.Run(c.args, func(t *testing.T) { misused(t, c.args, c.want) })
	}
	if _, err := os.Stat("g"); err == nil {
		t.Error("a refused command left a folder behind")
	}
}

// misused wants a command to be refused in one line that says so.
func misused(t *testing.T, args, want string) {
	t.Helper()
	r := invoke(t, args)
	if r.code != 2 || !strings.HasPrefix(r.stderr, "cleave: ") || !strings.Contains(r.stderr, want) ||
		strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
		t.Errorf("exit code %d\nstdout %q\nstderr %q\nwant exit code 2 and one line with %q", r.code, r.stdout, r.stderr, want)
	}
}
