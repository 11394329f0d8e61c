package runner_test

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	locally "github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/test/testscale"
)

// The states of a run take no more than half of what is planned for them, which has room for the next ones too.
func TestStatesTakeWhatIsPlanned(t *testing.T) {
	blobs := func(n, d, k int) dataset.Dataset {
		points, _, err := synth.Gaussians(n, d, k, 4, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		return points
	}
	for name, job := range map[string]struct {
		data dataset.Dataset
		spec clustering.Spec
	}{
		"k-means": {blobs(testscale.Count(20_000, 60_000), 2, 3), clustering.Spec{K: 3, Restarts: 20,
			MaxIterations: 3, Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans}}},
		"many columns": {blobs(300, 100, 3), clustering.Spec{K: 100, Restarts: 20, MaxIterations: 3,
			Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans}}},
		"kernel k-means": {blobs(600, 2, 3), clustering.Spec{K: 3, Restarts: 40, MaxIterations: 30,
			Algorithm: &kernelkmeans.Options{}}},
		"eigenvectors": {blobs(800, 2, 10),
			clustering.Spec{K: 20, Algorithm: &spectral.Options{Algorithm: spectral.Spectral}}},
		"auto": {blobs(1000, 3, 4), clustering.Spec{K: 4, Algorithm: &auto.Options{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := runner.New(t.Context(), job.data, job.spec, dataset.EncodedSize(job.data), nil)
			if err != nil {
				t.Fatal(err)
			}
			planned := planning.SnapshotBytes((&runner.Problem{Runner: r, Need: r.Need()}).Parts())
			var memory *snapshot.Memory
			var most atomic.Int64
			look := func() {
				for held := int64(memory.Bytes()); ; {
					if before := most.Load(); held <= before || most.CompareAndSwap(before, held) {
						return
					}
				}
			}
			memory = snapshot.NewMemory(math.MaxInt, func(encode func()) {
				encode()
				look()
				memory.Ask()
			})
			if _, err := locally.Solve(snapshot.With(t.Context(), memory), job.data, job.spec, 2,
				clustering.NopObserver{}); err != nil {
				t.Fatal(err)
			}
			look()
			if most.Load() == 0 || 2*most.Load() > planned {
				t.Errorf("states of %d bytes, planned with %d", most.Load(), planned)
			}
		})
	}
}
