package jobs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/snapshot"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// interruptedJob is a job whose coordinator crashed once it had two snapshots.
func interruptedJob(t *testing.T, cfg coordinator.Config) (id string) {
	t.Helper()
	c := &coordinatortest.Climber{Iterations: 9, Held: 3, From: make(chan int, 1), Offers: make(chan struct{})}
	h := coordinatortest.StartScripted(t, cfg, c.Run)
	id = h.Create(coordinatortest.Spec(h.Upload()))
	h.FirstEvents(id, 4)
	for deadline := time.Now().Add(20 * time.Second); len(coordinatortest.SnapshotFiles(t, cfg)) < runner.Generations; {
		select {
		case c.Offers <- struct{}{}:
		case <-time.After(time.Until(deadline)):
			t.Fatalf("there are only %v", coordinatortest.SnapshotFiles(t, cfg))
		}
	}
	h.Crash()
	return id
}

func TestJobsGoOnFromTheirSnapshots(t *testing.T) {
	damage := func(t *testing.T, file string) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)/2] ^= 4
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		change func(t *testing.T, cfg *coordinator.Config, files []string)
		again  bool // it starts over
	}{
		{"in order", func(*testing.T, *coordinator.Config, []string) {}, false},
		{"the newest is damaged", func(t *testing.T, _ *coordinator.Config, files []string) {
			damage(t, files[len(files)-1])
		}, false},
		{"all are damaged", func(t *testing.T, _ *coordinator.Config, files []string) {
			for _, file := range files {
				damage(t, file)
			}
		}, true},
		{"they are of another version", func(_ *testing.T, cfg *coordinator.Config, _ []string) { cfg.Version = "2" },
			false},
		{"there are to be none", func(_ *testing.T, cfg *coordinator.Config, _ []string) { cfg.Snapshots.Interval = 0 },
			true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := coordinatortest.SnapshotConfig(t)
			id := interruptedJob(t, cfg)
			c.change(t, &cfg, coordinatortest.SnapshotFiles(t, cfg))
			again := &coordinatortest.Climber{Iterations: 9, From: make(chan int, 1)}
			h := coordinatortest.StartScripted(t, cfg, again.Run)
			if job := h.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED ||
				job.GetLastSequence() != 11 {
				t.Errorf("the job is %v", job)
			}
			if from := <-again.From; (from == 0) != c.again {
				t.Errorf("it went on from %d", from)
			}
			h.Close()
			if left := coordinatortest.SnapshotFiles(t, cfg); len(left) > 0 {
				t.Errorf("%v are left of a job that has ended", left)
			}
		})
	}
}

// A job whose snapshot ends the coordinator gets a last attempt without.
func TestTheLastAttemptStartsOver(t *testing.T) {
	cfg := coordinatortest.SnapshotConfig(t)
	id := interruptedJob(t, cfg)
	for range jobs.MaxAttempts - 1 {
		c := &coordinatortest.Climber{Iterations: 9, Held: 3, From: make(chan int, 1), Offers: make(chan struct{})}
		h := coordinatortest.StartScripted(t, cfg, c.Run)
		<-c.From
		h.Crash()
	}
	again := &coordinatortest.Climber{Iterations: 9, From: make(chan int, 1)}
	h := coordinatortest.StartScripted(t, cfg, again.Run)
	h.WantSuccess(id)
	if from := <-again.From; from != 0 {
		t.Errorf("it went on from %d", from)
	}
}

// A job that gets on may be interrupted as often as it likes, even if nobody hears of it.
func TestProgressWithoutEventsCounts(t *testing.T) {
	cfg := coordinatortest.SnapshotConfig(t)
	const runs = jobs.MaxAttempts + 2
	var id string
	for attempt := range runs {
		began := make(chan int, 1)
		stored := make(chan struct{}, 1)
		blobs, err := store.OpenBlobs(t.Context(), filepath.Join(cfg.DataDir, "blobs"))
		if err != nil {
			t.Fatal(err)
		}
		cfg.Stores.Blobs = &coordinatortest.PutHook{Blobs: blobs, Stored: func(name string) {
			if strings.Contains(name, "/snapshots/") {
				tell(stored)
			}
		}}
		h := coordinatortest.StartScripted(t, cfg,
			func(ctx context.Context, _ clustering.Observer) (*clustering.Result, error) {
				depth := 0
				piece := snapshot.Open(ctx, "0")
				for piece.Result() != nil { // by an earlier attempt
					depth++
					piece = snapshot.Open(ctx, fmt.Sprint(depth))
				}
				began <- depth
				if attempt == runs-1 {
					return coordinatortest.Result(0, clustering.StopConverged), nil
				}
				piece.Finish(0, func(w *snapshot.Writer) { w.Int(depth) })
				<-ctx.Done()
				return nil, ctx.Err()
			})
		if attempt == 0 {
			id = h.Create(coordinatortest.Spec(h.Upload()))
		}
		if depth := coordinatortest.Within(t, began, "the run"); depth != attempt {
			t.Errorf("attempt %d began at %d", attempt, depth)
		}
		if attempt == runs-1 {
			h.WantSuccess(id)
			continue
		}
		coordinatortest.Within(t, stored, "a snapshot")
		h.Crash()
	}
}

