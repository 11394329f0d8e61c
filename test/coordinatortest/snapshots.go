package coordinatortest

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// Climber is a script of so many iterations that remembers how far it is.
type Climber struct {
	Iterations int
	Held       int           // where it waits until the run ends; 0: nowhere
	From       chan int      // where it began, or went on
	Offers     chan struct{} // received before each time that it offers its state while it waits
}

// Run is the script.
func (c *Climber) Run(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
	piece := snapshot.Open(ctx, "climb")
	from := 0
	if r := piece.State(); r != nil {
		from = r.Int()
	}
	c.From <- from
	for i := range c.Iterations + 1 {
		if i >= max(1, from) {
			piece.Keep(0, func(w *snapshot.Writer) { w.Int(i) })
		}
		o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: Entry(i)})
		for height := i; height == c.Held && c.Held > 0; i++ {
			select {
			case <-c.Offers:
				piece.Keep(0, func(w *snapshot.Writer) { w.Int(i) })
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	return Result(c.Iterations, clustering.StopConverged), nil
}

var aSnapshot = regexp.MustCompile(`/\d+\.\d+\.\w+$`)

// SnapshotFiles are the snapshots in a coordinator's directory, the oldest first.
func SnapshotFiles(t *testing.T, cfg coordinator.Config) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cfg.DataDir, "blobs", "jobs", "*", "snapshots", "*"))
	if err != nil {
		t.Fatal(err)
	}
	// those that are being written
	files = slices.DeleteFunc(files, func(name string) bool { return !aSnapshot.MatchString(name) })
	slices.SortFunc(files, records.CompareSnapshots)
	return files
}

// SnapshotConfig is the configuration of a coordinator that stores snapshots all the time.
func SnapshotConfig(t *testing.T) coordinator.Config {
	t.Helper()
	cfg := DurableConfig(t)
	cfg.Snapshots = runner.SnapshotConfig{Interval: time.Millisecond, Ratio: 1}
	cfg.Version = "1"
	return cfg
}
