package main

import (
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/coordinator"
)

// addStoreFlags declares where the state and the blobs are.
func addStoreFlags(set *pflag.FlagSet, cfg *coordinator.Config) {
	set.StringVar(&cfg.DataDir, "data-dir", "", "`DIR` for the embedded store and the blobs")
	set.StringVar(&cfg.Store, "store", cfg.Store, "where to store jobs: embedded, memory or etcd://A:2379,B:2379")
	set.StringVar(&cfg.Blobs, "blobs", "",
		"where to store data and results: a directory or a `URL` (default DIR/blobs)")
	set.StringVar(&cfg.Restore, "restore", "",
		"`FILE` that cleave backup wrote, to restore into empty stores before serving")
	set.DurationVar(&cfg.BlobsStall, "blobs-stall", cfg.BlobsStall,
		"how long a blob transfer may stall before the call fails or is retried")
}

// addClusterFlags declares the flags about other coordinators, workers and snapshots.
func addClusterFlags(set *pflag.FlagSet, cfg *coordinator.Config) {
	e := &cfg.Election
	set.DurationVar(&e.Lease, "lease", e.Lease,
		"with a shared store, how long the leader may be silent before another coordinator takes over, in "+
			"whole seconds")
	set.StringVar(&e.Advertise, "advertise", "",
		"with a shared store, the `HOST:PORT` at which clients and workers reach this coordinator (default: the "+
			"address it listens on)")
	set.DurationVar(&cfg.HeartbeatInterval, "heartbeat", cfg.HeartbeatInterval, "how often workers send a heartbeat")
	set.DurationVar(&cfg.LostAfter, "lost-after", cfg.LostAfter,
		"how long a worker may be silent before its tiles go to others")
	set.DurationVar(&cfg.ReconnectWithin, "reconnect-within", cfg.ReconnectWithin,
		"how long a worker keeps its tiles after its connection was closed")
	set.DurationVar(&cfg.StalledAfter, "stalled-after", cfg.StalledAfter,
		"how long a worker may make no progress before its tiles move to others; at least 30 times the planned time "+
			"of one piece of work")
	set.DurationVar(&cfg.WorkerWait, "worker-wait", cfg.WorkerWait,
		"how long a running job waits for workers if some are lost and the others have too little memory")
	set.DurationVar(&cfg.Snapshots.Interval, "snapshot-interval", cfg.Snapshots.Interval,
		"minimum time between two snapshots of a job, from which it continues after a restart; "+
			"they take at most 5% of its time; 0: no snapshots, jobs start over")
	set.DurationVar(&cfg.SlowAfter, "slow-after", cfg.SlowAfter,
		"how long a worker may run past 3 times the other workers' time before its tiles are also given to others")
}
