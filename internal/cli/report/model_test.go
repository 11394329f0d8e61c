package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

func TestHugeModelsAreNotWrittenAsText(t *testing.T) {
	const d = maxTableBytes/20 + 1
	centroid := slices.Repeat([]float64{1.0 / 3}, d)
	r := &Report{Outcome: &client.Outcome{Model: &clustering.Model{K: 1, D: d, Centroids: centroid, Metric: metric.NewIdentity(d)}}}
	said := ""
	if files := r.modelFiles(Scene{}, func(format string, args ...any) { said = format }); len(files) != 0 || !strings.Contains(said, "was not written") {
		t.Errorf("%d files, %q", len(files), said)
	}
}
