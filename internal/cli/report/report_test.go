package report

import (
	"strings"
	"testing"
)

func TestSizesOfClusters(t *testing.T) {
	if got := sizes(make([]uint32, 25)); !strings.HasSuffix(got, "0, ... (5 more)") {
		t.Errorf("25 clusters are %q", got)
	}
}
