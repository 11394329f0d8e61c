// Package loadtest measures how many clients one coordinator serves: watches, calls, durable submits, more of them than it
// can take, and a store with many jobs. The coordinator is a process of its own; all clients are in this one, on the same
// machine. `make load` runs it.
package loadtest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// Config says what is measured, and how much of it.
type Config struct {
	Coordinator string    // the program
	Cleave      string    // the program, which makes certificates; empty: no TLS
	Flags       []string  // further ones of the coordinator
	Dir         string    // for data; a folder of its own is made in it
	Out         io.Writer // what is found, as a table
	Fill        string    // a document that gets the table too, between its marks; empty: none
	Stages      []string  // empty: all

	Streams, Connections int // of the watches
	Calls                int // GetJob a second
	Jobs                 int // in the store
	Seconds              int // of each measurement

	client, worker credentials.Dial
}

// stage is one measurement.
type stage struct {
	name string
	run  func(context.Context, *Config) ([]row, error)
}

var stages = []stage{
	{"watches", watches}, {"calls", calls}, {"submits", submits}, {"store", bigStore},
}

// StageNames are the names of all stages.
func StageNames() (names []string) {
	for _, s := range stages {
		names = append(names, s.name)
	}
	return names
}

// row is one line of what was found.
type row struct{ what, found, wanted string }

// Run measures and prints what it finds.
func Run(ctx context.Context, cfg Config) error {
	dir, err := os.MkdirTemp(cfg.Dir, "cleave-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cfg.Dir = dir
	if err := cfg.secure(ctx); err != nil {
		return err
	}
	var table strings.Builder
	before := "load of the machine before: " + machineLoad()
	fmt.Fprintln(cfg.Out, before)
	fmt.Fprintf(&table, "%s, %s.\n\n| | found | wanted |\n|---|---|---|\n", cfg.with(), before)
	for _, s := range stages {
		if len(cfg.Stages) > 0 && !slices.Contains(cfg.Stages, s.name) {
			continue
		}
		rows, err := s.run(ctx, &cfg)
		for _, r := range rows {
			fmt.Fprintf(cfg.Out, "%-9s %-52s %-34s %s\n", s.name, r.what, r.found, r.wanted)
			fmt.Fprintf(&table, "| %s | %s | %s |\n", r.what, r.found, r.wanted)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return fill(cfg.Fill, table.String())
}

// with says how the connections were.
func (cfg *Config) with() string {
	if cfg.Cleave == "" {
		return "Without TLS"
	}
	return "With TLS"
}

// fill puts the table into a document.
func fill(document, table string) error {
	if document == "" {
		return nil
	}
	old, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	filled, err := text.Fill(string(old), "<!-- load -->", "<!-- end of load -->", table)
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	return os.WriteFile(document, []byte(filled), 0o666)
}

// machineLoad is the load of the machine, over 1, 5 and 15 minutes.
func machineLoad() string {
	averages, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(averages)); err == nil && len(fields) >= 3 {
		return strings.Join(fields[:3], " ")
	}
	return "unknown"
}

// client is a connection to a coordinator.
type client struct {
	*grpc.ClientConn
	jobs cleavev1.JobServiceClient
}

// secure makes certificates, and has all sides use them.
func (cfg *Config) secure(ctx context.Context) error {
	if cfg.Cleave == "" {
		return nil
	}
	dir := filepath.Join(cfg.Dir, "certs")
	if out, err := exec.CommandContext(ctx, cfg.Cleave, "certs", "init", "--host", "localhost", "--dir", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("no certificates are made: %w: %s", err, out)
	}
	of := func(party string) credentials.Dial {
		return credentials.Dial{Files: credentials.Files{Dir: filepath.Join(dir, party)}, ServerName: "localhost"}
	}
	cfg.client, cfg.worker = of("admin"), of("worker")
	cfg.Flags = append(cfg.Flags, "--tls", filepath.Join(dir, "coordinator"))
	return nil
}

func (cfg *Config) connect(address string) (*client, error) {
	options, err := cfg.client.Options(nil, address)
	if err != nil {
		return nil, err
	}
	connection, err := grpc.NewClient(address, options...)
	if err != nil {
		return nil, err
	}
	return &client{connection, cleavev1.NewJobServiceClient(connection)}, nil
}

// uploadGrid uploads a grid of points, on which k-means takes many iterations.
func (c *client) uploadGrid(ctx context.Context, side int) (string, error) {
	values := make([]float64, 0, 2*side*side)
	for i := range side * side {
		values = append(values, float64(i%side), float64(i/side))
	}
	points, err := dataset.NewPoints(side*side, 2, values)
	if err != nil {
		return "", err
	}
	stored, err := wire.SendDataset(ctx, cleavev1.NewDatasetServiceClient(c.ClientConn), "grid", points)
	return stored.GetDatasetId(), err
}

func kmeans(data string, k uint32) *cleavev1.JobSpec {
	return &cleavev1.JobSpec{
		Data: &cleavev1.JobSpec_DatasetId{DatasetId: data}, Clusters: &cleavev1.JobSpec_K{K: k}, Restarts: 1,
		Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}},
	}
}

// latencies are those of many calls.
type latencies []time.Duration

func (l latencies) String() string {
	if len(l) == 0 {
		return "none"
	}
	return fmt.Sprintf("p50 %v, p99 %v, worst %v", l.at(50), l.at(99), l.at(100))
}

// at is a percentile, to three digits or so.
func (l latencies) at(percent int) time.Duration {
	if len(l) == 0 {
		return 0
	}
	slices.Sort(l)
	return l[(len(l)-1)*percent/100].Round(10 * time.Microsecond)
}
