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
	set.StringVar(&e.CacheDir, "cache-dir", "", "`DIR` in which this worker, and no other, keeps data sets across restarts (default: none)")
	set.Var((*shell.Size)(&e.CacheBytes), "cache-size",
		"maximum size of what is kept there, such as 100GiB; data sets that were not used for the longest time are deleted first")
	set.StringVar(&e.Listen, "peer-listen", "",
		"`HOST:PORT` at which other workers of a job fetch its data from this one, "+
			"so that the coordinator does not have to send it to every worker; needs --cache-dir (default: none)")
	set.StringVar(&e.Advertise, "peer-address", "",
		"`HOST:PORT` at which other workers reach --peer-listen (default: the address from which this machine reaches the coordinator)")
}
