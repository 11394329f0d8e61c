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
