package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
	"google.golang.org/grpc/metadata"

	"github.com/cleave-project/cleave/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// get gets a page of an admin port.
func get(t *testing.T, o *Observing, path string) (code int, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + o.AdminAddr() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

func TestAdminPort(t *testing.T) {
	o, err := Start(t.Context(), Options{Admin: "127.0.0.1:0"}, "coordinator", "v1", hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	c := o.Coordinator()
	expect := func(path string, code int, part string) {
		t.Helper()
		if got, body := get(t, o, path); got != code || !strings.Contains(body, part) {
			t.Errorf("%s: %d, %.300q; want %d with %q", path, got, body, code, part)
		}
	}
	expect("/healthz", 200, "ok")
	expect("/readyz", 503, "not ready: starting")
	o.SetReady(func(context.Context) error { return errors.New("the store does not answer") })
	expect("/readyz", 503, "not ready: the store does not answer")
	o.SetReady(func(context.Context) error { return nil })
	expect("/readyz", 200, "ready")
	expect("/metrics", 200, "cleave_leader 0")
	expect("/metrics", 200, `cleave_build_info{program="coordinator",version="v1"} 1`)
	expect("/metrics", 200, "go_goroutines ")
	expect("/metrics", 200, "process_open_fds ")
	c.Watch(func() Gauges { return Gauges{Leads: true, JobsQueued: 3, Ready: 2, Draining: 1} })
	expect("/metrics", 200, "cleave_leader 1")
	expect("/metrics", 200, `cleave_jobs{state="queued"} 3`)
	expect("/metrics", 200, `cleave_workers{state="draining"} 1`)
	expect("/debug/pprof/goroutine?debug=1", 200, "goroutine profile")
	expect("/nothing", 404, "")
}

func TestTheAdminPortIsForThisMachineUnlessToldOtherwise(t *testing.T) {
	for address, reason := range map[string]string{
		"0.0.0.0:0": "ADMIN_NOT_LOOPBACK", ":0": "ADMIN_NOT_LOOPBACK", "[::]:0": "ADMIN_NOT_LOOPBACK",
		"example.org:80": "ADMIN_NOT_LOOPBACK",
		"7402":           "ADMIN_ADDRESS_INVALID", "127.0.0.1:99999": "CANNOT_LISTEN",
	} {
		if _, err := Start(t.Context(), Options{Admin: address}, "worker", "v1", hclog.NewNullLogger()); !fault.Is(err,
			reason) {
			t.Errorf("%s: %v, want %s", address, err, reason)
		}
	}
	o, err := Start(t.Context(), Options{Admin: "0.0.0.0:0", AdminInsecure: true}, "worker", "v1",
		hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	o.Close()
	if _, err := Start(t.Context(), Options{Traces: "localhost:4317"}, "worker", "v1",
		hclog.NewNullLogger()); !fault.Is(err, "TRACES_URL_INVALID") {
		t.Errorf("traces without a scheme: %v", err)
	}
}

// Everything may be nil, which is how programs run that nobody watches.
func TestNobodyWatches(t *testing.T) {
	o, err := Start(t.Context(), Options{}, "worker", "v1", hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if o.Coordinator() != nil || o.Worker() != nil || o.AdminAddr() != "" {
		t.Fatal("something watches")
	}
	var c *Coordinator
	c.Watch(nil)
	c.Accepted()
	c.Resumed()
	c.BlobBytes("read", 1)
	ctx, j := c.BeginJob(t.Context(), "job", "")
	j.Phase("loading")
	j.Iteration(0, 1, 2)
	j.Ended("failed", "WHY", true)
	j.Close()
	if ctx != t.Context() || len(c.ServerOptions()) > 0 {
		t.Error("nobody watches, and yet there is something to do")
	}
	var w *Worker
	w.Watch(nil)()
	w.Command("", "build", "job", "w", 3)("")
	w.Swept("load", 1)
	w.TilesBuilt(1)
	if len(w.DialOptions()) > 0 {
		t.Error("nobody watches, and yet a worker counts")
	}
}

// The reasons that workers give cannot make any number of time series.
func TestVocabulary(t *testing.T) {
	var v vocabulary
	seen := map[string]bool{}
	for i := range 10 * maxWords {
		seen[v.word(fmt.Sprint("REASON_", i))] = true
	}
	seen[v.word(strings.Repeat("LONG", 100))] = true
	if len(seen) != maxWords+1 || !seen[otherWord] || v.word("REASON_0") != "REASON_0" {
		t.Errorf("%d different words", len(seen))
	}
}

func TestRequestIDs(t *testing.T) {
	for sent, kept := range map[string]bool{
		"run-7/task-3": true, "": false, "two words": false, "line\nbreak": false, `quo"te`: false,
		strings.Repeat("x", 129): false, "gr\xfc\xdfe": false,
	} {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(RequestIDHeader, sent))
		ctx, header := withRequestID(ctx)
		id := RequestID(ctx)
		if (id == sent) != kept || id == "" || header.Get(RequestIDHeader)[0] != id {
			t.Errorf("%q became %q, and %v", sent, id, header)
		}
	}
	first, _ := withRequestID(t.Context())
	second, _ := withRequestID(t.Context())
	if RequestID(first) == RequestID(second) {
		t.Error("two requests have one id")
	}
}
