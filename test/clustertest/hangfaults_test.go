package clustertest

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/wire"
)

// hangFaults are object stores that hang: connections stay open, and nothing moves.
func hangFaults() []disturbance {
	patience := []string{"--blobs-stall", "500ms"}
	return []disturbance{
		{name: "the object store hangs while data is loaded", longOnly: true, load: faultVectors, flags: patience,
			begin: beginObjects, strike: func(r *faultRun) {
				r.blobs.server.Pause()
				r.awaitRefusal()
				r.mark()
				r.blobs.server.Resume()
			}},
		{name: "the object store hangs while results are stored", load: faultPoints, flags: patience,
			begin: beginObjects, strike: func(r *faultRun) {
				r.iterate()
				r.blobs.server.Pause()
				r.awaitRefusal()
				r.awaitWaiting()
				r.mark()
				r.blobs.server.Resume()
			}},
		{name: "the link to the object store goes silent", longOnly: true, load: faultPoints, flags: patience,
			begin: beginDistantObjects, strike: func(r *faultRun) {
				r.iterate()
				r.link.freeze()
				r.awaitRefusal()
				r.awaitWaiting()
				r.mark()
				r.link.thaw()
			}},
	}
}

// beginDistantObjects is beginObjects with a link to the object store that can be frozen.
func beginDistantObjects(r *faultRun, o Options) {
	s3 := StartObjectStore(r)
	r.link = startProxy(r, s3.address)
	distant := &ObjectStore{address: r.link.addr()}
	o.Args = append(o.Args, distant.Options().Args...)
	r.c = StartCoordinator(r, o)
}

// awaitRefusal submits a job, which must be refused with a sentence. Another one is refused at once, so that calls do
// not pile up.
func (r *faultRun) awaitRefusal() {
	r.Helper()
	spec := proto.CloneOf(warmUp().spec)
	spec.Data = &cleavev1.JobSpec_DatasetId{DatasetId: r.c.Upload(warmUp().data)} // which is there already
	for range 5 {
		_, err := r.c.Jobs.CreateJob(r.Context(), &cleavev1.CreateJobRequest{Spec: spec})
		if status.Code(err) != codes.Unavailable || wire.Reason(err) != "BLOBS_UNAVAILABLE" {
			r.Fatalf("a submit while the object store hangs gives %v", err)
		}
	}
}
