// Command experiments repeats the experiments of the papers and writes the page of the documentation.
// `make experiments DATA=folder` runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/cleave-project/cleave/tools/experiments"
)

func main() {
	cfg := experiments.Config{Progress: os.Stderr}
	var list, out, version string
	flag.StringVar(&cfg.Data, "data", "", "`folder` of data sets")
	flag.StringVar(&list, "studies", "", "comma-separated `studies` (default all): "+strings.Join(experiments.StudyNames(), ", "))
	flag.IntVar(&cfg.Runs, "runs", 0, "runs of every cell of a table (default as many as each study usually has)")
	flag.IntVar(&cfg.Threads, "threads", runtime.GOMAXPROCS(0), "threads")
	flag.StringVar(&version, "version", "an unknown version", "the `version` of this source")
	flag.StringVar(&out, "out", "", "write the page of the documentation, and its pictures, to this `file` instead of printing it; other studies keep their sections")
	flag.Parse()
	if list != "" {
		cfg.Studies = strings.Split(list, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, cfg, version, out); err != nil {
		fmt.Fprintln(os.Stderr, "experiments:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, cfg experiments.Config, version, out string) error {
	if cfg.Data == "" {
		return fmt.Errorf("where is the data? Say it with -data (make experiments DATA=folder)")
	}
	report, err := experiments.Run(ctx, cfg)
	if err != nil {
		return err
	}
	if out == "" {
		return report.WriteMarkdown(os.Stdout, "", version, time.Now())
	}
	return report.WriteFiles(out, version, time.Now())
}
