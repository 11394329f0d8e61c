package clustertest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/testscale"
)

// A coordinator that takes a silent worker for lost only after the test: whatever goes on does so for another reason.
func startPatient(t testing.TB, args ...string) *Coordinator {
	t.Helper()
	return StartCoordinator(t, Options{Args: append([]string{"--heartbeat", "100ms", "--lost-after", "1h"}, args...)})
}

// TestKillsDoNotWait kills one worker after the other. None of them is ever lost by its silence, so the job ends only
// because closed connections are not taken for pauses.
func TestKillsDoNotWait(t *testing.T) {
	t.Parallel()
	c := startPatient(t)
	workers := []*Worker{StartWorker(t, c, "w0"), StartWorker(t, c, "w1"), StartWorker(t, c, "w2")}
	c.AwaitWorkers(3)
	_, w := longPoints().run(c)
	for i, each := range workers {
		w.UntilIterations(3 + 20*i)
		each.Kill()
		StartWorker(t, c, fmt.Sprint("r", i))
	}
	w.StillRunning()
	longPoints().finish(t, "with all workers killed in turn", w)
}

// TestALinkIsCut cuts a worker's link. The worker reattaches at once, with its session and its tiles.
func TestALinkIsCut(t *testing.T) {
	t.Parallel()
	c := startPatient(t, "--reconnect-within", "1h") // this machine may be busy
	link := startProxy(t, c.Addr)
	StartWorkerAt(t, link.addr(), "w0")
	StartWorker(t, c, "w1")
	c.AwaitWorkers(2)
	was := workerID(t, c, "w0")
	_, w := longPoints().run(c)
	for i := range 5 {
		w.UntilIterations(3 + 10*i)
		link.cut()
	}
	w.StillRunning()
	longPoints().finish(t, "with a link cut", w)
	c.AwaitWorkers(2)
	if workerID(t, c, "w0") != was {
		t.Error("the worker has another session")
	}
}

// TestALinkIsSilent silences a worker's link. Nothing closes the connection, so the worker is lost by its silence.
func TestALinkIsSilent(t *testing.T) {
	t.Parallel()
	c := StartCoordinator(t,
		Options{Args: []string{"--heartbeat", "100ms", "--lost-after", "1s", "--reconnect-within", "1h"}})
	link := startProxy(t, c.Addr)
	StartWorkerAt(t, link.addr(), "w0")
	StartWorker(t, c, "w1")
	c.AwaitWorkers(2)
	_, w := longPoints().run(c)
	w.UntilIterations(3)
	link.freeze()
	w.StillRunning()
	longPoints().finish(t, "with a silent link", w)
	c.AwaitWorkers(1)
}

// TestBadWorkers has a worker beside two others that sends heartbeats and fails, or never answers. The job goes on
// without it.
func TestBadWorkers(t *testing.T) {
	t.Parallel()
	failures := map[string]*workerv1.Failure{
		"never answers": nil,
		"says INVALID": {Kind: workerv1.FailureKind_FAILURE_KIND_INVALID, Reason: "BROKEN",
			Message: "I do not like it"},
		"is never ready": {Kind: workerv1.FailureKind_FAILURE_KIND_NOT_READY, Reason: "NOT_READY", Message: "later"},
		"always fails":   {Kind: workerv1.FailureKind_FAILURE_KIND_INTERNAL, Reason: "INTERNAL", Message: "a panic"},
		"is never prepared": {Kind: workerv1.FailureKind_FAILURE_KIND_UNPREPARED, Reason: "UNPREPARED",
			Message: "what job?"},
	}
	for _, name := range testscale.Some([]string{"never answers", "is never ready", "says INVALID", "always fails",
		"is never prepared"}, 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startPatient(t, "--stalled-after", "2s")
			startBadWorker(t, c, failures[name])
			StartWorker(t, c, "w0")
			StartWorker(t, c, "w1")
			c.AwaitWorkers(3)
			_, w := longPoints().run(c)
			longPoints().finish(t, "with a worker that "+name, w)
			c.AwaitWorkers(3)
		})
	}
}

// TestAWorkerThatHangsIsDrained drains a worker that hangs. Its tiles go to the others, and it is told to leave.
func TestAWorkerThatHangsIsDrained(t *testing.T) {
	t.Parallel()
	c := startPatient(t, "--stalled-after", "1h")
	bad := startBadWorker(t, c, nil)
	StartWorker(t, c, "w0")
	StartWorker(t, c, "w1")
	c.AwaitWorkers(3)
	_, w := longPoints().run(c)
	<-bad.asked
	if ran := Cleave(t, "drain", "--server", c.Addr, "bad"); ran.ExitCode != 0 ||
		!strings.Contains(ran.Stdout, "draining") {
		t.Errorf("cleave drain: %+v", ran)
	}
	<-bad.dismissed
	longPoints().finish(t, "with a worker that hangs and was drained", w)
	c.AwaitWorkers(2)
}

// badWorker speaks the worker protocol and computes nothing.
type badWorker struct {
	asked     chan struct{} // closed when it is asked to prepare a job
	dismissed chan struct{} // closed when it may leave
}

// startBadWorker attaches a worker that answers with a failure whatever it is asked, or never if there is none.
func startBadWorker(t testing.TB, c *Coordinator, f *workerv1.Failure) *badWorker {
	t.Helper()
	stream, err := workerv1.NewWorkerServiceClient(c.Conn).Attach(t.Context())
	must(t, stream, err)
	var mu sync.Mutex
	send := func(m *workerv1.AttachRequest) {
		mu.Lock()
		defer mu.Unlock()
		_ = stream.Send(m) // Recv gives the error
	}
	send(&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Hello{Hello: &workerv1.Hello{
		ProtocolVersion: wire.WorkerProtocol, Name: "bad", NumericClass: kernel.NumericClass, Threads: 4,
		MemoryBytes: 1 << 30}}})
	w := &badWorker{asked: make(chan struct{}), dismissed: make(chan struct{})}
	go func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				send(
					&workerv1.AttachRequest{
						Message: &workerv1.AttachRequest_Heartbeat{Heartbeat: &workerv1.Heartbeat{}}})
			case <-t.Context().Done():
				return
			}
		}
	}()
	go func() {
		var asked sync.Once
		for {
			m, err := stream.Recv()
			if err != nil {
				return
			}
			if m.GetFarewell() != nil {
				close(w.dismissed)
				return
			}
			if m.GetCommand().GetPrepare() != nil {
				asked.Do(func() { close(w.asked) })
			}
			if m.GetCommand() != nil && f != nil {
				send(&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Answer{Answer: &workerv1.Answer{
					CommandId: m.GetCommand().GetCommandId(), Outcome: &workerv1.Answer_Failure{Failure: f}}}})
			}
		}
	}()
	return w
}
