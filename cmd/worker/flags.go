package main

import (
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/worker"
)

// addDataFlags declares the flags about where data sets come from and whom they are passed on to.
func addDataFlags(set *pflag.FlagSet, cfg *worker.Config) {
	e := &cfg.Exchange
	e.CacheBytes = worker.DefaultCacheBytes
	set.StringVar(&e.CacheDir, "cache-dir", "",
		"`DIR` in which this worker, and no other, keeps data sets across restarts (default: none)")
	set.Var((*shell.Size)(&e.CacheBytes), "cache-size",
		"maximum size of what is kept there, such as 100GiB; data sets that were not used for the longest time are "+
			"deleted first")
	set.StringVar(&e.Listen, "peer-listen", "",
		"`HOST:PORT` at which other workers of a job fetch its data from this one, "+
			"so that the coordinator does not have to send it to every worker; needs --cache-dir (default: none)")
	set.StringVar(&e.Advertise, "peer-address", "",
		"`HOST:PORT` at which other workers reach --peer-listen (default: the address from which this machine "+
			"reaches the coordinator)")
}

// help has the examples and the order of the flags.
func help() *shell.Help {
	return shell.ServerHelp(`
# for a coordinator on this machine
worker --coordinator localhost:7400
# on another machine, with half of its memory
worker --coordinator cluster.example:7400 \
    --tls certs/worker --memory 32GiB --name rack3
# for several coordinators, one of which leads
worker --coordinator a:7400,b:7400,c:7400 --tls certs
# one of many, which pass data on to each other
worker --coordinator cluster.example:7400 --tls certs/worker \
    --cache-dir /var/cache/cleave --peer-listen 0.0.0.0:7401`,
		shell.NewGroup("Coordinator", "coordinator name keep-for"),
		shell.NewGroup("Resources", "threads memory"),
		shell.NewGroup("Data", "cache-dir cache-size peer-listen peer-address"),
		shell.NewGroup("Connection", "tls tls-ca tls-cert tls-key tls-server-name insecure"),
	)
}
