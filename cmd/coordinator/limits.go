package main

import (
	"github.com/spf13/pflag"
)

func (o *options) jobFlags(set *pflag.FlagSet) {
	cfg, l := &o.cfg, &o.cfg.Limits
	set.IntVar(&cfg.MaxConcurrentJobs, "max-running", cfg.MaxConcurrentJobs, "maximum number of jobs that run at once")
	set.IntVar(&l.RunningPerOwner, "max-running-per-owner", l.RunningPerOwner,
		"maximum number of jobs of one owner that run at once (0: unlimited)")
	set.IntVar(&l.Queued, "max-queued", l.Queued, "maximum number of queued jobs (0: unlimited)")
	set.IntVar(&l.QueuedPerOwner, "max-queued-per-owner", l.QueuedPerOwner,
		"maximum number of queued jobs of one owner (0: unlimited)")
	set.Var(timeOf(&l.DefaultTime), "job-timeout",
		"time limit of jobs that set none, such as 12h or 2d (default: that of --max-job-timeout)")
	set.Var(timeOf(&l.MaxTime), "max-job-timeout", "longest time limit that a job may set (default: unlimited)")
	set.DurationVar(&cfg.Snapshots.Interval, "snapshot-interval", cfg.Snapshots.Interval,
		"minimum time between two snapshots of a job, from which it continues after a restart; "+
			"they take at most 5% of its time; 0: no snapshots, jobs start over")
	set.Int64Var(&l.Rows, "max-rows", l.Rows, "maximum number of rows of a data set (0: unlimited)")
	set.Int64Var(&l.Clusters, "max-k", l.Clusters, "maximum number of clusters of a job (0: unlimited)")
	set.Int64Var(&l.Constraints, "max-constraints", l.Constraints,
		"maximum number of constraints of a job (0: unlimited)")
	set.Var(bytesOf(&cfg.MaxDatasetBytes), "max-dataset", "maximum size of a data set or table, such as 4GiB")
}

func (o *options) callFlags(set *pflag.FlagSet) {
	l := &o.cfg.Limits
	set.IntVar(&l.Calls, "max-calls", l.Calls,
		"maximum number of concurrent calls that plan, submit or evaluate jobs; others wait")
	set.IntVar(&l.ShortCalls, "max-reads", l.ShortCalls,
		"maximum number of concurrent short calls, such as lookups, cancellations and deletions; others are refused "+
			"and may be retried")
	set.IntVar(&l.Streams, "max-streams", l.Streams,
		"maximum number of concurrent watches, uploads and downloads; others are refused and may be retried")
	set.Var(timeOf(&l.SlowReader), "slow-reader",
		"how long a watch or download may take to accept one message before it is ended")
	set.Var(bytesOf(&l.UploadRate), "upload-rate",
		"maximum bytes per second of all uploads, such as 100MiB (default: unlimited)")
	set.Var(bytesOf(&l.UploadRatePerOwner), "upload-rate-per-owner",
		"maximum bytes per second of one owner's uploads (default: unlimited)")
	set.DurationVar(&o.cfg.UploadStall, "upload-stall", o.cfg.UploadStall,
		"how long an upload may be silent, or a request may take to arrive, before it is ended")
}
