package jobflags

import (
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
)

func TestRangesOfK(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	for _, c := range []struct{ args, want string }{
		{"--data p.csv --k 2..3", `display_name:"p.csv" k_range:{min:2 max:3} auto:{}`},
		{"--data p.csv --k 2-3 --algorithm kmeans", `display_name:"p.csv" k_range:{min:2 max:3} kmeans:{}`},
		{"--data p.csv -f hmrf.yaml --k 2..3",
			`display_name:"p.csv" k_range:{min:2 max:3} hmrf_kmeans:{distortion:DISTORTION_COSINE ` +
				`inference:INFERENCE_BP}`},
	} {
		t.Run(c.args, func(t *testing.T) { checkSpec(t, c.args, c.want) })
	}
}
