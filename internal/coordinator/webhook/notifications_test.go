package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/webhook"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// receiver is a program that is notified.
type receiver struct {
	*httptest.Server
	status chan int // of the next answers
	got    chan notified
}

// notified is a notification as it arrived.
type notified struct {
	header http.Header
	body   string
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{status: make(chan int, 10), got: make(chan notified, 10)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		status := http.StatusNoContent
		select {
		case status = <-r.status:
		default:
		}
		if status == http.StatusFound {
			w.Header().Set("Location", r.URL+"/elsewhere")
		}
		w.WriteHeader(status)
		r.got <- notified{request.Header, string(body)}
	}))
	t.Cleanup(r.Close)
	return r
}

// allowing is the configuration of a coordinator that may notify a receiver.
func allowing(t *testing.T, r *receiver) (coordinator.Config, []byte) {
	cfg := coordinatortest.Config()
	key := []byte("a key of at least twenty-four bytes")
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("whsec_"+base64.StdEncoding.EncodeToString(key)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Webhooks = webhook.Config{Allow: []string{r.URL}, SecretFile: file}
	return cfg, key
}

func notifying(h *coordinatortest.Harness, url string) *cleavev1.CreateJobRequest {
	return &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(h.Upload()),
		Scheduling: &cleavev1.Scheduling{WebhookUrl: url}}
}

// The end of a job is notified by a signed CloudEvent, repeated with the same id and body until it is accepted.
func TestNotifications(t *testing.T) {
	r := newReceiver(t)
	r.status <- http.StatusInternalServerError
	r.status <- http.StatusFound // is not followed
	cfg, key := allowing(t, r)
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(2))
	id := h.Submit(notifying(h, r.URL+"/hooks?token=1"))
	var first notified
	for attempt := range 3 {
		n := coordinatortest.Within(t, r.got, "a notification")
		if attempt == 0 {
			first = n
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(n.header.Get("Webhook-Id") + "." + n.header.Get("Webhook-Timestamp") + "." + n.body))
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); n.header.Get("Webhook-Signature") != want ||
			n.header.Get("Webhook-Id") != id+".ended" || n.body != first.body {
			t.Errorf("attempt %d: %v %s", attempt, n.header, n.body)
		}
	}
	var event struct {
		SpecVersion, ID, Type, Subject, Time string
		Data                                 struct{ Job struct{ JobID, State string } }
	}
	if err := json.Unmarshal([]byte(first.body),
		&event); err != nil || event.SpecVersion != "1.0" || event.ID != id+".ended" ||
		event.Type != "cleave.job.ended.v1" ||
		event.Subject != id || event.Data.Job.JobID != id || event.Data.Job.State != "JOB_STATE_SUCCEEDED" ||
		!strings.HasPrefix(first.header.Get("Content-Type"), "application/cloudevents+json") {
		t.Errorf("%+v %v", event, err)
	}
	h.Close()
	if left := len(r.got); left > 0 {
		t.Errorf("%d notifications too many", left)
	}
}

// A notification that was not accepted is sent by the next coordinator, also if the job was deleted in the meantime.
func TestNotificationsSurviveTheCoordinator(t *testing.T) {
	r := newReceiver(t)
	r.status <- http.StatusServiceUnavailable
	cfg, _ := allowing(t, r)
	cfg.Store, cfg.DataDir = "embedded", t.TempDir()
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	id := h.Submit(notifying(h, r.URL))
	first := coordinatortest.Within(t, r.got, "the first attempt")
	if _, err := h.Jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: id}); err != nil {
		t.Fatal(err)
	}
	h.Crash()
	for len(r.got) > 0 { // it may have tried again before
		<-r.got
	}
	r.status <- http.StatusOK
	h = coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	if second := coordinatortest.Within(t, r.got, "the second attempt"); second.body != first.body {
		t.Errorf("%s\n%s", first.body, second.body)
	}
	awaitNoNotifications(h)
	h.Close()
	h = coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	h.Close()
	if left := len(r.got); left > 0 {
		t.Errorf("%d notifications after the one that was accepted", left)
	}
}

// A receiver that is gone gets nothing more, and neither does one that the operator no longer allows.
func TestNotificationsThatAreGivenUp(t *testing.T) {
	r := newReceiver(t)
	r.status <- http.StatusGone
	cfg, _ := allowing(t, r)
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	h.Submit(notifying(h, r.URL))
	coordinatortest.Within(t, r.got, "the notification")
	awaitNoNotifications(h)
}

// awaitNoNotifications waits until nothing is left to be delivered.
func awaitNoNotifications(h *coordinatortest.Harness) {
	h.T.Helper()
	for pending := 1; pending > 0; {
		entries, err := h.State.List(h.T.Context(), "webhooks/", "", 10)
		if err != nil {
			h.T.Fatal(err)
		}
		pending = len(entries)
	}
}

// Only receivers that the operator allows are notified.
func TestReceiversThatAreNotAllowed(t *testing.T) {
	r := newReceiver(t)
	cfg, _ := allowing(t, r)
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	off := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	for url, want := range map[string]struct {
		code   codes.Code
		reason string
	}{
		"https://evil.example/":                      {codes.PermissionDenied, "WEBHOOK_NOT_ALLOWED"},
		strings.Replace(r.URL, "http:", "https:", 1): {codes.PermissionDenied, "WEBHOOK_NOT_ALLOWED"},
		r.URL + "0": {codes.PermissionDenied, "WEBHOOK_NOT_ALLOWED"},
		strings.Replace(r.URL, "http://", "http://u@", 1): {codes.InvalidArgument, "BAD_WEBHOOK"},
		"file:///etc/passwd":                              {codes.InvalidArgument, "BAD_WEBHOOK"},
		"nonsense":                                        {codes.InvalidArgument, "BAD_WEBHOOK"},
		r.URL + "/" + strings.Repeat("x", 3000):           {codes.InvalidArgument, "BAD_WEBHOOK"},
	} {
		_, err := h.Jobs.CreateJob(t.Context(), notifying(h, url))
		coordinatortest.WantError(t, err, want.code, want.reason)
	}
	_, err := off.Jobs.CreateJob(t.Context(), notifying(off, r.URL))
	coordinatortest.WantError(t, err, codes.FailedPrecondition, "WEBHOOKS_OFF")

	for _, bad := range []webhook.Config{
		{Allow: []string{"https://a.example"}}, {SecretFile: cfg.Webhooks.SecretFile},
		{Allow: []string{"a.example"}, SecretFile: cfg.Webhooks.SecretFile},
		{Allow: []string{"https://a.example/path"}, SecretFile: cfg.Webhooks.SecretFile},
		{Allow: []string{"https://a.example"}, SecretFile: "none"},
	} {
		if err := bad.Check(); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
