package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
)

// addLimitFlags declares the flags about what the coordinator takes and keeps. What they say is in the configuration once
// they are parsed.
func addLimitFlags(set *pflag.FlagSet, cfg *coordinator.Config) {
	l, r := &cfg.Limits, &cfg.Retention
	set.Int64Var(&l.Rows, "max-rows", l.Rows, "rows of a data set, at most (0: any number)")
	set.Var(bytesOf(&cfg.MaxDatasetBytes), "max-dataset", "size of a data set or table, at most, such as 4GiB")
	set.Int64Var(&l.Clusters, "max-k", l.Clusters, "clusters of a job, at most (0: any number)")
	set.Int64Var(&l.Constraints, "max-constraints", l.Constraints, "constraints of a job, at most (0: any number)")

	set.IntVar(&cfg.MaxConcurrentJobs, "max-running", cfg.MaxConcurrentJobs, "jobs that run at once")
	set.IntVar(&l.RunningPerOwner, "max-running-per-owner", l.RunningPerOwner, "jobs of one owner that run at once (0: any number)")
	set.IntVar(&l.Queued, "max-queued", l.Queued, "jobs that wait for their turn, at most (0: any number)")
	set.IntVar(&l.QueuedPerOwner, "max-queued-per-owner", l.QueuedPerOwner, "jobs of one owner that wait, at most (0: any number)")
	set.Var(timeOf(&l.DefaultTime), "job-timeout", "time limit of jobs that ask for none, such as 12h or 2d (default: the longest, or none)")
	set.Var(timeOf(&l.MaxTime), "max-job-timeout", "longest time limit that a job may ask for (default: any)")

	set.IntVar(&l.Calls, "max-calls", l.Calls, "calls that plan, submit or evaluate jobs in work at once; others wait for their turn")
	set.IntVar(&l.Reads, "max-reads", l.Reads, "calls that only look something up at once; others are refused and may try again")
	set.IntVar(&l.Streams, "max-streams", l.Streams, "watches, uploads and downloads at once; others are refused and may try again")
	set.Var(timeOf(&l.SlowReader), "slow-reader", "how long a watch or download may take to accept one message before it is ended")
	set.DurationVar(&cfg.UploadStall, "upload-stall", cfg.UploadStall, "how long an upload may be silent, or the request of a call may take to come, before it is given up")
	set.Var(bytesOf(&l.UploadRate), "upload-rate", "bytes a second of all uploads, such as 100MiB (default: any number)")
	set.Var(bytesOf(&l.UploadRatePerOwner), "upload-rate-per-owner", "bytes a second of one owner's uploads (default: any number)")

	set.Var(bytesOf(&l.FreeDisk), "min-free", "space that is left on the disk of the blobs; with less, uploads and jobs are refused (default: none beyond the 64 MiB of the embedded store)")
	set.Var(bytesOf(&r.Quota), "disk-quota", "size of all data and results, such as 100GiB; beyond it the jobs that ended first, and at least 10 minutes ago, are deleted, then data sets that no job has (default: no limit)")
	set.Var(timeOf(&r.KeepJobs), "keep-jobs", "how long jobs that have ended are kept, such as 30d (default: for ever)")
	set.Var(timeOf(&r.KeepDatasets), "keep-datasets", "how long data sets and tables are kept that no job has and nobody uses, such as 30d (default: for ever)")
}

// timeOf is a flag for a time.
func timeOf(t *time.Duration) *shell.Duration { return (*shell.Duration)(t) }

// bytesOf is a flag for a size.
func bytesOf(bytes *int64) *shell.Size { return (*shell.Size)(bytes) }
