package jobflags

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/clitest"
)

// Clusters have the names of the classes of seeds, whatever classes the truth has.
func TestTheTruthNamesNoClusters(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"p.csv": "x,y\n0,0\n0,1\n5,5\n5,6\n", "kinds.csv": "x,y,kind\n0,0,dog\n0,1,dog\n5,5,cat\n5,6,cat\n",
		"numbers.csv": "index,label\n0,0\n2,1\n", "names.csv": "index,label\n0,dog\n2,cat\n",
		"truth.csv": "index,label\n0,dog\n1,dog\n2,cat\n3,cat\n",
		"more.csv":  "index,label\n0,dog\n1,bird\n2,cat\n3,cat\n",
	})
	for _, c := range []struct {
		args, truth string
		want        []string
	}{
		{"--data p.csv --seeds names.csv", "", []string{"dog", "cat"}},
		{"--data p.csv --seeds numbers.csv", "truth.csv", nil},
		{"--data p.csv --seeds names.csv", "more.csv", []string{"dog", "cat"}},
		{"--data kinds.csv --label-column kind --seeds numbers.csv", "", nil},
		{"--data kinds.csv --label-column kind", "", nil},
		{"--data kinds.csv --label-column kind --label-as seeds", "more.csv", []string{"dog", "cat"}},
	} {
		j, err := prepareFlags(t, "--k 2 --algorithm auto "+c.args)
		if err != nil {
			t.Fatalf("%s: %v", c.args, err)
		}
		truth, err := j.LoadTruth(format.Input{Path: c.truth}, "")
		if err != nil {
			t.Fatalf("%s: %v", c.args, err)
		}
		if truth != nil && !slices.Contains(truth.Classes, "cat") {
			t.Errorf("%s: the truth has the classes %q", c.args, truth.Classes)
		}
		if got := j.SeedClasses().Of([]int32{0, 0, 1, 1}); !slices.Equal(got, c.want) {
			t.Errorf("%s with the truth %s: the clusters are named %q, want %q", c.args, c.truth, got, c.want)
		}
	}
}

// Sampled constraints tell large numbers of classes apart.
func TestConstraintsOfLargeClasses(t *testing.T) {
	clitest.Folder(t, map[string]string{"p.csv": "x,y\n0,0\n0,1\n5,5\n5,6\n",
		"truth.csv": "index,label\n0,0\n1,0\n2,4294967296\n3,4294967296\n"})
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f := Add(set, nil)
	set.String("truth", "", "")
	if err := set.Parse(strings.Fields("--data p.csv --k 2 --sample-constraints 6 --truth truth.csv")); err != nil {
		t.Fatal(err)
	}
	j, err := f.Prepare(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := wire.ReadTable(j.Spec.GetSupervision().GetConstraints(), "constraints", &recipe.Rows{Count: 4},
		wire.NoTables, table.Constraints)
	if err != nil || len(pairs) != 6 {
		t.Fatal(err, pairs)
	}
	for _, pair := range pairs {
		if together := pair.I/2 == pair.J/2; together != (pair.Kind == constraint.MustLink) {
			t.Errorf("%d and %d: %v", pair.I, pair.J, pair.Kind)
		}
	}
}

// unreadable fails the test when it is read: a terminal would wait.
type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("standard input was read")
	return 0, io.EOF
}

// Flags are refused before standard input or a file is read.
func TestUsageErrorsReadNothing(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	for args, want := range map[string]string{
		"--data - --constraints - --k 2":  "standard input is one file",
		"--data - --label-as seeds --k 2": "--label-as requires --label-column",
		"--data - --vertices 3 --k 2":     "--vertices requires --graph",
		"--data p.csv -f - --k 2":         "--file is not read from standard input",
	} {
		set := pflag.NewFlagSet("run", pflag.ContinueOnError)
		f := Add(set, unreadable{t})
		err := set.Parse(strings.Fields(args))
		if err == nil {
			_, err = f.Prepare(t.Context(), nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
