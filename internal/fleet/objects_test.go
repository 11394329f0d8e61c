package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/wire"
)

// objectServer serves texts. While hold is set, requests wait.
type objectServer struct {
	*httptest.Server
	texts map[string]string

	mu      sync.Mutex
	hold    chan struct{}
	waiting chan struct{} // has a value for each request that waits
}

func newObjectServer(t *testing.T, texts map[string]string) *objectServer {
	s := &objectServer{texts: texts, waiting: make(chan struct{}, 1000)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		hold := s.hold
		s.mu.Unlock()
		if hold != nil {
			s.waiting <- struct{}{}
			select {
			case <-hold:
			case <-r.Context().Done():
				return
			}
		}
		text, found := s.texts[r.URL.Path[1:]]
		if !found {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, len(text)))
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	}))
	t.Cleanup(s.Close)
	return s
}

// unit returns a unit that reads a text, and the rows that it has read.
func (s *objectServer) unit(name string) (*fleet.ObjectUnit, *[]*cleavev1.TableRows) {
	var rows []*cleavev1.TableRows
	return &fleet.ObjectUnit{
		URI: "s3://test/" + name,
		Request: func(_ context.Context, after uint64) (*workerv1.ReadObject, error) {
			text, found := s.texts[name]
			size := len(text)
			if !found {
				size = 10
			}
			return &workerv1.ReadObject{Uri: "s3://test/" + name, Url: s.URL + "/" + name, Bytes: uint64(size),
				Etag: fmt.Sprintf(`"%d"`, len(text)), Rows: after}, nil
		},
		Take: func(found *workerv1.ObjectRows) (bool, error) {
			rows = append(rows, found.GetRows()...)
			return found.GetEnd(), nil
		},
	}, &rows
}

// numbered returns a CSV with rows of consecutive numbers.
func numbered(rows int) string {
	var b strings.Builder
	b.WriteString("x,y\n")
	for row := range rows {
		fmt.Fprintf(&b, "%d,%d.5\n", row, row)
	}
	return b.String()
}

// wantNumbered checks that rows are those of numbered.
func wantNumbered(t *testing.T, what string, parts []*cleavev1.TableRows, rows int) {
	t.Helper()
	at := int64(0)
	for _, part := range parts {
		read, err := wire.TableRows(part)
		if err != nil {
			t.Fatal(err)
		}
		for row, x := range read.Columns[0].Integers {
			if x != at || read.Columns[1].Numbers[row] != float64(at)+0.5 {
				t.Fatalf("%s: row %d is %v, %v", what, at, x, read.Columns[1].Numbers[row])
			}
			at++
		}
	}
	if at != int64(rows) {
		t.Errorf("%s: %d rows instead of %d", what, at, rows)
	}
}

// Objects are read by all workers, each row once, also if one of them is killed while all of them read.
func TestObjectsOfALostWorkerAreReadByOthers(t *testing.T) {
	c := newCluster(t) // only the worker that is killed is lost, however slow they all are
	workers := []*testWorker{c.startWorker("a"), c.startWorker("b"), c.startWorker("c")}
	c.until("three workers", func() bool { return len(c.fleet.Workers()) == 3 })
	const rows = 300_000 // several answers
	texts := map[string]string{}
	for at := range 6 {
		texts[fmt.Sprint(at)] = numbered(rows + at)
	}
	s := newObjectServer(t, texts)
	var units []*fleet.ObjectUnit
	var read []*[]*cleavev1.TableRows
	// Once the first rows have come, nobody gets anything. Each worker then waits for the rest of an object or for
	// another one.
	hold := sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.hold = make(chan struct{})
	})
	for at := range 6 {
		unit, found := s.unit(fmt.Sprint(at))
		take := unit.Take
		unit.Take = func(rows *workerv1.ObjectRows) (bool, error) {
			hold()
			return take(rows)
		}
		units = append(units, unit)
		read = append(read, found)
	}
	done := make(chan error, 1)
	most := 0
	go func() {
		done <- c.fleet.ReadObjects(t.Context(), units, func(reading int) { most = max(most, reading) })
	}()
	for range 3 {
		select {
		case <-s.waiting:
		case err := <-done:
			t.Fatalf("reading ended before all objects were read: %v", err)
		case <-c.ctx.Done():
			t.Fatal("no requests wait")
		}
	}
	workers[0].kill()
	c.until("the killed worker is gone", func() bool {
		return c.worker("a") == nil || c.worker("a").State != fleet.WorkerReady
	})
	s.mu.Lock()
	close(s.hold)
	s.hold = nil
	s.mu.Unlock()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for at := range 6 {
		wantNumbered(t, fmt.Sprint("object ", at), *read[at], rows+at)
	}
	if most != 3 {
		t.Errorf("%d workers read at the same time", most)
	}
}

