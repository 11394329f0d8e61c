package fleet_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/test/bubble"
)

// A worker whose heartbeats were late is ready again with the next one, and whoever waits for a ready worker hears of
// it.
func TestALateHeartbeatIsAChange(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := openCluster(t, true)
		a := c.startWorker("a")
		a.link.pause()
		time.Sleep(4 * heartbeat)
		synctest.Wait()
		changed := c.fleet.Changed()
		if state := c.worker("a").State; state != fleet.WorkerSilent {
			t.Fatalf("the worker is in state %d", state)
		}
		a.link.resume()
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Fatal("nobody hears that the worker is back")
		}
		if state := c.worker("a").State; state != fleet.WorkerReady {
			t.Errorf("the worker is in state %d", state)
		}
	})
}

// Everything that a worker does in transfers is a sign of life: its heartbeats may wait behind the bytes of a data
// set. The worker of this test sends none.
func TestTransfersAreSignsOfLife(t *testing.T) {
	c := newCluster(t)
	a, _, err := c.attachScripted(validHello())
	if err != nil {
		t.Fatal(err)
	}
	name := c.fleet.Workers()[0].Name
	p := gaussianProblem(t, 200, 1)
	p.data = randomPoints(t, 200, 15_000, 1) // 24 MB
	id, size := c.datasets.put(t, p.data)
	go func() { // until the cluster is closed
		if e, err := c.fleet.NewExecutor(c.ctx, p.task("job", id, size, nil)); err == nil {
			e.Release()
		}
	}()
	m, err := a.stream.Recv()
	if err != nil || m.GetCommand().GetPrepare() == nil {
		t.Fatalf("%v, %v instead of a job", m, err)
	}

	var last time.Time
	wantLife := func(what string) {
		t.Helper()
		for tick := time.Tick(time.Millisecond); ; { // signs of life do not change the fleet
			if w := c.worker(name); w != nil && w.LastHeartbeat.After(last) {
				last = w.LastHeartbeat
				return
			}
			select {
			case <-tick:
			case <-c.ctx.Done():
				t.Fatalf("%s is no sign of life", what)
			}
		}
	}
	wantLife("a hello")
	data, err := a.client.FetchDataset(c.ctx, &workerv1.FetchDatasetRequest{SessionId: a.id, DatasetId: id})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := data.Recv(); err != nil {
		t.Fatal(err)
	}
	wantLife("fetching a data set")
	for err == nil { // most of it is not sent before something is taken
		_, err = data.Recv()
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	wantLife("taking a data set")

	payload, err := a.client.FetchPayload(c.ctx, &workerv1.FetchPayloadRequest{SessionId: a.id, Reference: "none"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := payload.Recv(); err == nil {
		t.Error("a payload that does not exist was sent")
	}
	wantLife("fetching a payload")

	result, err := a.client.SendResult(c.ctx)
	if err == nil {
		err = result.Send(&workerv1.SendResultRequest{SessionId: a.id, Reference: "0"})
	}
	if err != nil {
		t.Fatal(err)
	}
	wantLife("sending a result")

	pieces, err := a.client.Deliver(c.ctx)
	if err == nil {
		err = pieces.Send(&workerv1.DeliverRequest{Message: &workerv1.DeliverRequest_Join{Join: &workerv1.Join{
			SessionId: a.id, DatasetId: id, Bytes: uint64(size), PassesOn: true}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	wantLife("joining a delivery")
	if _, err := pieces.Recv(); err != nil { // its source
		t.Fatal(err)
	}
	if err := pieces.Send(
		&workerv1.DeliverRequest{Message: &workerv1.DeliverRequest_Failed{Failed: &workerv1.SourceFailed{}}}); err !=
		nil {
		t.Fatal(err)
	}
	wantLife("reporting a source")
}

// A worker whose stream broke must attach again in time: its transfers do not keep its session.
func TestTransfersDoNotReplaceTheStream(t *testing.T) {
	c := newCluster(t, losing)
	a, _, err := c.attachScripted(validHello())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for len(c.fleet.Workers()) > 0 {
		payload, err := a.client.FetchPayload(c.ctx, &workerv1.FetchPayloadRequest{SessionId: a.id, Reference: "none"})
		if err == nil {
			_, err = payload.Recv()
		}
		if c.ctx.Err() != nil {
			t.Fatalf("the worker is not lost: %v", err)
		}
	}
}

// The only worker of a job is killed whenever it builds tiles, and after some times it is not started again. The job
// says what it waits for, and does not wait forever.
func TestACrashingWorkerThatDoesNotComeBack(t *testing.T) {
	bubble.Test(t, crashForGood)
}

func crashForGood(t *testing.T) {
	c := openCluster(t, true, func(cfg *fleet.Config) { cfg.LostAfter, cfg.WorkerWait = lostAfter, time.Minute })
	p := gaussianProblem(t, 203, 5)
	id, size := c.datasets.put(t, p.data)
	statuses := make(chan fleet.Status, 1000)
	ended := make(chan error, 1)
	go func() {
		_, err := c.fleet.NewExecutor(c.ctx, p.task("job", id, size, func(s fleet.Status) { statuses <- s }))
		ended <- err
	}()
	waitsFor := func(what string) {
		t.Helper()
		for {
			select {
			case s := <-statuses:
				if strings.Contains(s.Waiting, what) {
					return
				}
			case <-c.ctx.Done():
				t.Fatalf("the job does not wait for %q", what)
			}
		}
	}
	c.datasets.block.Store(true) // while it fetches its data
	for crash := range 3 {
		w := c.startWorker("small")
		<-c.datasets.began
		w.kill()
		<-c.datasets.ended
		if crash == 0 {
			waitsFor(`none is connected; the last one, "small", ended while it computed for this job`)
		}
		c.until("its session is over", func() bool { return c.worker("small") == nil })
	}
	waitsFor(`up to 1m0s: worker "small" ended 3 times while it computed for this job, and is not back`)
	if err := <-ended; !fault.Is(err, "WORKER_CRASHED") ||
		!strings.Contains(err.Error(), "no worker joined within 1m0s") {
		t.Errorf("the job ends with %v", err)
	}
}

// The only worker of a job is killed whenever it builds tiles, and started again each time. After some times it gets
// no more tiles, and the job fails because of it.
func TestACrashingWorkerThatAlwaysComesBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := openCluster(t, true, func(cfg *fleet.Config) { cfg.LostAfter, cfg.WorkerWait = lostAfter, time.Minute })
		p := gaussianProblem(t, 203, 5)
		id, size := c.datasets.put(t, p.data)
		ended := make(chan error, 1)
		go func() {
			_, err := c.fleet.NewExecutor(c.ctx, p.task("job", id, size, nil))
			ended <- err
		}()
		c.datasets.block.Store(true)
		for range 5 {
			w := c.startWorker("small")
			<-c.datasets.began
			w.kill()
			<-c.datasets.ended
			c.until("its session is over", func() bool { return c.worker("small") == nil })
		}
		c.startWorker("small")
		select {
		case err := <-ended:
			if !fault.Is(err, "WORKER_CRASHED") || !strings.Contains(err.Error(), `worker "small" ended 5 times`) {
				t.Errorf("the job ends with %v", err)
			}
		case <-c.datasets.began:
			t.Error("the worker gets tiles again")
		}
	})
}
