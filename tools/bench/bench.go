// Package bench is `make bench`: it measures this machine, our code and other libraries (the peers) in one
// run, in turns, and writes a table of the ratios and of the goals for them.
//
// Absolute times on a shared machine vary a lot, so everything is compared within the run: with how fast
// the machine can read memory, and with NumPy, SciPy and scikit-learn, in a process of their own that
// takes one measurement at a time. A peer that is not installed is reported as missing.
package bench

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/cleave-project/cleave/tools/measure"
)

// Config says what to measure. Without a folder of data, synthetic data of the same shapes takes its place.
type Config struct {
	measure.Setup
	Quick  bool // small sizes, which only show that everything works
	Rounds int  // how often everything is measured; 0: depending on how long it takes
}

// Suite returns the suite of `make bench`.
func Suite() measure.Suite {
	return measure.Suite{
		Name: "bench", About: "compares our code with the limits of this machine and with peers",
		Parts: measure.Names(stages()),
		Define: func(flags *flag.FlagSet) func(context.Context, measure.Setup) error {
			var cfg Config
			flags.BoolVar(&cfg.Quick, "quick", false, "small sizes, which only show that everything works")
			flags.IntVar(&cfg.Rounds, "rounds", 0, "rounds of everything (default: by what it costs)")
			return func(ctx context.Context, setup measure.Setup) error {
				cfg.Setup = setup
				report, failure := Run(ctx, cfg)
				if report == nil {
					return failure
				}
				if failure != nil { // a page with holes would say less than the one it replaces
					cfg.Out = ""
				}
				return errors.Join(failure, page().Write(cfg.Out, report.sections(time.Now())))
			}
		},
	}
}

// stage is one group of rows of the table.
type stage struct {
	name  string
	title string
	run   func(ctx context.Context, b *benchmark) error
}

// stages returns all stages in the order of the table.
func stages() []stage {
	return []stage{
		{"sweep", "Sweeps over a stored matrix", measureSweeps},
		{"build", "Building the gaussian kernel matrix", measureBuilds},
		{"converge", "Kernel k-means to convergence, from the same first labels", measureConvergence},
		{"reading", "Reading an edge list", measureReading},
		{"points", "From rows in a file to a job", measurePoints},
		{"endtoend", "From a file to labels", measureEndToEnd},
		{"restarts", "Restarts", measureRestarts},
		{"matrixfree", "Matrix-free", measureMatrixFree},
		{"coordination", "Coordination", measureCoordination},
		{"graph", "Normalized cut of a sparse graph", measureGraph},
		{"lloyd", "k-means", measureLloyd},
		{"million", "Many rows", measureMillion},
		{"spectral", "Eigenvectors", measureSpectral},
		{"auto", "The default", measureAuto},
		{"levels", "A graph on many levels", measureLevels},
	}
}

// PartName returns the name that selects the stage.
func (s stage) PartName() string { return s.name }

// benchmark is what the stages share.
type benchmark struct {
	Config
	sizes
	temp   string
	peer   *peer // nil: none
	report *Report
	// How many bytes per second the machine can read, in the best and in the median rounds; 0 before
	// it was measured.
	limit, medianLimit float64
}

// Run measures everything that was asked for. If a stage fails, its rows so far stay in the report and the
// other stages still run; Run then returns both the report and the error.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	chosen, err := measure.Choose(stages(), cfg.Parts)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "cleave-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	b := &benchmark{Config: cfg, sizes: fullSizes(), temp: temp, report: &Report{Config: cfg}}
	if cfg.Quick {
		b.sizes = quickSizes()
	}
	if cfg.Rounds > 0 {
		b.rounds, b.longRounds = cfg.Rounds, cfg.Rounds
	}
	before := measure.ReadStolenTime()
	b.report.Load = measure.Load()
	b.report.Facts = append(measure.Machine(cfg.Threads), measure.Fact{Name: "Vector code", Value: readers()[0].name})
	if err := b.connectPeer(ctx); err != nil {
		return nil, err
	}
	defer b.peer.close()
	var failures []error
	for _, s := range chosen {
		b.report.begin(s)
		began := time.Now()
		b.Say("stage %s: %s", s.name, s.title)
		if err := s.run(ctx, b); err != nil {
			failures = append(failures, fmt.Errorf("stage %s: %w", s.name, err))
			b.report.note("failed: %v", err)
		}
		b.Say("stage %s took %.1f s", s.name, time.Since(began).Seconds())
		if ctx.Err() != nil {
			break
		}
	}
	b.report.Facts = append(b.report.Facts, measure.Fact{Name: "Time taken by other virtual machines",
		Value: before.Since()})
	return b.report, errors.Join(failures...)
}

