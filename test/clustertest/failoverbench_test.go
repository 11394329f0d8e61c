package clustertest

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/store"
)

// BenchmarkFailover measures the time from kill -9 of the leader of three coordinators to the next iteration that a
// client sees, on an etcd of three members, with three workers and the default lease: make failover.
func BenchmarkFailover(b *testing.B) {
	c := StartCoordinators(b, 3, Options{Args: []string{"--lease", store.DefaultLease.String()}})
	c.StartWorkers(3)
	load := newWorkload(gaussians(8000, 8, 20, 6), &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_K{K: 20}, Seed: 1, Restarts: 10_000,
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM},
		Algorithm:      kernelKmeans(&cleavev1.KernelKmeans{}),
	})
	spec := proto.CloneOf(load.spec)
	spec.Data = &cleavev1.JobSpec_DatasetId{DatasetId: c.Upload(load.data)}
	var took []time.Duration
	for b.Loop() {
		job := c.Create(spec)
		w := c.Watch(job)
		w.Resumes = true
		w.UntilIterations(5)
		leader := c.Leader()
		killed := time.Now()
		leader.Kill()
		// First come the events that were sent before.
		w.Until("the break", func(*cleavev1.WatchJobResponse) bool { return w.Breaks > 0 })
		for seen := w.Iterations(); w.Iterations() == seen; {
			w.next()
		}
		took = append(took, time.Since(killed))
		b.Logf("%v", took[len(took)-1].Round(time.Millisecond))
		canceled, err := c.Jobs.CancelJob(b.Context(), &cleavev1.CancelJobRequest{JobId: job})
		must(b, canceled, err)
		w.End()
		leader.Restart()
		standsBy(b, leader, c.Leader(c.Others(leader)...))
		c.AwaitWorkers(3)
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds(), "s-median")
	b.ReportMetric(took[len(took)-1].Seconds(), "s-worst")
}
