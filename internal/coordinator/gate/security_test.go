package gate_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/security/access"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// Owners see their own jobs, data and request ids, and nothing of the others.
func TestOwnersSeeTheirOwn(t *testing.T) {
	s := coordinatortest.StartSecured(t, coordinatortest.Config(), coordinatortest.Steps(1))
	alice := s.WithToken(s.Tokens["alice"])
	bob := s.WithToken(s.Tokens["bob"])
	ada := s.WithToken(s.Tokens["ada"])
	data := alice.Upload()

	for _, call := range []func(h *coordinatortest.Clients) error{
		func(h *coordinatortest.Clients) error {
			_, err := h.Datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: data})
			return err
		},
		func(h *coordinatortest.Clients) error {
			_, err := h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data)})
			return err
		},
		func(h *coordinatortest.Clients) error {
			_, err := h.Jobs.PlanJob(t.Context(), &cleavev1.PlanJobRequest{Spec: coordinatortest.Spec(data)})
			return err
		},
	} {
		coordinatortest.WantError(t, call(bob), codes.NotFound, "DATASET_NOT_FOUND")
	}
	// To delete what somebody else has is to delete what is not there.
	if _, err := bob.Datasets.DeleteDataset(t.Context(), &cleavev1.DeleteDatasetRequest{DatasetId: data}); err != nil {
		t.Error(err)
	}

	request := &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data), RequestId: uuid.NewString()}
	created, err := alice.Jobs.CreateJob(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	job := created.GetJob().GetJobId()
	if owner := alice.End(job).GetOwner(); owner != "alice" {
		t.Errorf("the job belongs to %q", owner)
	}
	// The same certificate name is the same owner.
	if s.WithCertificate("alice").Job(job).GetJobId() != job {
		t.Error("alice does not see her job when she shows a certificate")
	}
	_, err = bob.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: job})
	coordinatortest.WantError(t, err, codes.NotFound, records.JobNotFound)
	_, err = bob.Jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: job})
	coordinatortest.WantError(t, err, codes.NotFound, records.JobNotFound)
	_, err = bob.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: job})
	coordinatortest.WantError(t, err, codes.NotFound, records.JobNotFound)
	labels, err := bob.Jobs.GetLabels(t.Context(), &cleavev1.GetLabelsRequest{JobId: job})
	if err == nil {
		_, err = labels.Recv()
	}
	coordinatortest.WantError(t, err, codes.NotFound, records.JobNotFound)
	if _, err := bob.Jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: job}); err != nil {
		t.Error(err)
	}
	if len(listed(bob, t)) > 0 || !slices.Equal(listed(alice, t), []string{job}) ||
		!slices.Equal(listed(ada, t), []string{job}) {
		t.Errorf("bob sees %v, alice %v, ada %v", listed(bob, t), listed(alice, t), listed(ada, t))
	}

	// Bob has the same content, and the same request id.
	if bob.Upload() != data {
		t.Error("the same content has another id")
	}
	again, err := bob.Jobs.CreateJob(t.Context(), request)
	if err != nil || again.GetJob().GetJobId() == job {
		t.Errorf("bob's request gave alice's job: %v, %v", again, err)
	}
	bob.End(again.GetJob().GetJobId())
	if repeated, err := alice.Jobs.CreateJob(t.Context(), request); err != nil || repeated.GetJob().GetJobId() != job {
		t.Errorf("alice's request gave %v, %v", repeated, err)
	}
}

// listed are the ids of the jobs that a caller sees.
func listed(h *coordinatortest.Clients, t *testing.T) (ids []string) {
	t.Helper()
	response, err := h.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range response.GetJobs() {
		ids = append(ids, job.GetJobId())
	}
	return ids
}

