package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
)

func TestUsageErrors(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	for _, c := range []struct{ args, want string }{
		{"frobnicate", `there is no command "frobnicate"`},
		{"run", "no data to cluster"},
		{"run --data p.csv", "the number of clusters is missing"},
		{"run --data one.csv --label-column kind", `the number of clusters is missing, and column "kind" has only one class; give --k N`},
		{"run --data one.csv --label-column kind --seeds s.csv", "the number of clusters is missing; give --k N"},
		{"run --data p.csv --k 0", `--k is "0"; it must be at least 1`},
		{"run --data p.csv --k two", `--k is "two"`},
		{"run --data p.csv --k -1", `--k is "-1"`},
		{"run --data p.csv --graph e.csv --k 2", "--data and --graph were both given"},
		{"run p.csv --k 2", `unexpected argument "p.csv": give the data with --data p.csv, or with --graph or --kernel-matrix; see cleave run --help`},
		{"run --data p.csv --k 2 stray", `unexpected argument "stray": cleave run takes flags only; see cleave run --help`},
		{"run --data p.csv --k 2 --frob", "unknown flag: --frob"},
		{"run --data p.csv --k 2 --algorithm kmaens", `--algorithm is "kmaens"; use auto, kernel-kmeans`},
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
		{"run --graph p.csv --k 2 --storage float16", "does not apply to a graph"},
		{"run --graph e.csv --k 2 --storage none", "--storage none does not apply to a graph"},
		{"plan --kernel-matrix k.csv --k 2 --storage none", "--storage none does not apply to a kernel matrix"},
		{"plan", "no data to cluster"},
		{"plan --data p.csv --k 2 --workers 2 --server localhost:1", "--workers is for runs on this machine"},
		{"run --graph e.csv --k 2 --kernel linear", "--kernel does not apply to a graph"},
		{"run --graph e.csv --k 2 --rho 1", "--rho does not apply to a graph"},
		{"run --graph e.csv --k 2 --affinity-diagonal zero", "--affinity-diagonal requires"},
		{"run --graph e.csv --k 2 --weights w.csv", "--weights requires --objective kernel-kmeans"},
		{"run --kernel-matrix k.csv --k 2 --kernel gaussian", "--kernel does not apply to a kernel matrix"},
		{"run --data p.csv --k 2 --vertices 9", "--vertices requires --graph"},
		{"run --graph e.csv --k 2 --missing drop", "--missing requires --data"},
		{"run --kernel-matrix k.csv --k 2 --missing error", "--missing requires --data"},
		{"run --data p.csv --k 2 --missing impute", `--missing is "impute"; use auto, error, drop, mean or median`},
		{"submit --data x.svm --k 2 --missing drop --server localhost:1", "submit does not support --missing drop"},
		{"run --data p.csv --k 2 --affinity-diagonal zero", "--affinity-diagonal requires a cut of points or of a kernel matrix"},
		{"run --data p.csv --k 2 --entail", "--entail requires --constraints"},
		{"run --data p.csv --k 2 --init seeds", "--init seeds needs --seeds"},
		{"run --data p.csv --k 2 --init random --seeds s.csv", "they have no effect with --init random"},
		{"run --data p.csv --k 2 --algorithm kernel-kmeans --init centroids:m.csv", "--init centroids does not apply to kernel-kmeans; use seeds, farthest-first, kmeans++, random, labels, spectral or multilevel"},
		{"run --data p.csv --k 2 --init centroids:", "centroids:FILE"},
		{"run --data p.csv --k 2 --init means:m.csv", "centroids:FILE"},
		{"run --data p.csv --k 2 --algorithm kernel-kmeans --init neighbourhoods", "--init neighborhoods does not apply to kernel-kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --init farthest-first", "--init farthest-first does not apply to kmeans; use kmeans++, random, labels or centroids"},
		{"run --data p.csv --k 2 --algorithm seeded-kmeans --seeds s.csv --init random", "--init random does not apply to seeded-kmeans; use seeds"},
		{"run --data p.csv --k 3 --algorithm kmeans --init centroids:m.csv", "m.csv: the file has 2 centroids for 3 clusters"},
		{"run --data p.csv --k 2 --algorithm kmeans --init centroids:m3.csv", "m3.csv: the centroids have 3 columns, but the data has 2"},
		{"run --data p.csv --k 2 --algorithm kmeans --init centroids:other.csv", `column 1 is "y", but the data has "x" there`},
		{"run --graph e.csv --k 2 --algorithm kmeans", "kmeans takes points or sparse points, not a graph; use --algorithm auto, kernel-kmeans"},
		{"run --kernel-matrix k.csv --k 2 --algorithm pc-kmeans", "pc-kmeans takes points or sparse points, not a kernel matrix"},
		{"run --data p.csv --k 2 --algorithm kernel-kmeans --geometry spherical", "--geometry does not apply to kernel-kmeans, only to kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --kernel linear", "--kernel does not apply to kmeans, only to kernel-kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --rho auto", "--rho does not apply to kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --sigma 0", "--sigma does not apply to kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --objective kernel-kmeans", "--objective does not apply to kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --weights w.csv", "--weights does not apply to kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --farthest total", "--farthest does not apply to kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --constraints c.csv", "--constraints does not apply to kmeans, only to auto, kernel-kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --seeds s.csv", "--seeds does not apply to kmeans, only to auto, kernel-kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --empty keep", "--empty keep does not apply to kmeans, where it is always farthest; it applies to kernel-kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --storage none", "--storage none does not apply to kmeans, where it is always auto"},
		{"run --data p.csv --k 2 --algorithm kmeans --distortion cosine", "--distortion cosine does not apply to kmeans, where it is always euclidean; it applies to hmrf-kmeans"},
		{"run --data p.csv --k 2 --algorithm kmeans --max-restarts 3", "--max-restarts does not apply to kmeans, only to cop-kmeans"},
		{"run --data p.csv --k 2 --algorithm cop-kmeans --max-restarts 0", "--max-restarts is \"0\""},
		{"run --data p.csv --k 2 --algorithm cop-kmeans --inference icm", "--inference does not apply to cop-kmeans"},
		{"run --data p.csv --k 2 --algorithm pc-kmeans --metric full", "--metric full does not apply to pc-kmeans, where it is always identity; it applies to mpc-kmeans"},
		{"run --data p.csv --k 2 --algorithm pc-kmeans --penalty basu2003", "--penalty basu2003 does not apply to pc-kmeans"},
		{"run --data p.csv --k 2 --algorithm m-kmeans --penalty potts", "--penalty does not apply to m-kmeans"},
		{"run --data p.csv --k 2 --algorithm m-kmeans --inference icm", "--inference does not apply to m-kmeans"},
		{"run --data p.csv --k 2 --algorithm hmrf-kmeans --distortion kl --geometry euclidean", "--geometry does not apply to hmrf-kmeans"},
		{"run --data p.csv --k 2 --algorithm hmrf-kmeans --distortion kl --metric diagonal", "--metric diagonal requires --distortion euclidean"},
		{"run --data p.csv --k 2 --algorithm mpc-kmeans --distortion cosine", "--distortion cosine does not apply to mpc-kmeans"},
		{"run --data p.csv --k 2 --algorithm seeded-kmeans", "seeded-kmeans needs --seeds"},
		{"run --data p.csv --k 2 --algorithm pc-kmeans --entail", "--entail requires --constraints"},
		{"run --data p.csv --k 2 --algorithm kernel-kmeans --seeds likely.csv", "likely.csv: point 0 has a label with a probability; seeds with probabilities apply to auto, seeded-kmeans and constrained-kmeans"},
		{"run --data p.csv --k 1 --algorithm seeded-kmeans --seeds s.csv", "s.csv: point 2 has label 1; seeds name clusters, 0..0 for k = 1"},
		{"run --data p.csv -f hmrf.yaml --kernel linear", "--kernel does not apply to hmrf-kmeans"},
		{"run --data p.csv --k 2 --kernel linear --metric full", "no algorithm takes --kernel and --metric together: --kernel applies to kernel-kmeans"},
		{"run --data p.csv --k 2 --algorithm auto --rho 1", "--rho does not apply to auto, only to kernel-kmeans"},
		{"run --data p.csv --k 2 --max-iterations 0", "auto compares answers, not starts"},
		{"run --data p.csv --k 2 --init labels:", "labels:FILE"},
		{"run --data p.csv --k 2 --farthest mean", "--farthest requires --init farthest-first"},
		{"run --data p.csv --k 2 --init random --farthest mean --constraints c.csv", "--farthest requires --init farthest-first"},
		{"run --data p.csv --k 2 --score-on s.csv", "--score-on requires --truth"},
		{"run --data p.csv --k 2 --workers 2 --server localhost:1", "--workers is for runs on this machine"},
		{"run --data p.csv --k 2 --workers 0", `--workers is "0"`},
		{"run --data p.csv -f missing.yaml", "missing.yaml: the job file cannot be read"},
		{"run --data p.csv -f wrong.yaml", "wrong.yaml: this is not a job: unknown field"},
		{"completion bash a", "give one shell"},
		{"token create --name x --role king", `reader, submitter or admin, not "king"`},
		{"token create --name x --role worker", "for workers use: cleave certs worker"},
		{"run --data p.csv -f broken.yml", "broken.yml:"},
		{"run -f byid.yaml", "byid.yaml names a data set by its id"},
		{"run --data p.csv --k 2 --out p.csv", "p.csv: this is a file; --out needs a folder"},
		{"submit --data p.csv --k 2", "no coordinator; give --server"},
		{"submit --data p.csv --k 2 --workers 2 --server localhost:1", "unknown flag: --workers"},
		{"watch --server localhost:1", "the job is missing"},
		{"get a b --server localhost:1", `unexpected argument "b": give one job`},
		{"list", "no coordinator; give --server HOST:PORT, set CLEAVE_SERVER, or log in with"},
		{"list --state done --server localhost:1", "use pending, running, succeeded, failed or cancelled"},
		{"datasets drop x --server localhost:1", `unknown command "drop"`},
		{"datasets delete --server localhost:1", "the data set is missing"},
		{"tables drop x --server localhost:1", `unknown command "drop"`},
		{"tables delete --server localhost:1", "the table is missing"},
		{"evaluate --labels l.csv", "evaluate needs both --labels FILE and --truth FILE"},
		{"generate", "the shape is missing; use two-circles, "},
		{"generate two-circles blocks", `unexpected argument "blocks": give one shape`},
		{"generate image-affinity a.png b.png --out g", `unexpected argument "b.png": give one picture`},
		{"certs worker --days 213504 --dir g", `--days is "213504"; it must be 1 to 36500`},
		{"certs init --host c1.example:7400 --dir g", `"c1.example:7400" cannot be the host of a certificate; give a name such as c1.example`},
		{"certs init --host https://c1.example --dir g", `"https://c1.example" cannot be the host of a certificate`},
		{"token create --name a --days 4000000 --file g", `--days is "4000000"; it must be 0 to 36500`},
		{"generate spirals --out g", `there is no shape "spirals"`},
		{"generate two-circles", "the output folder is missing; give --out DIR"},
		{"generate two-circles --k 3 --out g", "--k does not apply to two-circles"},
		{"generate blocks --noise 1 --out g", "--noise does not apply to blocks"},
		{"generate blocks --background 5 --out g", "--background does not apply to blocks"},
		{"serve --log-level loud", `the log level "loud" is unknown`},
	} {
		t.Run(c.args, func(t *testing.T) { refused(t, c.args, c.want) })
	}
	if _, err := os.Stat("g"); err == nil {
		t.Error("a refused command left a folder behind")
	}
}

// refused checks that a command ends with exit code 2 and one line that contains want.
func refused(t *testing.T, args, want string) {
	t.Helper()
	r := invoke(t, args)
	if r.code != 2 || !strings.HasPrefix(r.stderr, "cleave: ") || !strings.Contains(r.stderr, want) ||
		strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
		t.Errorf("exit code %d\nstdout %q\nstderr %q\nwant exit code 2 and one line with %q", r.code, r.stdout, r.stderr, want)
	}
}