func TestObjectsThatCannotBeRead(t *testing.T) {
	c := newCluster(t)
	c.startWorker("a")
	c.startWorker("b")
	c.until("two workers", func() bool { return len(c.fleet.Workers()) == 2 })
	s := newObjectServer(t, map[string]string{"good": numbered(10), "ragged": "x,y\n1,2\n3\n", "changed": numbered(20),
		"empty": ""})
	wantFault := func(name, reason string, kind fault.Kind, says ...string) {
		t.Helper()
		good, _ := s.unit("good")
		bad, _ := s.unit(name)
		if name == "changed" {
			request := bad.Request
			bad.Request = func(ctx context.Context, rows uint64) (*workerv1.ReadObject, error) {
				m, err := request(ctx, rows)
				m.Etag = `"other"`
				return m, err
			}
		}
		err := c.fleet.ReadObjects(t.Context(), []*fleet.ObjectUnit{good, bad}, nil)
		if f, is := errors.AsType[*fault.Error](err); !is || f.Reason != reason || f.Kind != kind {
			t.Errorf("%s: %v", name, err)
			return
		}
		for _, part := range append(says, "s3://test/"+name) {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", name, err, part)
			}
		}
	}
	wantFault("ragged", "RAGGED_ROWS", fault.InvalidArgument, "line 3")
	wantFault("changed", "OBJECT_CHANGED", fault.FailedPrecondition, "was replaced")
	wantFault("secret", "OBJECT_UNREADABLE", fault.FailedPrecondition, `worker "`, "and neither can 1 other worker",
		"403 Forbidden")
	wantFault("empty", "EMPTY_DATA", fault.InvalidArgument, "the file is empty")
}

// A worker that hangs on an object gets no other one while another worker reads.
func TestAWorkerThatHangsIsGivenNoOtherObject(t *testing.T) {
	c := newCluster(t, impatient, func(cfg *fleet.Config) { cfg.LostAfter = never })
	asked := atomic.Int32{}
	c.startHanging(func(command *workerv1.Command) bool {
		if command.GetReadObject() == nil {
			return false
		}
		asked.Add(1)
		return true
	}, &atomic.Bool{})
	c.startWorker("able")
	c.until("two workers", func() bool { return len(c.fleet.Workers()) == 2 })
	s := newObjectServer(t, map[string]string{"0": numbered(10), "1": numbered(10), "2": numbered(10)})
	hung := make(chan struct{})
	var units []*fleet.ObjectUnit
	for at := range 3 {
		unit, _ := s.unit(fmt.Sprint(at))
		take := unit.Take
		unit.Take = func(rows *workerv1.ObjectRows) (bool, error) {
			<-hung
			return take(rows)
		}
		units = append(units, unit)
	}
	before := 0
	once := sync.OnceFunc(func() { close(hung) })
	err := c.fleet.ReadObjects(t.Context(), units, func(reading int) {
		if before == 2 && reading == 1 { // one hangs, and the rows of the other wait
			once()
		}
		before = reading
	})
	if err != nil || asked.Load() != 1 {
		t.Errorf("the worker that hangs was asked %d times: %v", asked.Load(), err)
	}
}

// An object at which each worker ends, for example because it takes more memory than they have, fails the import: it
// would end the workers for as long as they are restarted.
func TestAnObjectThatEndsItsReaders(t *testing.T) {
	c := newCluster(t)
	unit, _ := newObjectServer(t, map[string]string{"huge": numbered(10)}).unit("huge")
	done := make(chan error, 1)
	go func() { done <- c.fleet.ReadObjects(c.ctx, []*fleet.ObjectUnit{unit}, nil) }()
	for range 5 {
		hello := validHello()
		hello.TableRules = wire.TableRules
		a, _, err := c.attachScripted(hello)
		if err != nil {
			t.Fatal(err)
		}
		stop := a.startHeartbeats()
		for m := (*workerv1.AttachResponse)(nil); err == nil && m.GetCommand().GetReadObject() == nil; {
			m, err = a.stream.Recv()
		}
		stop()
		if closed := a.stream.CloseSend(); err != nil || closed != nil {
			t.Fatal(err, closed)
		}
	}
	c.startWorker("next")
	if err := <-done; !fault.Is(err, "WORKER_CRASHED") || !strings.Contains(err.Error(), "s3://test/huge") {
		t.Errorf("the import ended with %v", err)
	}
}

// A worker that answers without rows, and not that it has read all, is not asked again and again.
func TestAnswersWithoutRows(t *testing.T) {
	c := newCluster(t)
	liar := c.startLiar("liar", func(c *workerv1.Command) bool { return c.GetReadObject() != nil },
		func(done *workerv1.Done) { done.Values = nil })
	c.until("the liar", func() bool { return len(c.fleet.Workers()) == 1 })
	s := newObjectServer(t, map[string]string{"x": numbered(10)})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	unit, _ := s.unit("x")
	err := c.fleet.ReadObjects(ctx, []*fleet.ObjectUnit{unit}, nil)
	if !fault.Is(err, "OBJECT_UNREADABLE") || !strings.Contains(err.Error(), "no rows") || liar.lies.Load() != 1 {
		t.Errorf("after %d lies: %v", liar.lies.Load(), err)
	}
	c.startWorker("honest")
	c.until("two workers", func() bool { return len(c.fleet.Workers()) == 2 })
	unit, rows := s.unit("x")
	if err := c.fleet.ReadObjects(ctx, []*fleet.ObjectUnit{unit}, nil); err != nil {
		t.Fatal(err)
	}
	wantNumbered(t, "with an honest worker", *rows, 10)
}

// A call that is canceled ends, and so does one of a fleet that is closed.
func TestReadingObjectsEnds(t *testing.T) {
	c := newCluster(t)
	unit, _ := newObjectServer(t, map[string]string{"x": numbered(1)}).unit("x")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.fleet.ReadObjects(ctx, []*fleet.ObjectUnit{unit}, nil) }() // there is no worker
	cancel()
	if err := <-done; err == nil {
		t.Error("a canceled call succeeds")
	}
	go func() { done <- c.fleet.ReadObjects(t.Context(), []*fleet.ObjectUnit{unit}, nil) }()
	c.fleet.Close()
	if err := <-done; err == nil {
		t.Error("a call of a closed fleet succeeds")
	}
}
