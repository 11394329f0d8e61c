// Package loadtest measures how many clients one coordinator serves: watches, calls, durable submits, more of them than
// it can take, and a store with many jobs. The coordinator is a process of its own; all clients are in this one, on the
// same machine. `make load` runs it.
package loadtest

import (
	"context"
	"flag"
	"fmt"
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
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/tools/measure"
)

// Config says what is measured, and how much of it.
type Config struct {
	measure.Setup
	Coordinator string   // the program
	Plain       bool     // without TLS
	Flags       []string // further ones of the coordinator
	Dir         string   // for data; a folder of its own is made in it

	Streams, Connections int // of the watches
	Calls                int // GetJob a second
	Jobs                 int // in the store
	Seconds              int // of each measurement

	client, worker credentials.Dial
}

// Suite returns the suite of `make load`.
func Suite() measure.Suite {
	return measure.Suite{
		Name: "load", About: "measures how many clients one coordinator serves", Parts: measure.Names(stages),
		Define: func(flags *flag.FlagSet) func(context.Context, measure.Setup) error {
			var cfg Config
			flags.StringVar(&cfg.Coordinator, "coordinator", "bin/coordinator", "the coordinator's `program`")
			flags.BoolVar(&cfg.Plain, "plain", false, "without TLS")
			further := flags.String("flags", "", "further `flags` of the coordinator, separated by spaces")
			flags.StringVar(&cfg.Dir, "dir", os.TempDir(), "`folder` for the coordinator's data")
			flags.IntVar(&cfg.Streams, "streams", 10_000, "watches")
			flags.IntVar(&cfg.Connections, "connections", 100, "connections of the watches")
			flags.IntVar(&cfg.Calls, "calls", 2000, "GetJob a second")
			flags.IntVar(&cfg.Jobs, "jobs", 100_000, "jobs in the store")
			flags.IntVar(&cfg.Seconds, "seconds", 20, "of each measurement")
			return func(ctx context.Context, setup measure.Setup) error {
				cfg.Setup, cfg.Flags = setup, strings.Fields(*further)
				return Run(ctx, cfg)
			}
		},
	}
}

// stage is one measurement.
type stage struct {
	name string
	run  func(context.Context, *Config) ([]row, error)
}

var stages = []stage{
	{"watches", watches}, {"calls", calls}, {"http", overHTTP}, {"submits", submits}, {"store", bigStore},
}

// PartName returns the name that selects the stage.
func (s stage) PartName() string { return s.name }

// row is one line of what was found.
type row struct{ what, found, wanted string }

// Run measures, and prints the table of what it finds or puts it into a document.
func Run(ctx context.Context, cfg Config) error {
	chosen, err := measure.Choose(stages, cfg.Parts)
	if err != nil {
		return err
	}
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
	with := "With TLS"
	if cfg.Plain {
		with = "Without TLS"
	}
	fmt.Fprintf(&table, "%s, load of the machine before: %s.\n", with, measure.Load())
	measure.Head(&table, "", "found", "wanted")
	for _, s := range chosen {
		rows, err := s.run(ctx, &cfg)
		for _, r := range rows {
			cfg.Say("%-9s %-52s %-34s %s", s.name, r.what, r.found, r.wanted)
			measure.Row(&table, r.what, r.found, r.wanted)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if cfg.Fill == "" {
		_, err := os.Stdout.WriteString(table.String())
		return err
	}
	return measure.FillFile(cfg.Fill, "load", table.String())
}

// client is a connection to a coordinator.
type client struct {
	*grpc.ClientConn
	jobs cleavev1.JobServiceClient
}

// secure makes certificates, and has all sides use them.
func (cfg *Config) secure(ctx context.Context) error {
	if cfg.Plain {
		return nil
	}
	dir := filepath.Join(cfg.Dir, "certs")
	if _, err := measure.Run(exec.CommandContext(ctx, cfg.Cleave, "certs", "init", "--host", "localhost", "--dir",
		dir)); err != nil {
		return err
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
	stored, err := wire.SendDataset(ctx, cleavev1.NewDatasetServiceClient(c.ClientConn), "grid", points,
		wire.UploadStart{})
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

// at returns a percentile to about three digits.
func (l latencies) at(percent int) time.Duration {
	if len(l) == 0 {
		return 0
	}
	slices.Sort(l)
	return l[(len(l)-1)*percent/100].Round(10 * time.Microsecond)
}
