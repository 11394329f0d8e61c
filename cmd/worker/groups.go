package main

import (
	"os"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
)

func (o *options) coordinatorFlags(set *pflag.FlagSet) {
	cfg := &o.cfg
	set.StringVar(&cfg.Coordinator, "coordinator", "",
		"`HOST:PORT` of the coordinator, or a comma-separated list of several; the worker finds the one that leads")
	set.StringVar(&cfg.Name, "name", cfg.Name, "a `NAME` to show in lists")
	set.DurationVar(&cfg.KeepFor, "keep-for", cfg.KeepFor,
		"how long to keep tiles for another coordinator after the one they were built for is gone")
}

func (o *options) resourceFlags(set *pflag.FlagSet) {
	set.IntVar(&o.cfg.Threads, "threads", o.cfg.Threads, "threads to compute with")
	set.Var(&o.memory, "memory", "memory for tiles and data, such as 4GiB; the process takes up to 64 MiB more "+
		"(default: 80% of the machine's memory)")
}

// dataFlags declares where data sets come from and whom they are passed on to.
func (o *options) dataFlags(set *pflag.FlagSet) {
	e := &o.cfg.Exchange
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

func (o *options) logFlags(set *pflag.FlagSet) {
	o.logs.AddFlags(set, "info")
	shell.ObserveFlags(set, &o.watched, os.Getenv)
}
