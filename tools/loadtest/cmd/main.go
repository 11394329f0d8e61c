// Command load measures how many clients one coordinator serves. `make load` runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/cleave-project/cleave/tools/loadtest"
)

func main() {
	cfg := loadtest.Config{Out: os.Stdout}
	var list, flags string
	plain := false
	flag.StringVar(&cfg.Coordinator, "coordinator", "bin/coordinator", "the coordinator's `program`")
	flag.StringVar(&cfg.Cleave, "cleave", "bin/cleave", "the cleave `program`, which makes certificates")
	flag.BoolVar(&plain, "plain", false, "without TLS")
	flag.StringVar(&flags, "flags", "", "further `flags` of the coordinator, separated by spaces")
	flag.StringVar(&cfg.Dir, "dir", os.TempDir(), "`folder` for the coordinator's data")
	flag.StringVar(&cfg.Fill, "fill", "", "also put what is found into this `document`, between its marks")
	flag.StringVar(&list, "stages", "", "comma-separated `stages` (default all): "+strings.Join(loadtest.StageNames(), ", "))
	flag.IntVar(&cfg.Streams, "streams", 10_000, "watches")
	flag.IntVar(&cfg.Connections, "connections", 100, "connections of the watches")
	flag.IntVar(&cfg.Calls, "calls", 2000, "GetJob a second")
	flag.IntVar(&cfg.Jobs, "jobs", 100_000, "jobs in the store")
	flag.IntVar(&cfg.Seconds, "seconds", 20, "of each measurement")
	flag.Parse()
	cfg.Flags = strings.Fields(flags)
	if plain {
		cfg.Cleave = ""
	}
	if list != "" {
		cfg.Stages = strings.Split(list, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := loadtest.Run(ctx, cfg); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		stop()
		os.Exit(1)
	}
}
