package main

import (
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/worker"
)

// addDataFlags declares the flags about where data sets come from and whom they are passed on to.
func addDataFlags(set *pflag.FlagSet, cfg *worker.Config) {
	e := &cfg.Exchange
	e.CacheBytes = 20 << 30
	set.StringVar(&e.CacheDir, "cache-dir", "", "`DIR` of this worker alone in which it keeps data sets, also for the time after a restart (default: none)")
	set.Var((*shell.Size)(&e.CacheBytes), "cache-size", "maximum size of what is kept there, such as 100GiB; data sets that were not used for the longest time are deleted first")
	set.StringVar(&e.Listen, "peer-listen", "", "`HOST:PORT` at which other workers of a job fetch its data from this one, so that the coordinator need not send it to each; needs --cache-dir (default: none)")
	set.StringVar(&e.Advertise, "peer-address", "", "`HOST:PORT` at which other workers reach that (default: the address from which this machine reaches the coordinator)")
}
