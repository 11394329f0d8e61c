// Package simulate runs the coordinator's side of jobs with up to 10,000 simulated workers and 100 million rows, and
// says how long an iteration would take. The coordinator's code is real, and so are its processor time and the bytes
// that it sends; what workers compute and what links take follows from a model whose constants are measured first.
// `make simulate` runs it.
package simulate

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/tools/measure"
	"github.com/cleave-project/cleave/tools/simulate/model"
	"github.com/cleave-project/cleave/tools/simulate/simworker"
)

// Config says what is simulated.
type Config struct {
	measure.Setup
	Quick         bool
	Workers       []string // numbers of them
	Rows          []string // numbers of them
	K             int
	MovedEvery    int // one of so many points moves in an iteration
	Iterations    int
	WorkerThreads int
	Gigabits      float64 // of each link
	RoundTrip     time.Duration
	Profile       string // file for a profile of the coordinator; empty for none

	calibrationRows int
	idleTime        time.Duration
}

// Suite returns the suite of `make simulate`.
func Suite() measure.Suite {
	return measure.Suite{
		Name: "simulate", About: "runs a coordinator with thousands of simulated workers", Parts: names(),
		Define: func(flags *flag.FlagSet) func(context.Context, measure.Setup) error {
			cfg := Config{calibrationRows: 100_000, idleTime: 2 * time.Second}
			flags.BoolVar(&cfg.Quick, "quick", false, "only show that it works, in seconds")
			measure.List(flags, &cfg.Workers, "workers", "1,10,100,1000,10000", "comma-separated `numbers` of workers")
			measure.List(flags, &cfg.Rows, "rows", "100000,1000000,10000000", "comma-separated `numbers` of rows")
			flags.IntVar(&cfg.K, "k", 10, "clusters")
			flags.IntVar(&cfg.MovedEvery, "moved-every", 100, "one of so many points moves in an iteration")
			flags.IntVar(&cfg.Iterations, "iterations", 5, "of each job, the first two of which are not measured")
			flags.IntVar(&cfg.WorkerThreads, "worker-threads", 1, "threads of each worker")
			flags.Float64Var(&cfg.Gigabits, "gigabits", 1, "speed of each link, in Gbit/s")
			flags.DurationVar(&cfg.RoundTrip, "round-trip", 200*time.Microsecond,
				"`time` that an operation waits for the network")
			flags.StringVar(&cfg.Profile, "profile", "",
				"write a profile of the coordinator's processor time to this `file`")
			return func(ctx context.Context, setup measure.Setup) error {
				cfg.Setup = setup
				return Run(ctx, cfg)
			}
		},
	}
}

// workersCommand is the command that runs simulated workers.
const workersCommand = "simulated-workers"

// WorkersSuite returns the suite that is the process of the simulated workers, which Run starts.
func WorkersSuite() measure.Suite {
	return measure.Suite{
		Name: workersCommand, About: "runs simulated workers; simulate starts it",
		Define: func(flags *flag.FlagSet) func(context.Context, measure.Setup) error {
			cfg := simworker.Config{RowTime: 200 * time.Nanosecond, MaxTime: 250 * time.Millisecond}
			flags.StringVar(&cfg.Address, "address", "", "`address` of the coordinator")
			flags.IntVar(&cfg.Count, "count", 1, "workers")
			flags.IntVar(&cfg.Threads, "worker-threads", 1, "threads of each worker")
			flags.IntVar(&cfg.Whole, "whole", 0, "workers that fetch payloads whole")
			flags.IntVar(&cfg.MovedEvery, "moved-every", 100, "one of so many points moves in an iteration")
			return func(ctx context.Context, _ measure.Setup) error {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				go func() {
					_, _ = io.Copy(io.Discard, os.Stdin) // until whoever started them ends
					cancel()
				}()
				simworker.Serve(ctx, cfg)
				return nil
			}
		},
	}
}

func names() (all []string) {
	for _, f := range families {
		all = append(all, strings.ReplaceAll(f.name, " ", "-"))
	}
	return all
}

