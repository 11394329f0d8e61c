package clustering

import (
	"github.com/cleave-project/cleave/internal/fault"
)

const (
	// FieldRange is the path of the range of k in a request.
	FieldRange = "spec.k_range"
	// MaxRange is the maximum number of values in a range of k.
	MaxRange = 64
)

// validateRange checks a range of k, which is spec.K to spec.MaxK, against the number of rows, the seeds and the start.
func validateRange(rows int, spec Spec) error {
	refuse := func(format string, args ...any) error {
		return fault.Invalid("BAD_K", format, args...).OnField(FieldRange)
	}
	labels := 0
	for _, s := range spec.Seeds {
		labels = max(labels, int(s.Label)+1)
	}
	switch {
	case spec.K < 2:
		return refuse("the range of k begins at %d; one cluster can be compared with nothing, so that it begins at 2 or above", spec.K)
	case spec.MaxK <= spec.K:
		return refuse("the range of k is %d..%d; the last number must be above the first", spec.K, spec.MaxK)
	case spec.MaxK-spec.K >= MaxRange:
		return refuse("the range %d..%d has %d numbers of clusters; %d is the most that a job compares", spec.K, spec.MaxK, spec.MaxK-spec.K+1, MaxRange)
	case spec.MaxK > rows:
		return refuse("the range of k is %d..%d but there %s; k must be at most the number of rows", spec.K, spec.MaxK, onlyRows(rows))
	case labels > spec.K:
		return refuse("the range of k begins at %d but seeds have labels up to %d: begin at %d", spec.K, labels-1, labels)
	case spec.Start == StartLabels || spec.Start == StartCentroids:
		return fault.Invalid("BAD_START", "a start from %s has one number of clusters; it does not go with a range of k", spec.Start).OnField("spec.initialization.start")
	}
	return nil
}
