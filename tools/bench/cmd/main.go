// Command bench measures this machine, our code and our peers, prints the table and writes the
// page of the documentation. `make bench` runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/tools/bench"
)

func main() {
	cfg := bench.Config{Progress: os.Stderr}
	var list, out string
	flag.BoolVar(&cfg.Quick, "quick", false, "small sizes, which only show that everything works")
	flag.StringVar(&list, "stages", "", "comma-separated `stages` to measure (default all): "+strings.Join(bench.StageNames(), ", "))
	flag.IntVar(&cfg.Rounds, "rounds", 0, "rounds of everything (default: by what it costs)")
	flag.IntVar(&cfg.Threads, "threads", runtime.GOMAXPROCS(0), "threads, ours and the peers'")
	flag.StringVar(&cfg.Data, "data", "", "`folder` of data sets (default: synthetic ones)")
	flag.StringVar(&cfg.Python, "python", "/usr/bin/python3", "Python `program` of the peers; empty for none")
	flag.StringVar(&cfg.Script, "script", "scripts/bench/peer.py", "the peers' `file`")
	flag.StringVar(&cfg.Cleave, "cleave", "", "the cleave `program`")
	flag.StringVar(&cfg.Version, "version", "an unknown version", "the `version` of this source")
	flag.StringVar(&out, "out", "", "write the page of the documentation to this `file`; with stages, only their part of it")
	flag.Parse()
	if list != "" {
		cfg.Stages = strings.Split(list, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measure(ctx, cfg, out); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func measure(ctx context.Context, cfg bench.Config, out string) error {
	report, failure := bench.Run(ctx, cfg)
	if report == nil {
		return failure
	}
	if err := report.WriteText(os.Stdout); err != nil {
		return err
	}
	if failure != nil || out == "" { // a page with holes would say less than the one it replaces
		return failure
	}
	if len(cfg.Stages) == 0 {
		return format.WriteFile(out, func(w io.Writer) error { return report.WriteMarkdown(w, time.Now()) })
	}
	page, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	return format.WriteFile(out, func(w io.Writer) error { return report.Update(w, string(page), time.Now()) })
}
