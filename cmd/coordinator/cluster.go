package main

import (
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/security/credentials"
)

// electionFlags declares what coordinators that share a store need.
func (o *options) electionFlags(set *pflag.FlagSet) {
	e, etcd := &o.cfg.Election, &o.cfg.Security.Store
	set.DurationVar(&e.Lease, "lease", e.Lease,
		"with a shared store, how long the leader may be silent before another coordinator takes over, in "+
			"whole seconds")
	set.StringVar(&e.Advertise, "advertise", "",
		"with a shared store, the `HOST:PORT` at which clients and workers reach this coordinator (default: the "+
			"address it listens on)")
	const prefix = credentials.StorePrefix
	shell.CertificateFlags(set, prefix, &etcd.Files)
	set.StringVar(&etcd.ServerName, prefix+"tls-server-name", "",
		"`NAME` that the certificates of etcd must have (default: the host that is called)")
	set.BoolVar(&etcd.Insecure, prefix+"insecure", false,
		"connect to an etcd on other machines without encryption: anyone on the network path can read and "+
			"change everything")
}

func (o *options) workerFlags(set *pflag.FlagSet) {
	t := &o.cfg.Timing
	set.DurationVar(&t.HeartbeatInterval, "heartbeat", t.HeartbeatInterval, "how often workers send a heartbeat")
	set.DurationVar(&t.LostAfter, "lost-after", t.LostAfter,
		"how long a worker may be silent before its tiles go to others")
	set.DurationVar(&t.ReconnectWithin, "reconnect-within", t.ReconnectWithin,
		"how long a worker keeps its tiles after its connection was closed")
	set.DurationVar(&t.StalledAfter, "stalled-after", t.StalledAfter,
		"how long a worker may make no progress before its tiles move to others; at least 30 times the planned time "+
			"of one piece of work")
	set.DurationVar(&t.SlowAfter, "slow-after", t.SlowAfter,
		"how long a worker may run past 3 times the other workers' time before its tiles are also given to others")
	set.DurationVar(&t.WorkerWait, "worker-wait", t.WorkerWait,
		"how long a running job waits for workers if some are lost and the others have too little memory")
}
