package main

import (
	"os"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/memlimit"
	"github.com/cleave-project/cleave/internal/observe"
)

// options are what the flags set.
type options struct {
	cfg             coordinator.Config
	memory, uploads shell.Size
	logs            shell.Logs
	watched         observe.Options
}

func defaultOptions() *options {
	return &options{cfg: coordinator.DefaultConfig(), memory: shell.Size(memlimit.Default())}
}

// declare declares the flags, and returns the help, which lists them in the same groups and order.
func (o *options) declare(set *pflag.FlagSet) *shell.Help {
	return shell.ServerHelp(`
# on this machine
coordinator --data-dir state
# for other machines, with certificates from cleave certs
coordinator --data-dir state --listen 0.0.0.0:7400 \
    --tls certs/coordinator
# one of several that share an etcd and blobs
coordinator --store etcd://a:2379,b:2379,c:2379 \
    --blobs s3://bucket --listen 0.0.0.0:7400 --tls certs`,
		shell.Declare(set, "Address and storage", o.storageFlags),
		shell.Declare(set, "Memory", o.memoryFlags),
		shell.Declare(set, "Security", o.securityFlags),
		shell.Declare(set, "Web pages and webhooks", o.webFlags),
		shell.Declare(set, "Several coordinators", o.electionFlags),
		shell.Declare(set, "Workers", o.workerFlags),
		shell.Declare(set, "Jobs", o.jobFlags),
		shell.Declare(set, "Calls", o.callFlags),
		shell.Declare(set, "Logs and metrics", o.logFlags),
	)
}

func (o *options) logFlags(set *pflag.FlagSet) {
	o.logs.AddFlags(set, "info")
	shell.ObserveFlags(set, &o.watched, os.Getenv)
}
