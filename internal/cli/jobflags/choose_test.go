package jobflags

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/clitest"
)

// Without --algorithm, options of one algorithm select it, and it is said.
func TestFlagsChooseTheAlgorithm(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	for _, c := range []struct{ args, algorithm, says string }{
		{"--data p.csv --k 2 --constraints c.csv", "auto", ""},
		{"--data p.csv --k 2 --rho 1 --algorithm spectral", "spectral", ""},
		{"--data p.csv -f hmrf.yaml --inference lp", "hmrf-kmeans", ""},
		{"--data p.csv --k 2 --rho 1", "kernel-kmeans",
			"using kernel-kmeans because of --rho; --algorithm selects another"},
		{"--data p.csv --k 2 --metric full --inference bp --constraints c.csv", "mpc-kmeans",
			"using mpc-kmeans because of --metric and --inference; --algorithm selects another"},
		{"--data p.csv --k 2 --init centroids:m.csv", "kmeans",
			"using kmeans because of --init; --algorithm selects another"},
		{"--data x.svm --k 2 --init random", "kernel-kmeans",
			"using kernel-kmeans because of --init; --algorithm selects another"},
		{"--data p.csv -f byid.yaml --storage none", "kernel-kmeans",
			"using kernel-kmeans because of --storage; --algorithm selects another"},
	} {
		j, err := prepareFlags(t, c.args)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
		} else if got := wire.Algorithm(j.Spec).Name; got != c.algorithm || j.Chosen != c.says {
			t.Errorf("%s: %s, %q", c.args, got, j.Chosen)
		}
	}
}

func TestFlagsThatNoAlgorithmTakes(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	for args, says := range map[string]string{
		"--data p.csv --k 2 --rho 1 --metric full": "no algorithm takes --rho and --metric together: --rho applies " +
			"to kernel-kmeans, ",
		"--graph e.csv --k 2 --inference bp": "pc-kmeans takes points or sparse points, not a graph",
	} {
		if _, err := prepareFlags(t, args); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func prepareFlags(t *testing.T, args string) (*Job, error) {
	t.Helper()
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f := Add(set, nil)
	if err := set.Parse(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	return f.Prepare(t.Context(), nil)
}
