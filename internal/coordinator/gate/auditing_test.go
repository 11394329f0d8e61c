package gate_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/security/access"
	"github.com/cleave-project/cleave/internal/security/audit"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

func readAudit(t *testing.T, path string) (lines []audit.Line) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for text := range bytes.Lines(content) {
		var line audit.Line
		if err := json.Unmarshal(text, &line); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		lines = append(lines, line)
	}
	return lines
}

// The audit log has who did what to which object, and how it ended.
func TestAuditLog(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.Security.AuditLog = filepath.Join(t.TempDir(), "audit")
	s := coordinatortest.StartSecured(t, cfg, coordinatortest.Steps(1))
	alice := s.WithToken(s.Tokens["alice"])
	data := alice.Upload()
	job := alice.Create(coordinatortest.Spec(data))
	alice.End(job)
	secret := access.NewToken()
	_, err := alice.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: secret}) // no id, but a secret
	coordinatortest.WantError(t, err, codes.NotFound, records.JobNotFound)
	_, err = s.WithToken(secret).Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: job})
	coordinatortest.WantError(t, err, codes.Unauthenticated, "UNKNOWN_TOKEN")
	_, err = alice.Cluster.DrainWorker(t.Context(), &cleavev1.DrainWorkerRequest{WorkerId: "w"})
	coordinatortest.WantError(t, err, codes.PermissionDenied, "ROLE_MISSING")
	for _, chosen := range []string{"nightly-run.42", secret} {
		named := metadata.AppendToOutgoingContext(t.Context(), observe.RequestIDHeader, chosen)
		_, err = alice.Cluster.GetLimits(named, &cleavev1.GetLimitsRequest{})
		if err != nil {
			t.Error(err)
		}
	}
	s.Close()

	type short struct{ event, caller, role, method, code, reason, ids string }
	want := []short{
		{"begin", "alice", "submitter", "DatasetService/CreateDataset", "", "", ""},
		{"end", "alice", "submitter", "DatasetService/CreateDataset", "OK", "", "dataset_id=" + data},
		{"begin", "alice", "submitter", "JobService/CreateJob", "", "", "dataset_id=" + data},
		{"end", "alice", "submitter", "JobService/CreateJob", "OK", "", "dataset_id=" + data + " job_id=" + job},
		{"end", "alice", "submitter", "JobService/WatchJob", "OK", "", "job_id=" + job},
		{"end", "alice", "submitter", "JobService/GetJob", "OK", "", "dataset_id=" + data + " job_id=" + job},
		{"end", "alice", "submitter", "JobService/GetJob", "NotFound", "JOB_NOT_FOUND", "job_id=(not an id)"},
		{"end", "", "nobody", "JobService/GetJob", "Unauthenticated", "UNKNOWN_TOKEN", ""},
		{"end", "alice", "submitter", "ClusterService/DrainWorker", "PermissionDenied", "ROLE_MISSING", ""},
		{"end", "alice", "submitter", "ClusterService/GetLimits", "OK", "", ""},
		{"end", "alice", "submitter", "ClusterService/GetLimits", "OK", "", ""},
	}
	lines := readAudit(t, cfg.Security.AuditLog)
	if len(lines) != len(want) {
		t.Fatalf("the log has %d lines: %v", len(lines), lines)
	}
	if lines[2].Request == "" || lines[2].Request != lines[3].Request || lines[2].Request == lines[4].Request {
		t.Errorf("lines of one call have one id of the request, and those of another another: %v", lines[2:5])
	}
	if named := lines[9].Request + " " + lines[10].Request; named != "nightly-run.42 [redacted]" {
		t.Errorf("the ids that the caller chose are %s", named)
	}
	for at, line := range lines {
		var ids []string
		for _, field := range []string{"dataset_id", "job_id"} {
			if id := line.IDs[field]; id != "" {
				ids = append(ids, field+"="+id)
			}
		}
		got := short{line.Event, line.Caller, line.Role, strings.TrimPrefix(line.Method, "/cleave.v1."), line.Code,
			line.Reason, strings.Join(ids, " ")}
		if got != want[at] || line.Time.IsZero() || line.Peer == "" {
			t.Errorf("line %d is %+v (%v, %v), want %+v", at, got, line.Time, line.Peer, want[at])
		}
	}
	content, err := os.ReadFile(cfg.Security.AuditLog)
	if err != nil || bytes.Contains(content, []byte(secret)) {
		t.Errorf("the log has a secret: %v", err)
	}
}

// The audit log has the calls that clients make over HTTP, and no others.
func TestAuditLogOfHTTP(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.Security.AuditLog = filepath.Join(t.TempDir(), "audit")
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	client := h.HTTPClient(nil, false)
	if got := client.Ask("POST", "http://localhost/v1/tables?format=csv",
		"x\n"+strings.Repeat("1\n", 100<<10)); got.Status != 200 {
		t.Errorf("%+v", got)
	}
	client.Ask("POST", "http://localhost/v1/jobs",
		`{"spec":{"k":2,"datasetId":"`+strings.Repeat("x", 100<<10)+`"}}`)
	h.Close()
	var got []string
	for _, line := range readAudit(t, cfg.Security.AuditLog) {
		got = append(got, line.Event+" "+strings.TrimPrefix(line.Method, "/cleave.v1."))
	}
	if want := "begin TableService/CreateTable, end TableService/CreateTable, begin JobService/CreateJob, end " +
		"JobService/CreateJob"; strings.Join(got, ", ") != want {
		t.Errorf("the log has %q, want %s", got, want)
	}
}

// The audit log has the request ids that clients choose, so that its lines can be found, but no secrets and no long
// texts.
func TestAuditedRequestIDs(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.Security.AuditLog = filepath.Join(t.TempDir(), "audit")
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	secret := access.NewToken()
	want := map[string]string{"nightly-17": "nightly-17", secret: "[redacted]",
		strings.Repeat("x", 5000): strings.Repeat("x", 200) + "..."}
	for id, logged := range want {
		_, err := h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{RequestId: id,
			Spec: coordinatortest.Spec("none")})
		if err == nil {
			t.Fatal("a job without data is created")
		}
		lines := readAudit(t, cfg.Security.AuditLog)
		if got := lines[len(lines)-1].IDs["request_id"]; got != logged {
			t.Errorf("%.40q is logged as %.240q", id, got)
		}
	}
}

// Where the log cannot be written, nothing is changed, and everything can still be seen.
func TestNothingIsChangedWithoutTheAuditLog(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		return // not a Linux
	}
	cfg := coordinatortest.Config()
	cfg.Security.AuditLog = full
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	_, err := h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec("x")})
	coordinatortest.WantError(t, err, codes.Unavailable, "AUDIT_LOG_FAILED")
	stream, err := h.Datasets.CreateDataset(t.Context())
	if err == nil {
		_, err = stream.CloseAndRecv()
	}
	coordinatortest.WantError(t, err, codes.Unavailable, "AUDIT_LOG_FAILED")
	if _, err := h.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{}); err != nil {
		t.Error(err)
	}
}
