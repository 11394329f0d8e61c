package main

import (
	"os"
	"runtime"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/memlimit"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/worker"
)

// options are what the flags set.
type options struct {
	cfg     worker.Config
	memory  shell.Size
	logs    shell.Logs
	watched observe.Options
}

func defaultOptions() *options {
	o := &options{
		cfg:    worker.Config{Version: shell.Version(), Threads: runtime.GOMAXPROCS(0), KeepFor: worker.DefaultKeepFor},
		memory: shell.Size(memlimit.Default()),
	}
	o.cfg.Name, _ = os.Hostname()
	o.cfg.Exchange.CacheBytes = worker.DefaultCacheBytes
	return o
}

// declare declares the flags, and returns the help, which lists them in the same groups and order.
func (o *options) declare(set *pflag.FlagSet) *shell.Help {
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
		shell.Declare(set, "Coordinator", o.coordinatorFlags),
		shell.Declare(set, "Resources", o.resourceFlags),
		shell.Declare(set, "Data", o.dataFlags),
		shell.Declare(set, "Connection", func(set *pflag.FlagSet) { shell.DialFlags(set, &o.cfg.Dial) }),
		shell.Declare(set, "Logs and metrics", o.logFlags),
	)
}

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