// point is one simulated job.
type point struct {
	family  string
	rows    int
	workers int
	model.Iteration
	alone   float64 // seconds that one worker would compute
	idle    float64 // processors of the coordinator without a job
	skipped float64 // bytes that workers did not fetch; they are in Out, and their cost in CPU
	setup   float64 // seconds of the coordinator's processors until the job began
	tiles   int     // of the worker with the most
	all     int     // tiles
}

// Run simulates all combinations, and prints what it finds or writes it into a document.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Quick {
		cfg.Workers = []string{"1", "8"}
		cfg.Rows = []string{"20000"}
		cfg.calibrationRows, cfg.idleTime, cfg.Iterations = 5000, 100*time.Millisecond, 4
	}
	if cfg.MovedEvery < 2 || cfg.K < 2 || cfg.Iterations < 3 || cfg.WorkerThreads < 1 || !(cfg.Gigabits > 0) {
		return fmt.Errorf("moved-every and k must be at least 2, iterations at least 3, worker-threads and " +
			"gigabits above 0")
	}
	workers, err := numbers(cfg.Workers)
	if err != nil {
		return err
	}
	rows, err := numbers(cfg.Rows)
	if err != nil {
		return err
	}
	chosen := slices.DeleteFunc(slices.Clone(families), func(f family) bool {
		return len(cfg.Parts) > 0 && !slices.Contains(cfg.Parts, strings.ReplaceAll(f.name, " ", "-"))
	})
	if len(chosen) == 0 {
		return fmt.Errorf("unknown parts: %s; choose from %s", strings.Join(cfg.Parts, ", "),
			strings.Join(names(), ", "))
	}
	load := measure.Load()
	costs := map[string]model.Cost{}
	for _, f := range chosen {
		if costs[f.name], err = f.calibrate(ctx, &cfg); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		cfg.Say("%s: %+v", f.name, costs[f.name])
	}
	perByte, err := cfg.sendingCost(ctx)
	if err != nil {
		return err
	}
	cfg.Say("sending takes the coordinator %.2f s for each GB", perByte*1e9)
	stopProfile, err := cfg.profile()
	if err != nil {
		return err
	}
	defer stopProfile()
	var points []point
	for _, count := range workers {
		found, err := cfg.simulate(ctx, chosen, rows, count, costs, perByte)
		if err != nil {
			return fmt.Errorf("%d workers: %w", count, err)
		}
		points = append(points, found...)
	}
	r := report{cfg: &cfg, points: points, costs: costs, perByte: perByte, load: load}
	return r.write()
}

// profile starts a profile, if one is wanted, and returns what ends it.
func (cfg *Config) profile() (stop func(), err error) {
	if cfg.Profile == "" {
		return func() {}, nil
	}
	file, err := os.Create(cfg.Profile)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		file.Close()
	}, nil
}

func numbers(words []string) (found []int, err error) {
	for _, word := range words {
		n := 0
		if _, err := fmt.Sscan(word, &n); err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a number of at least 1", word)
		}
		found = append(found, n)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("name at least one number of workers, and one of rows")
	}
	return found, nil
}

// What one worker holds at most.
const (
	maxEntries = 1 << 34    // of a matrix: 64 GiB of float32
	maxRows    = 10_000_000 // of other jobs
)

// makesSense reports whether a job is simulated: nearly every worker must have a tile, and the data must fit.
func makesSense(f family, rows, workers int) bool {
	fits := float64(rows)/float64(workers) <= maxRows
	if f.name == "full matrix" {
		fits = float64(rows)*float64(rows)/float64(workers) <= maxEntries
	}
	return fits && partition.TileCount(rows) >= workers*9/10
}

