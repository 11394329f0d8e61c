package clustertest

import (
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/wire"
)

// TestMembersOfEtcdAreKilled kills one of three members of etcd during a run, which goes on, and then a second, so that
// nothing can be stored. Calls are refused until the members are back; then the job goes on.
func TestMembersOfEtcdAreKilled(t *testing.T) {
	t.Parallel()
	c := StartCoordinators(t, 2, Options{})
	c.StartWorkers(2)
	load := longPoints()
	spec := proto.CloneOf(load.spec)
	spec.Data = &cleavev1.JobSpec_DatasetId{DatasetId: c.Upload(load.data)}
	job := c.Create(spec)
	w := c.Watch(job)
	w.Resumes = true
	w.UntilIterations(5)
	w.StillRunning()
	c.Etcd.Members[0].Kill()
	w.UntilIterations(w.Iterations() + 20)
	w.StillRunning()
	c.Etcd.Members[1].Kill()
	for _, one := range c.All { // the leader loses its lease
		Eventually(t, "all refuse to take a job", func() (bool, string) {
			_, err := one.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: spec})
			return status.Code(err) == codes.Unavailable && wire.Reason(err) == wire.NotLeader, fmt.Sprint(err)
		})
	}
	for _, m := range c.Etcd.Members[:2] {
		m.Restart()
	}
	load.finish(t, "with members of etcd killed", w)
}

// TestTheObjectStoreIsDown stops the S3 server that has the blobs during a run. Uploads are refused, and the result of
// the run is stored once the server is back.
func TestTheObjectStoreIsDown(t *testing.T) {
	t.Parallel()
	s3 := StartObjectStore(t)
	options := s3.Options()
	options.Members = 1
	c := StartCoordinators(t, 2, options)
	c.StartWorkers(2)
	load := longPoints()
	leader := c.Leader()
	spec := load.on(leader)
	job := leader.Create(spec)
	w := leader.Watch(job)
	w.UntilIterations(3)
	w.StillRunning()
	s3.Kill()
	_, err := leader.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: spec})
	wantError(t, "a submit without the object store", err, codes.Unavailable, "BLOBS_UNAVAILABLE")
	w.UntilProgress("the result waits", func(p *cleavev1.Progress) bool {
		return p.GetPhase() == cleavev1.Phase_PHASE_WAITING
	})
	s3.Restart()
	load.finish(t, "with the object store down", w)

	// The next leader reads all of it.
	leader.Kill()
	next := c.Leader(c.Others(leader)...)
	SameOutcome(t, "read by the next leader", next.Outcome(job), load.want(t))
	sameEvents(t, next, job, w.Events)
}
