package cli

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/cli/clitest"
)

// New rows come in a table as the first one did: with years for a header, and with truths in other capitals.
func TestNewRowsAsTheFirst(t *testing.T) {
	const rows = "1,9,TRUE\n2,8,TRUE\n51,60,FALSE\n52,61,FALSE\n"
	clitest.Folder(t, map[string]string{
		"years.csv": "2019,2020,2021\n1,9,4\n2,8,5\n51,60,40\n52,61,41\n",
		"mixed.csv": "height,2020,2021\n1,9,4\n2,8,5\n51,60,40\n52,61,41\n",
		"old.csv":   "x,y,member\n" + rows, "new.csv": "x,y,member\n" + strings.NewReplacer("TRUE", "True", "FALSE", "false").Replace(rows),
	})
	for _, how := range []string{"--algorithm kmeans --scale zscore --header yes --data years.csv", "--algorithm mpc-kmeans --data mixed.csv", "--algorithm kernel-kmeans --rho 9 --landmarks 3 --data mixed.csv"} {
		data := how[strings.LastIndex(how, " ")+1:]
		succeed(t, "run --quiet --k 2 --out found "+how)
		if out := succeed(t, "predict --model found --data "+data); strings.Count(out, "\n") != 5 {
			t.Errorf("%s: the header is a row: %s", how, out)
		}
	}
	succeed(t, "run --quiet --k 2 --algorithm kmeans --data mixed.csv --out mixed")
	succeed(t, "run --quiet --k 2 --algorithm kmeans --data mixed.csv --init centroids:mixed/centroids.csv")
	succeed(t, "run --quiet --k 2 --algorithm kmeans --data old.csv --out members")
	old, r := succeed(t, "predict --model members --data old.csv"), invoke(t, "predict --model members --data new.csv")
	if r.stdout != old || strings.Contains(r.stderr, "category") {
		t.Errorf("got %s (%s), want %s", r.stdout, r.stderr, old)
	}
}
