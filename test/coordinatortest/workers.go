package coordinatortest

import (
	"context"
	"math/rand/v2"
	"net"
	"testing"

	"google.golang.org/grpc"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/worker"
)

// StartWorker attaches a worker; the returned function stops it.
func (h *Harness) StartWorker(name string) (stop func()) { return h.StartWorkerWith(name, 0) }

// StartWorkerWith attaches a worker with this much memory; 0 means no limit.
func (h *Harness) StartWorkerWith(name string, memory uint64) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- worker.Run(ctx, worker.Config{
			Coordinator: "passthrough:///test", Name: name, Threads: 1, MemoryBytes: memory,
			DialOptions: []grpc.DialOption{grpc.WithContextDialer(
				func(ctx context.Context, _ string) (net.Conn, error) { return h.Dial(ctx) })},
		})
	}()
	return func() {
		cancel()
		if err := Within(h.T, done, "the end of the worker"); err != nil {
			h.T.Error(err)
		}
	}
}

// Local runs a job in this process, without a coordinator.
func Local(t *testing.T, data dataset.Dataset, p *cleavev1.JobSpec) *clustering.Result {
	t.Helper()
	s, err := wire.Spec(p, &recipe.Rows{Count: data.Rows()}, wire.NoTables)
	if err != nil {
		t.Fatal(err)
	}
	r, err := local.Solve(t.Context(), data, s, 1, clustering.NopObserver{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Noise are n points in d dimensions without structure.
func Noise(t *testing.T, n, d int) *dataset.Points {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, n*d)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	points, err := dataset.NewPoints(n, d, values)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

// Groups are points in three groups, row i in group i mod 3.
func Groups(t *testing.T, n int) *dataset.Points {
	t.Helper()
	points := Noise(t, n, 3)
	for i := range n {
		points.Row(i)[0] += 12 * float64(i%3)
		points.Row(i)[1] += 9 * float64(i%3/2)
	}
	return points
}