// simulate runs all jobs with one number of workers.
func (cfg *Config) simulate(ctx context.Context, chosen []family, rows []int, count int, costs map[string]model.Cost,
	perByte float64) ([]point, error) {
	var jobs []func(*host) (point, error)
	for _, f := range chosen {
		for _, n := range rows {
			if makesSense(f, n, count) {
				jobs = append(jobs, func(h *host) (point, error) {
					return cfg.measure(ctx, h, f, n, costs[f.name], perByte)
				})
			}
		}
	}
	if len(jobs) == 0 {
		return nil, nil
	}
	began := time.Now()
	h, err := cfg.start(ctx, count, wholeWorkers)
	if err != nil {
		return nil, err
	}
	defer h.close()
	cfg.Say("%d workers attached after %.1f s; heartbeats take %.2f processors", count, time.Since(began).Seconds(),
		h.heartbeats)
	var points []point
	for _, run := range jobs {
		p, err := run(h)
		if err != nil {
			return nil, err
		}
		cfg.Say("%-11s n = %-9d %5d workers: %.4g s an iteration, coordinator %.4g s, sends %.4g MB, receives %.4g MB",
			p.family, p.rows, p.workers,
			p.Seconds(cfg.links()), p.CPU, p.Out/1e6, p.In/1e6)
		points = append(points, p)
	}
	return points, nil
}

func (cfg *Config) links() model.Links {
	return model.Links{BytesPerSecond: cfg.Gigabits * 1e9 / 8, RoundTrip: cfg.RoundTrip.Seconds()}
}

// measure runs one job and returns what its iterations take.
func (cfg *Config) measure(ctx context.Context, h *host, f family, n int, cost model.Cost,
	perByte float64) (point, error) {
	o := newObserver(h, n)
	if err := f.run(ctx, cfg, h, n, o); err != nil {
		return point{}, fmt.Errorf("%s of %d rows: %w", f.name, n, err)
	}
	if len(o.notes) < 3 {
		return point{}, fmt.Errorf("%s of %d rows: %w", f.name, n, errNoIterations)
	}
	var cpu, out, in, skipped, workerIn, workerOut, moves []float64
	for at := 2; at < len(o.notes); at++ {
		before, now := o.notes[at-1], o.notes[at]
		bytes := now.bytes.since(before.bytes)
		missing := max(0, bytes.whole-bytes.out)
		// Heartbeats go on during the job, and longer than they would on a machine of its own.
		own := now.cpu - before.cpu - h.idle*now.at.Sub(before.at).Seconds()
		cpu = append(cpu, max(0, own)+missing*perByte)
		out = append(out, bytes.out+missing)
		in = append(in, bytes.in)
		skipped = append(skipped, missing)
		workerIn = append(workerIn, bytes.workerOut)
		workerOut = append(workerOut, bytes.busiestIn)
		moves = append(moves, float64(now.moved))
	}
	mine := min(float64(o.tiles*partition.TileRows(n)), float64(n))
	return point{
		family: f.name, rows: n, workers: h.count, idle: h.heartbeats, skipped: median(skipped), setup: o.setup,
		tiles: o.tiles, all: o.all,
		alone: cost.Compute(float64(n), float64(n), median(moves), cfg.WorkerThreads),
		Iteration: model.Iteration{
			CPU: median(cpu), Out: median(out), In: median(in), WorkerIn: median(workerIn),
			WorkerOut: median(workerOut),
			Compute:   cost.Compute(mine, float64(n), median(moves), cfg.WorkerThreads), Operations: f.operations,
		},
	}, nil
}

// sendingCost returns how long the coordinator's processors take for each byte of a large payload: it compares workers
// that fetch labels with workers that do not.
func (cfg *Config) sendingCost(ctx context.Context) (float64, error) {
	n := 80 * cfg.calibrationRows
	load := func(whole int) (cpu, bytes float64, err error) {
		h, err := cfg.start(ctx, wholeWorkers, whole)
		if err != nil {
			return 0, 0, err
		}
		defer h.close()
		cpu = math.Inf(1)
		for range 3 {
			used := processorTime()
			sent := h.traffic().out
			quick := *cfg
			quick.Iterations = 0 // only loads labels
			if err := runGraph(ctx, &quick, h, n, newObserver(h, n)); err != nil {
				return 0, 0, err
			}
			cpu = min(cpu, processorTime()-used)
			bytes = h.traffic().out - sent
		}
		return cpu, bytes, nil
	}
	with, more, err := load(wholeWorkers)
	if err != nil {
		return 0, err
	}
	without, less, err := load(0)
	if err != nil {
		return 0, err
	}
	return max(0, with-without) / max(1, more-less), nil
}
