package links

import (
	"strings"
	"testing"
	"time"

	"github.com/cleave-project/cleave/tools/simulate/model"
)

//nolint:lll // what the kernel prints
func TestReadCounters(t *testing.T) {
	const table = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     100       1    0    0    0     0          0         0      100       1    0    0    0     0       0          0
 link0: 5000000000    2    0    0    0     0          0         0       70       3    0    0    0     0       0          0
`
	got := readCounters(strings.NewReader(table))
	if len(got) != 2 || got["link0"] != (counter{5e9, 70}) || got["lo"] != (counter{100, 100}) {
		t.Errorf("%v", got)
	}
}

// The means are those of the iterations between two observations, and the model adds up what was measured in them.
func TestIterationsAndTheirModel(t *testing.T) {
	began := time.Now()
	first := observation{at: began, bytes: traffic{sent: []float64{100, 10}, received: []float64{10, 100}}}
	last := observation{
		at: began.Add(4 * time.Second), coordinator: 2 * time.Second, workers: 8 * time.Second,
		bytes: traffic{sent: []float64{4e9 + 100, 2e9 + 10}, received: []float64{2e9 + 10, 4e9 + 100}},
	}
	i := &iterations{count: 5, moved: 10}
	i.between(first, last)
	if i.perStep != 1 || i.processors != 0.5 || i.workers != 2 || i.bytes.sent[0] != 1e9 || i.bytes.received[1] != 1e9 {
		t.Fatalf("%+v", i)
	}
	cfg := &Config{Workers: 1}
	f := family{operations: 2}
	cost := model.Cost{Row: 0.01}
	for speed, want := range map[string]float64{unshaped: 0.5 + 1 + 2*roundTrip,
		"8gbit": 0.5 + 1 + 1.5 + 1.5 + 2*roundTrip} {
		if got, err := i.modeled(cfg, f, cost, 100, speed); err != nil || got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%s: %v, not %v: %v", speed, got, want, err)
		}
	}
	if _, err := i.modeled(cfg, f, cost, 100, "fast"); err == nil {
		t.Error("a speed without a number has a model")
	}
}
