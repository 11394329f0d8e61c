package cli

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
)

// A range of k begins where each class of seeds has a cluster, and says so.
func TestRangesBeginAtTheClasses(t *testing.T) {
	const rows = "p0,1,2\np1,1,3\np2,20,1\np3,21,2\np4,50,51\np5,52,50\n"
	clitest.Folder(t, map[string]string{
		"data.csv":    "id,x,y\n" + rows,
		"classes.csv": "id,x,y,kind\np0,1,2,a\np1,1,3,\np2,20,1,b\np3,21,2,\np4,50,51,c\np5,52,50,\n",
		"seeds.csv":   "id,label\np0,a\np2,b\np4,c\n", "numbers.csv": "id,label\np0,0\np2,1\np4,2\n",
	})
	for _, input := range []string{"--data classes.csv --label-column kind --label-as seeds",
		"--data data.csv --seeds seeds.csv", "--data data.csv --seeds numbers.csv"} {
		for k, want := range map[string]string{"2..4": "the range of k, 2..4, now starts at 3, the number of classes",
			"2..3": "the range of k, 2..3, is reduced to 3, the number of classes"} {
			r := invoke(t, "run --quiet --algorithm seeded-kmeans --k "+k+" "+input)
			if r.code != 0 || !strings.Contains(r.stderr, want) {
				t.Errorf("%s, k %s: got %s", input, k, r.stderr)
			}
		}
	}
	r := invoke(t, "run --quiet --algorithm seeded-kmeans --k 2 --data data.csv --seeds seeds.csv")
	if r.code != 2 ||
		!strings.Contains(r.stderr, "there are 3 classes (\"a\" and others), but only 2 clusters; --k 3 makes "+
			"one for each") {
		t.Errorf("got %s", r.stderr)
	}
}