// peerScript is the program of the peers.
//
//go:embed peer.py
var peerScript []byte

// connectPeer starts the process of the peers, if there are any, and adds their versions to the report.
func (b *benchmark) connectPeer(ctx context.Context) error {
	python := measure.FindPython(b.Pythons)
	if python == "" {
		b.report.Facts = append(b.report.Facts,
			measure.Fact{Name: "Peers",
				Value: "missing: no Python with NumPy, SciPy and scikit-learn (make bench-peers installs them)"})
		return nil
	}
	script := filepath.Join(b.temp, "peer.py")
	if err := os.WriteFile(script, peerScript, 0o600); err != nil {
		return err
	}
	p, err := startPeer(ctx, python, script, b.Threads, b.Progress)
	if err != nil {
		return err
	}
	b.peer = p
	b.report.Facts = append(b.report.Facts, p.facts.list()...)
	return nil
}

// sizes is how large everything is.
type sizes struct {
	rounds, longRounds   int // how often something is measured; longRounds if it takes many seconds
	sweepRows            int
	sweepClusters        []int
	moved                float64 // share of the points that a delta moves
	buildRows            int
	pendigits, letter    int // rows
	mnist                int
	restarts             int
	equalRows            int // of the comparison of stored and matrix-free, bit by bit
	matrixFreeRows       int // of the run that is matrix-free only
	matrixFreeIterations int
	steps                int // operations over gRPC
	readingVertices      int
	pointsRows           int
	vertices             int
	edgesPerVertex       float64
	lloydRows            int
	millionRows          int
	spectralRows         int
	spectralVertices     int
}

func fullSizes() sizes {
	return sizes{
		rounds: 7, longRounds: 3,
		sweepRows: 20_000, sweepClusters: []int{10, 100}, moved: 0.05,
		buildRows: 20_000,
		pendigits: 10_992, letter: 20_000, mnist: 10_000,
		restarts: 10, equalRows: 6_000, matrixFreeRows: 200_000, matrixFreeIterations: 3,
		steps: 2_000, readingVertices: 200_000, pointsRows: 500_000, vertices: 1_000_000, edgesPerVertex: 10,
		lloydRows: 1_000_000, millionRows: 1_000_000, spectralRows: 10_000, spectralVertices: 1_000_000,
	}
}

func quickSizes() sizes {
	return sizes{
		rounds: 2, longRounds: 1,
		sweepRows: 800, sweepClusters: []int{10, 100}, moved: 0.05,
		buildRows: 600,
		pendigits: 600, letter: 700, mnist: 200,
		restarts: 10, equalRows: 400, matrixFreeRows: 1_000, matrixFreeIterations: 3,
		steps: 20, readingVertices: 2_000, pointsRows: 3_000, vertices: 2_000, edgesPerVertex: 10, lloydRows: 3_000,
		millionRows: 3_000, spectralRows: 400, spectralVertices: 600,
	}
}

// times are the seconds that something took, one for each round.
type times []float64

// best returns the shortest time: whatever disturbs a measurement makes it longer.
func (t times) best() float64 {
	if len(t) == 0 {
		return math.NaN()
	}
	return slices.Min(t)
}

func (t times) median() float64 {
	if len(t) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(t))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// measurement is one of several things that are measured alternately.
type measurement struct {
	measure func() (float64, error) // seconds
	into    *times
}

// interleave takes every measurement once in each round, one after the other, so that a slow minute of the
// machine affects all of them.
func (b *benchmark) interleave(rounds int, measurements ...measurement) error {
	for range rounds {
		for _, c := range measurements {
			b.waitForIdle()
			seconds, err := c.measure()
			if err != nil {
				return err
			}
			*c.into = append(*c.into, seconds)
		}
	}
	return nil
}

// spinTime is how long the threads of a BLAS library busy-wait after their work.
const spinTime = 100 * time.Millisecond

// waitForIdle waits until nothing of the last measurement runs: no garbage collection and no busy threads.
func (b *benchmark) waitForIdle() {
	runtime.GC()
	if b.peer != nil {
		<-time.After(spinTime)
	}
}

func stopwatch(work func() error) (float64, error) {
	began := time.Now()
	err := work()
	return time.Since(began).Seconds(), err
}
