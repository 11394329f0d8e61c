package wire

import (
	"testing"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/metric"
	vectors "github.com/cleave-project/cleave/internal/vector"
)

// checkEnum checks that every constant and every proto value have a partner of their own, and that
// other numbers are refused in both directions. The constants are those from first to last.
func checkEnum[D ~uint8, P enumValue](t *testing.T, e enumTable[D, P], first, last D, values map[int32]string) {
	t.Helper()
	for domain := first; domain <= last; domain++ {
		proto := e.toProto(domain)
		if back, err := e.fromProto(proto); proto == 0 || err != nil || back != domain {
			t.Errorf("%s %v becomes %v and then %v, %v", e.name, domain, proto, back, err)
		}
	}
	for value := range values {
		domain, err := e.fromProto(P(value))
		if value == 0 {
			continue
		}
		if err != nil || e.toProto(domain) != P(value) {
			t.Errorf("%s %v becomes %v and then %v, %v", e.name, P(value), domain, e.toProto(domain), err)
		}
	}
	if len(values) != 1+int(last-first)+1 {
		t.Errorf("%s: %d proto values for %d constants and UNSPECIFIED", e.name, len(values), last-first+1)
	}
	for _, value := range []P{-1, 0, P(len(values)), 256 + 1} {
		if domain, err := e.fromProto(value); err == nil {
			t.Errorf("%s %d was accepted as %v", e.name, int32(value), domain)
		}
	}
	if proto := e.toProto(last + 1); proto != 0 {
		t.Errorf("an unknown %s became %v", e.name, proto)
	}
}

func TestEnumsRoundTrip(t *testing.T) {
	checkEnum(t, workerKernelFunctions, kernel.Linear, kernel.Adjacency, workerv1.KernelFunction_name)
	checkEnum(t, workerPreparations, vectors.Plain, vectors.NonNegative, workerv1.Preparation_name)
	checkEnum(t, workerDistortions, metric.SquaredEuclidean, metric.IDivergence, workerv1.Distortion_name)
	checkEnum(t, workerScatterKinds, vectors.Total, vectors.Full, workerv1.ScatterKind_name)
}
