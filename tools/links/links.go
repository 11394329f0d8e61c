// Package links measures a real coordinator and real workers over links of a given speed: the time and the bytes of an
// iteration of each family, and how long a data set takes to reach one worker and all of them. Every process has a
// network namespace of its own, with a link to one bridge that is shaped in both directions. `make links` runs it.
package links

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/cleave-project/cleave/tools/measure"
)

// Config says what is measured, and how much of it.
type Config struct {
	measure.Setup
	Coordinator, Worker string   // the programs
	WorkerFlags         []string // further ones of every worker
	Workers             int
	Memory              string   // of each worker
	Speeds              []string // of the links, as tc writes them, or "unshaped"
	TLS                 bool
	Rounds              int // each measurement is repeated so often, and the fastest counts
	Iterations          int // of each job
	KernelRows, Rows    int // of kernel k-means on the full matrix, and of the other families
	DatasetBytes        int64

	dir string // of the state, certificates and logs
}

// unshaped is the speed of a link without a limit.
const unshaped = "unshaped"

// Suite is `make links`.
func Suite() measure.Suite {
	return measure.Suite{
		Name: "links", About: "measures iterations and transfers over shaped links", Parts: measure.Names(parts),
		Define: func(flags *flag.FlagSet) func(context.Context, measure.Setup) error {
			var cfg Config
			flags.StringVar(&cfg.Coordinator, "coordinator", "bin/coordinator", "the coordinator's `program`")
			flags.StringVar(&cfg.Worker, "worker", "bin/worker", "the worker's `program`")
			further := flags.String("worker-flags", "--peer-listen {}:7401 --cache-dir {dir}",
				"further `flags` of every worker, separated by spaces; {} stands for its address, {dir} for a new "+
					"folder of its own")
			flags.IntVar(&cfg.Workers, "workers", 8, "workers")
			flags.StringVar(&cfg.Memory, "memory", "2GiB", "the `memory` of each worker")
			measure.List(flags, &cfg.Speeds, "speeds", unshaped+",10gbit,1gbit",
				"comma-separated `speeds` of the links")
			flags.BoolVar(&cfg.TLS, "tls", false, "with certificates")
			flags.IntVar(&cfg.Rounds, "rounds", 2, "how often each measurement is repeated")
			flags.IntVar(&cfg.Iterations, "iterations", 100, "of each job, at most")
			flags.IntVar(&cfg.KernelRows, "kernel-rows", 30_000, "rows of kernel k-means on the full matrix")
			flags.IntVar(&cfg.Rows, "rows", 300_000, "rows of the other families")
			flags.Int64Var(&cfg.DatasetBytes, "dataset-bytes", 1_000_000_000,
				"size of the data set that is distributed")
			return func(ctx context.Context, setup measure.Setup) error {
				cfg.Setup, cfg.WorkerFlags = setup, strings.Fields(*further)
				return Run(ctx, cfg)
			}
		},
	}
}

// part is a section of the document.
type part struct {
	name string
	run  func(context.Context, *Config, *strings.Builder) error
}

// PartName is the name that selects the part.
func (p part) PartName() string { return p.name }

var parts = []part{{"iterations", measureIterations}, {"distribution", measureDistribution}}

// Run measures, and prints what it finds or puts it into a document, between the marks "links NAME" of each part.
func Run(ctx context.Context, cfg Config) error {
	chosen, err := measure.Choose(parts, cfg.Parts)
	if err != nil {
		return err
	}
	if err := isolated(); err != nil {
		return err
	}
	if err := hideNamespaces(ctx); err != nil {
		return err
	}
	if cfg.dir, err = os.MkdirTemp("", "cleave-links-"); err != nil {
		return err
	}
	defer os.RemoveAll(cfg.dir)
	for _, p := range chosen {
		var text strings.Builder
		began := measure.Load()
		if err := p.run(ctx, &cfg, &text); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintf(&text, "\n%s, load of the machine before: %s.\n", cfg.When(time.Now()), began)
		if cfg.Fill == "" {
			fmt.Println(text.String())
			continue
		}
		if err := measure.FillFile(cfg.Fill, "links "+p.name, text.String()); err != nil {
			return err
		}
	}
	return nil
}

// repeated calls do Config.Rounds times for each speed, one speed after the other in every round, so that a change of
// the machine's load meets all of them.
func (cfg *Config) repeated(do func(speed string) error) error {
	if len(cfg.Speeds) == 0 {
		return errors.New("name at least one speed")
	}
	for range max(1, cfg.Rounds) {
		for _, speed := range cfg.Speeds {
			if err := do(speed); err != nil {
				return fmt.Errorf("%s: %w", speed, err)
			}
		}
	}
	return nil
}

// seconds formats a time with three digits.
func seconds(s float64) string {
	switch {
	case math.IsInf(s, 0) || math.IsNaN(s):
		return "-"
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}

// bytesText formats a number of bytes in units of 1000.
func bytesText(b float64) string {
	for _, unit := range []string{"B", "kB", "MB"} {
		if math.Abs(b) < 1000 {
			return fmt.Sprintf("%.3g %s", b, unit)
		}
		b /= 1000
	}
	return fmt.Sprintf("%.4g GB", b)
}
