package cli

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/cli/clitest"
)

// What cannot be clustered is named by its line and by the name of its column.
func TestPointsAreNamedByTheirLines(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"zero.csv": "id,x,y\na,1,2\nb,,3\nc,0,0\nd,4,5\n", "huge.csv": "id,x,y\na,1,2\nb,,2\nc,1,3e200\nd,5,5\n",
	})
	for _, c := range []struct{ args, want string }{
		{"--data zero.csv --geometry spherical", "the row on line 4 is all zeros"},
		{"--data huge.csv", `the row on line 4, column "y" is 3e+200; scale the data`},
		{"--data huge.csv --missing drop", `the row on line 4, column "y" is 3e+200; scale the data`},
	} {
		if r := invoke(t, "run --quiet --k 2 --algorithm kmeans "+c.args); r.code != 2 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: exit code %d, %s", c.args, r.code, r.stderr)
		}
	}
}