// A content that two have uploaded is stored once. Each sees it under the name they gave it, until they delete it.
func TestContentOfSeveralOwners(t *testing.T) {
	g := coordinatortest.NewBarrier()
	s := coordinatortest.StartSecured(t, coordinatortest.Config(), g.Run)
	alice := s.WithToken(s.Tokens["alice"])
	bob := s.WithToken(s.Tokens["bob"])
	ada := s.WithToken(s.Tokens["ada"])
	upload := func(h *coordinatortest.Clients, name string) string {
		t.Helper()
		points, err := dataset.NewPoints(4, 1, []float64{0, 10, 1, 11})
		if err != nil {
			t.Fatal(err)
		}
		stored, err := wire.SendDataset(t.Context(), h.Datasets, name, points, wire.UploadStart{})
		if err != nil {
			t.Fatal(err)
		}
		if stored.GetDisplayName() != name {
			t.Errorf("the upload of %s is called %s", name, stored.GetDisplayName())
		}
		return stored.GetDatasetId()
	}
	names := func(h *coordinatortest.Clients) (names []string) {
		t.Helper()
		response, err := h.Datasets.ListDatasets(t.Context(), &cleavev1.ListDatasetsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range response.GetDatasets() {
			names = append(names, d.GetDisplayName())
		}
		return names
	}
	remove := func(h *coordinatortest.Clients, id string) error {
		_, err := h.Datasets.DeleteDataset(t.Context(), &cleavev1.DeleteDatasetRequest{DatasetId: id})
		return err
	}
	blobs := func() int {
		t.Helper()
		all, err := s.Blobs.List(t.Context(), "datasets/")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	id := upload(alice, "of alice")
	upload(alice, "of alice") // again
	upload(bob, "of bob")
	if got := [][]string{names(alice), names(bob), names(ada)}; !slices.EqualFunc(got,
		[][]string{{"of alice"}, {"of bob"}, {"of alice"}}, slices.Equal) || blobs() != 1 {
		t.Errorf("alice, bob and ada see %v, in %d blobs", got, blobs())
	}

	// Bob's job keeps the content for him, and tells alice nothing.
	job := bob.Create(coordinatortest.Spec(id))
	coordinatortest.Within(t, g.Entered, "the run")
	coordinatortest.WantError(t, remove(bob, id), codes.FailedPrecondition, "DATASET_IN_USE")
	if err := remove(alice, id); err != nil {
		t.Error(err)
	}
	_, err := alice.Datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: id})
	coordinatortest.WantError(t, err, codes.NotFound, "DATASET_NOT_FOUND")
	coordinatortest.WantError(t, remove(ada, id), codes.FailedPrecondition, "DATASET_IN_USE")
	if !slices.Equal(names(bob), []string{"of bob"}) || blobs() != 1 {
		t.Errorf("bob has %v, in %d blobs", names(bob), blobs())
	}
	close(g.Open)
	bob.End(job)
	upload(alice, "of alice")
	if err := remove(bob, id); err != nil || blobs() != 1 {
		t.Errorf("bob gave up the content that alice has: %v, %d blobs", err, blobs())
	}
	if err := remove(ada, id); err != nil || blobs() != 0 || len(names(alice)) > 0 {
		t.Errorf("after the admin deleted it for all there are %d blobs, and alice has %v: %v", blobs(),
			names(alice), err)
	}
}

