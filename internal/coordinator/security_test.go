package coordinator

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/security/access"
	"github.com/cleave-project/cleave/internal/security/certs"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/wire"
)

// Whoever adds a method says who may call it.
func TestEveryMethodHasARule(t *testing.T) {
	h := newHarness(t, testConfig(), scripted(steps(1)))
	served := map[string]bool{}
	for service, info := range h.c.server.GetServiceInfo() {
		for _, method := range info.Methods {
			name := "/" + service + "/" + method.Name
			served[name] = true
			if !slices.Contains(gate.Methods(), name) {
				t.Errorf("%s has no line in the table of methods: who may call it?", name)
			}
		}
	}
	for _, name := range gate.Methods() {
		if !served[name] {
			t.Errorf("the table of methods has %s, which is not served", name)
		}
	}
}

// secured is a coordinator that asks who calls, and those who do.
type secured struct {
	*harness
	files  certs.Folder
	tokens map[string]string // by name
}

var people = []identity.Caller{{Name: "alice", Role: identity.Submitter}, {Name: "bob", Role: identity.Submitter},
	{Name: "rita", Role: identity.Reader}, {Name: "ada", Role: identity.Admin}}

func newSecured(t *testing.T, cfg Config, e jobs.Engine) *secured {
	t.Helper()
	s := &secured{files: certs.Folder{Dir: t.TempDir(), Now: time.Now}, tokens: map[string]string{}}
	if err := s.files.Init(); err != nil {
		t.Fatal(err)
	}
	s.issue(t, "coordinator", certs.Party{Hosts: []string{"localhost"}})
	s.issue(t, "worker", certs.Party{Caller: &identity.Caller{Name: "w", Role: identity.Worker}})
	s.issue(t, "alice", certs.Party{Caller: &people[0]})
	var lines []string
	for _, p := range people {
		s.tokens[p.Name] = access.NewToken()
		line, err := access.TokenLine(s.tokens[p.Name], p, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	cfg.Security.Access.TokenFile = filepath.Join(s.files.Dir, "tokens")
	if err := os.WriteFile(cfg.Security.Access.TokenFile, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Security.Serve.Dir = filepath.Join(s.files.Dir, "coordinator")
	s.harness = newHarness(t, cfg, e)
	return s
}

func (s *secured) issue(t *testing.T, name string, p certs.Party) {
	t.Helper()
	p.Life = time.Hour
	if _, err := s.files.Issue(name, p); err != nil {
		t.Fatal(err)
	}
}

// as is the coordinator as a caller with some credentials sees it.
func (s *secured) as(dial credentials.Dial) *harness {
	s.t.Helper()
	dial.ServerName = "localhost"
	options, err := dial.Options(nil, "passthrough:///test")
	if err != nil {
		s.t.Fatal(err)
	}
	conn, err := grpc.NewClient("passthrough:///test", append(options,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return s.listener.Dial(ctx)
		}))...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	return &harness{t: s.t, c: s.c, conn: conn, jobs: cleavev1.NewJobServiceClient(conn),
		datasets: cleavev1.NewDatasetServiceClient(conn), cluster: cleavev1.NewClusterServiceClient(conn)}
}

func (s *secured) withToken(token string) *harness {
	return s.as(credentials.Dial{Files: credentials.Files{CA: filepath.Join(s.files.Dir, "ca", "ca.pem")},
		Token: token})
}

func (s *secured) withCertificate(name string) *harness {
	return s.as(credentials.Dial{Files: credentials.Files{Dir: filepath.Join(s.files.Dir, name)}})
}

// Owners see their own jobs, data and request ids, and nothing of the others.
func TestOwnersSeeTheirOwn(t *testing.T) {
	s := newSecured(t, testConfig(), scripted(steps(1)))
	alice := s.withToken(s.tokens["alice"])
	bob := s.withToken(s.tokens["bob"])
	ada := s.withToken(s.tokens["ada"])
	data := alice.upload()

	for _, call := range []func(h *harness) error{
		func(h *harness) error {
			_, err := h.datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: data})
			return err
		},
		func(h *harness) error {
			_, err := h.jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: spec(data)})
			return err
		},
		func(h *harness) error {
			_, err := h.jobs.PlanJob(t.Context(), &cleavev1.PlanJobRequest{Spec: spec(data)})
			return err
		},
	} {
		wantError(t, call(bob), codes.NotFound, "DATASET_NOT_FOUND")
	}
	// To delete what somebody else has is to delete what is not there.
	if _, err := bob.datasets.DeleteDataset(t.Context(), &cleavev1.DeleteDatasetRequest{DatasetId: data}); err != nil {
		t.Error(err)
	}

	request := &cleavev1.CreateJobRequest{Spec: spec(data), RequestId: uuid.NewString()}
	created, err := alice.jobs.CreateJob(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	job := created.GetJob().GetJobId()
	if owner := alice.end(job).GetOwner(); owner != "alice" {
		t.Errorf("the job belongs to %q", owner)
	}
	// The same certificate name is the same owner.
	if s.withCertificate("alice").job(job).GetJobId() != job {
		t.Error("alice does not see her job when she shows a certificate")
	}
	_, err = bob.jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: job})
	wantError(t, err, codes.NotFound, records.JobNotFound)
	_, err = bob.jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: job})
	wantError(t, err, codes.NotFound, records.JobNotFound)
	_, err = bob.jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: job})
	wantError(t, err, codes.NotFound, records.JobNotFound)
	labels, err := bob.jobs.GetLabels(t.Context(), &cleavev1.GetLabelsRequest{JobId: job})
	if err == nil {
		_, err = labels.Recv()
	}
	wantError(t, err, codes.NotFound, records.JobNotFound)
	if _, err := bob.jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: job}); err != nil {
		t.Error(err)
	}
	if len(bob.listed(t)) > 0 || !slices.Equal(alice.listed(t), []string{job}) ||
		!slices.Equal(ada.listed(t), []string{job}) {
		t.Errorf("bob sees %v, alice %v, ada %v", bob.listed(t), alice.listed(t), ada.listed(t))
	}

	// Bob has the same content, and the same request id.
	if bob.upload() != data {
		t.Error("the same content has another id")
	}
	again, err := bob.jobs.CreateJob(t.Context(), request)
	if err != nil || again.GetJob().GetJobId() == job {
		t.Errorf("bob's request gave alice's job: %v, %v", again, err)
	}
	bob.end(again.GetJob().GetJobId())
	if repeated, err := alice.jobs.CreateJob(t.Context(), request); err != nil || repeated.GetJob().GetJobId() != job {
		t.Errorf("alice's request gave %v, %v", repeated, err)
	}
}