// A coordinator that shuts down leaves a snapshot of the last states.
func TestShutdownStoresASnapshot(t *testing.T) {
	cfg := coordinatortest.SnapshotConfig(t)
	cfg.Snapshots.Interval = time.Hour
	c := &coordinatortest.Climber{Iterations: 9, Held: 3, From: make(chan int, 1), Offers: make(chan struct{})}
	before := coordinatortest.StartScripted(t, cfg, c.Run)
	id := before.Create(coordinatortest.Spec(before.Upload()))
	before.FirstEvents(id, 4)
	before.Close()
	again := &coordinatortest.Climber{Iterations: 9, From: make(chan int, 1)}
	h := coordinatortest.StartScripted(t, cfg, again.Run)
	h.End(id)
	if from := <-again.From; from == 0 {
		t.Error("it started over")
	}
}

// classState stores jobs as a version with another numeric class does.
type classState struct {
	store.State
	class string
}

func (s classState) Commit(ctx context.Context, txn store.Txn) (int64, error) {
	txn.Put = slices.Clone(txn.Put)
	for at, e := range txn.Put {
		if !strings.HasPrefix(e.Key, records.JobPrefix) {
			continue
		}
		record, err := records.ReadJob(e)
		if err != nil {
			return 0, err
		}
		record.NumericClass = s.class
		if txn.Put[at].Value, err = proto.Marshal(record); err != nil {
			return 0, err
		}
	}
	return s.State.Commit(ctx, txn)
}

// A job continues from its snapshot after an upgrade to a version with the same bits. One with other bits starts it
// over, and revokes its events, and so does one that runs on another architecture.
func TestUpgradeDuringAJob(t *testing.T) {
	elsewhere := strings.TrimSuffix(clustering.NumericClass(), runtime.GOARCH) + "other"
	for _, class := range []string{clustering.NumericClass(), "other", elsewhere} {
		cfg := coordinatortest.SnapshotConfig(t)
		cfg.Snapshots.Interval = time.Hour // stored when the coordinator shuts down
		cfg.Version = "1"
		c := &coordinatortest.Climber{Iterations: 9, Held: 3, From: make(chan int, 1), Offers: make(chan struct{})}
		before := coordinatortest.StartScripted(t, cfg, c.Run)
		before.State.Behave(classState{before.State.Behavior(), class})
		id := before.Create(coordinatortest.Spec(before.Upload()))
		before.FirstEvents(id, 4)
		before.Close()
		cfg.Version = "2"
		again := &coordinatortest.Climber{Iterations: 9, From: make(chan int, 1)}
		run := again.Run
		if class != clustering.NumericClass() {
			run = func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
				o.Observe(clustering.IterationDone{HistoryEntry: clustering.HistoryEntry{Objective: 77}})
				return again.Run(ctx, o)
			}
		}
		h := coordinatortest.StartScripted(t, cfg, run)
		if job := h.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
			t.Errorf("%s: %v", class, job)
		}
		from, revoked := <-again.From, 0
		events, _ := h.Watch(id, 0)
		for _, event := range events {
			if r := event.GetRevoked(); r != nil {
				revoked++
				if !strings.Contains(r.GetMessage(),
					"of another version or architecture, whose answers have other bits") {
					t.Errorf("the events are revoked: %v", r)
				}
			}
		}
		if startsOver := class != clustering.NumericClass(); (from == 0) != startsOver || (revoked > 0) != startsOver {
			t.Errorf("class %s: the job continues from iteration %d, and %d events revoke others", class, from, revoked)
		}
		h.Close()
	}
}
