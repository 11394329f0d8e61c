package webhook

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/timestamppb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// started is a sender that may notify some servers.
func started(t *testing.T, servers ...*httptest.Server) *Sender {
	t.Helper()
	state := store.NewMemory()
	if _, err := state.Lead(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(base64.StdEncoding.EncodeToString(make([]byte, 32))), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Sender{
		Config: Config{SecretFile: file}, State: state, Logger: hclog.NewNullLogger(), Now: time.Now,
		Delete: func(keys []string) error {
			_, err := state.Commit(context.Background(), store.Txn{Delete: keys})
			return err
		},
	}
	for _, server := range servers {
		s.Config.Allow = append(s.Config.Allow, server.URL)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		s.Wait()
		state.Close()
	})
	return s
}

// ended stores the notification about a job and has it sent.
func (s *Sender) ended(t *testing.T, job, url string) {
	t.Helper()
	entry, err := Entry(url, &cleavev1.Job{JobId: job, EndTime: timestamppb.Now()})
	if err == nil {
		_, err = s.State.Commit(t.Context(), store.Txn{Put: []store.Entry{entry}})
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Send(entry)
}

// await waits for a condition.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
		<-time.After(time.Millisecond)
	}
}

// A receiver that does not answer does not delay the others.
func TestADeadReceiverDelaysNobody(t *testing.T) {
	var hanging atomic.Int32
	release := make(chan struct{})
	dead := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		hanging.Add(1)
		<-release
	}))
	defer dead.Close()
	defer close(release)
	arrived := make(chan int32, 1)
	alive := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- hanging.Load()
	}))
	defer alive.Close()
	s := started(t, dead, alive)
	for job := range 100 {
		s.ended(t, fmt.Sprintf("dead-%d", job), dead.URL)
	}
	await(t, "requests to the dead receiver", func() bool { return hanging.Load() >= perReceiver })
	s.ended(t, "alive", alive.URL)
	select {
	case before := <-arrived:
		if before > perReceiver {
			t.Errorf("the dead receiver got %d requests first", before)
		}
	case <-time.After(time.Minute):
		t.Error("the other receiver was not notified")
	}
}

// Notifications that are not accepted take no goroutines while they wait.
func TestNotificationsThatWaitAreCheap(t *testing.T) {
	var requests atomic.Int32
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer busy.Close()
	s := started(t, busy)
	before := runtime.NumGoroutine()
	const jobs = 500
	for job := range jobs {
		s.ended(t, fmt.Sprint(job), busy.URL)
	}
	await(t, "attempts", func() bool { return requests.Load() >= jobs })
	await(t, "the end of goroutines", func() bool { return runtime.NumGoroutine() < before+jobs/5 })
}

// A damaged notification is deleted, so that it is reported once.
func TestADamagedNotificationIsDeleted(t *testing.T) {
	s := started(t)
	damaged := store.Entry{Key: "webhooks/job", Value: []byte{0xff}}
	if _, err := s.State.Commit(t.Context(), store.Txn{Put: []store.Entry{damaged}}); err != nil {
		t.Fatal(err)
	}
	s.Send(damaged)
	await(t, "deletion", func() bool {
		left, err := s.State.List(t.Context(), "webhooks/", "", 0)
		return err == nil && len(left) == 0
	})
}

// A notification that is sent while the sender starts is delivered once, whether the sender found it in the state or
// not.
func TestNotificationsBeforeTheStart(t *testing.T) {
	var requests atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer receiver.Close()
	s := started(t, receiver)
	early := &Sender{Config: s.Config, State: s.State, Delete: s.Delete, Logger: s.Logger, Now: s.Now}
	early.ended(t, "early", receiver.URL)
	ctx, cancel := context.WithCancel(t.Context())
	defer func() {
		cancel()
		early.Wait()
	}()
	if err := early.Start(ctx); err != nil {
		t.Fatal(err)
	}
	await(t, "delivery", func() bool {
		left, err := s.State.List(t.Context(), "webhooks/", "", 0)
		return err == nil && len(left) == 0
	})
	if got := requests.Load(); got != 1 {
		t.Errorf("%d notifications", got)
	}
}