// listed are the ids of the jobs that a caller sees.
func (h *harness) listed(t *testing.T) (ids []string) {
	t.Helper()
	response, err := h.jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
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
	g := newBarrier()
	s := newSecured(t, testConfig(), scripted(g.run))
	alice := s.withToken(s.tokens["alice"])
	bob := s.withToken(s.tokens["bob"])
	ada := s.withToken(s.tokens["ada"])
	upload := func(h *harness, name string) string {
		t.Helper()
		points, err := dataset.NewPoints(4, 1, []float64{0, 10, 1, 11})
		if err != nil {
			t.Fatal(err)
		}
		stored, err := wire.SendDataset(t.Context(), h.datasets, name, points, wire.UploadStart{})
		if err != nil {
			t.Fatal(err)
		}
		if stored.GetDisplayName() != name {
			t.Errorf("the upload of %s is called %s", name, stored.GetDisplayName())
		}
		return stored.GetDatasetId()
	}
	names := func(h *harness) (names []string) {
		t.Helper()
		response, err := h.datasets.ListDatasets(t.Context(), &cleavev1.ListDatasetsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range response.GetDatasets() {
			names = append(names, d.GetDisplayName())
		}
		return names
	}
	remove := func(h *harness, id string) error {
		_, err := h.datasets.DeleteDataset(t.Context(), &cleavev1.DeleteDatasetRequest{DatasetId: id})
		return err
	}
	blobs := func() int {
		t.Helper()
		all, err := s.c.blobs.List(t.Context(), "datasets/")
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
	job := bob.create(spec(id))
	within(t, g.entered, "the run")
	wantError(t, remove(bob, id), codes.FailedPrecondition, "DATASET_IN_USE")
	if err := remove(alice, id); err != nil {
		t.Error(err)
	}
	_, err := alice.datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: id})
	wantError(t, err, codes.NotFound, "DATASET_NOT_FOUND")
	wantError(t, remove(ada, id), codes.FailedPrecondition, "DATASET_IN_USE")
	if !slices.Equal(names(bob), []string{"of bob"}) || blobs() != 1 {
		t.Errorf("bob has %v, in %d blobs", names(bob), blobs())
	}
	close(g.open)
	bob.end(job)
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
	s := newSecured(t, testConfig(), scripted(steps(1)))
	list := func(h *harness) error {
		_, err := h.jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
		return err
	}
	drain := func(h *harness) error {
		_, err := h.cluster.DrainWorker(t.Context(), &cleavev1.DrainWorkerRequest{WorkerId: "none"})
		return err
	}
	upload := func(h *harness) error {
		points, err := dataset.NewPoints(1, 1, []float64{0})
		if err == nil {
			_, err = wire.SendDataset(t.Context(), h.datasets, "", points, wire.UploadStart{})
		}
		return wire.Status(err)
	}
	attach := func(h *harness) error {
		stream, err := workerv1.NewWorkerServiceClient(h.conn).Attach(t.Context())
		if err == nil {
			_ = stream.Send(&workerv1.AttachRequest{}) // no hello: the protocol refuses it, if the guard does not
			_, err = stream.Recv()
		}
		return err
	}
	reflect := func(h *harness) error {
		stream, err := reflectionv1.NewServerReflectionClient(h.conn).ServerReflectionInfo(t.Context())
		if err == nil {
			_ = stream.Send(&reflectionv1.ServerReflectionRequest{
				MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}})
			_, err = stream.Recv()
			_ = stream.CloseSend()
		}
		return err
	}
	unknown := func(h *harness) error {
		return h.conn.Invoke(t.Context(), "/cleave.v1.JobService/NoSuch", &cleavev1.GetJobRequest{},
			&cleavev1.GetJobResponse{})
	}
	nobody := s.withToken("")
	worker := s.withCertificate("worker")
	alice := s.withCertificate("alice")
	rita := s.withToken(s.tokens["rita"])
	ada := s.withToken(s.tokens["ada"])
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
		{"an unknown token", list(s.withToken(access.NewToken())), who, "UNKNOWN_TOKEN"},
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
		t.Run(c.what, func(t *testing.T) { wantError(t, c.err, c.code, c.why) })
	}
	// A call is refused by its header alone: this one has sent no message yet.
	call, err := nobody.conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true},
		"/cleave.v1.JobService/CreateJob")
	if err == nil {
		err = call.RecvMsg(&cleavev1.CreateJobResponse{})
	}
	wantError(t, err, who, noToken)
	s.settle(0, 0) // refused calls keep no place
	if _, err := healthv1.NewHealthClient(nobody.conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Errorf("nobody can ask for the health: %v", err)
	}
	if response, err := rita.cluster.ListWorkers(t.Context(), &cleavev1.ListWorkersRequest{}); err != nil ||
		len(response.GetWorkers()) > 0 {
		t.Errorf("workers: %v, %v", response, err)
	}
}

// A coordinator that nobody but this process reaches needs no certificates, and one with certificates takes nobody
// without.
func TestAConnectionWithoutEncryptionIsRefused(t *testing.T) {
	s := newSecured(t, testConfig(), scripted(steps(1)))
	_, err := s.jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{}) // the harness itself speaks no TLS
	wantError(t, err, codes.Unavailable, "")
}