func TestRolesAndCredentials(t *testing.T) {
	s := coordinatortest.StartSecured(t, coordinatortest.Config(), coordinatortest.Steps(1))
	list := func(h *coordinatortest.Clients) error {
		_, err := h.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
		return err
	}
	drain := func(h *coordinatortest.Clients) error {
		_, err := h.Cluster.DrainWorker(t.Context(), &cleavev1.DrainWorkerRequest{WorkerId: "none"})
		return err
	}
	upload := func(h *coordinatortest.Clients) error {
		points, err := dataset.NewPoints(1, 1, []float64{0})
		if err == nil {
			_, err = wire.SendDataset(t.Context(), h.Datasets, "", points, wire.UploadStart{})
		}
		return wire.Status(err)
	}
	attach := func(h *coordinatortest.Clients) error {
		stream, err := workerv1.NewWorkerServiceClient(h.Conn).Attach(t.Context())
		if err == nil {
			_ = stream.Send(&workerv1.AttachRequest{}) // no hello: the protocol refuses it, if the guard does not
			_, err = stream.Recv()
		}
		return err
	}
	reflect := func(h *coordinatortest.Clients) error {
		stream, err := reflectionv1.NewServerReflectionClient(h.Conn).ServerReflectionInfo(t.Context())
		if err == nil {
			_ = stream.Send(&reflectionv1.ServerReflectionRequest{
				MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}})
			_, err = stream.Recv()
			_ = stream.CloseSend()
		}
		return err
	}
	unknown := func(h *coordinatortest.Clients) error {
		return h.Conn.Invoke(t.Context(), "/cleave.v1.JobService/NoSuch", &cleavev1.GetJobRequest{},
			&cleavev1.GetJobResponse{})
	}
	nobody := s.WithToken("")
	worker := s.WithCertificate("worker")
	alice := s.WithCertificate("alice")
	rita := s.WithToken(s.Tokens["rita"])
	ada := s.WithToken(s.Tokens["ada"])
	const denied, missing, who, noToken = codes.PermissionDenied, "ROLE_MISSING", codes.Unauthenticated,
		"NO_CREDENTIALS"
	for _, c := range []struct {
		what string
		err  error
		code codes.Code
		why  string
	}{
		{"nobody lists", list(nobody), who, noToken},
		{"nobody uploads", upload(nobody), who, noToken},
		{"nobody attaches", attach(nobody), who, noToken},
		{"nobody reflects", reflect(nobody), who, noToken},
		{"nobody calls what is not there", unknown(nobody), who, noToken},
		{"an unknown token", list(s.WithToken(access.NewToken())), who, "UNKNOWN_TOKEN"},
		{"a reader lists", list(rita), codes.OK, ""},
		{"a reader reflects", reflect(rita), codes.OK, ""},
		{"a reader uploads", upload(rita), denied, missing},
		{"a submitter uploads", upload(alice), codes.OK, ""},
		{"a submitter drains", drain(alice), denied, missing},
		{"a submitter attaches", attach(alice), denied, missing},
		{"an admin drains", drain(ada), codes.NotFound, "WORKER_NOT_FOUND"},
		{"an admin attaches", attach(ada), denied, missing},
		{"a reader calls what is not there", unknown(rita), codes.Unimplemented, ""},
		{"an admin calls what is not there", unknown(ada), codes.Unimplemented, ""},
		{"a worker lists", list(worker), denied, missing},
		{"a worker uploads", upload(worker), denied, missing},
		{"a worker attaches", attach(worker), codes.InvalidArgument, "NO_HELLO"},
	} {
		t.Run(c.what, func(t *testing.T) { coordinatortest.WantError(t, c.err, c.code, c.why) })
	}
	// A call is refused by its header alone: this one has sent no message yet.
	call, err := nobody.Conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true},
		"/cleave.v1.JobService/CreateJob")
	if err == nil {
		err = call.RecvMsg(&cleavev1.CreateJobResponse{})
	}
	coordinatortest.WantError(t, err, who, noToken)
	ada.Settle(0, 0) // refused calls keep no place
	if _, err := healthv1.NewHealthClient(nobody.Conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Errorf("nobody can ask for the health: %v", err)
	}
	if response, err := rita.Cluster.ListWorkers(t.Context(), &cleavev1.ListWorkersRequest{}); err != nil ||
		len(response.GetWorkers()) > 0 {
		t.Errorf("workers: %v, %v", response, err)
	}
}

// A coordinator that nobody but this process reaches needs no certificates, and one with certificates takes nobody
// without.
func TestAConnectionWithoutEncryptionIsRefused(t *testing.T) {
	s := coordinatortest.StartSecured(t, coordinatortest.Config(), coordinatortest.Steps(1))
	_, err := s.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{}) // the harness itself speaks no TLS
	coordinatortest.WantError(t, err, codes.Unavailable, "")
}
