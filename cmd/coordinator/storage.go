package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
)

func (o *options) storageFlags(set *pflag.FlagSet) {
	cfg, r := &o.cfg, &o.cfg.Retention
	set.StringVar(&cfg.Listen, "listen", cfg.Listen, "`HOST:PORT` to serve on; port 0 picks a free one")
	set.StringVar(&cfg.DataDir, "data-dir", "", "`DIR` for the embedded store and the blobs")
	set.StringVar(&cfg.Store, "store", cfg.Store, "where to store jobs: embedded, memory or etcd://A:2379,B:2379")
	set.StringVar(&cfg.Blobs, "blobs", "",
		"where to store data and results: a directory or a `URL` (default DIR/blobs)")
	set.DurationVar(&cfg.BlobsStall, "blobs-stall", cfg.BlobsStall,
		"how long a blob transfer may stall before the call fails or is retried")
	set.StringVar(&cfg.Restore, "restore", "",
		"`FILE` that cleave backup wrote, to restore into empty stores before serving")
	set.Var(bytesOf(&r.Quota), "disk-quota",
		"maximum size of all data and results, such as 100GiB; above it data sets that no job uses are deleted, "+
			"then the jobs that ended first, at least 10 minutes ago, with their data (default: unlimited)")
	set.Var(bytesOf(&cfg.Limits.FreeDisk), "min-free",
		"free space to keep on the disk of the blobs; with less, uploads and jobs are refused (default: only the 64 "+
			"MiB of the embedded store)")
	set.Var(timeOf(&r.KeepJobs), "keep-jobs", "how long jobs are kept after they end, such as 30d (default: forever)")
	set.Var(timeOf(&r.KeepDatasets), "keep-datasets",
		"how long unused data sets and tables are kept, such as 30d (default: forever)")
	shell.ImportFlag(set, &cfg.Imports.Allow)
}

func (o *options) memoryFlags(set *pflag.FlagSet) {
	set.Var(&o.memory, "memory",
		"memory of this process, such as 4GiB, for jobs (data sets, eigenvectors, graphs), uploads and caches; "+
			"it takes up to 64 MiB more (default: 80% of the machine's memory)")
	set.Var(&o.uploads, "upload-memory",
		"memory for all concurrent uploads, such as 2GiB, at most half of --memory; a larger upload takes memory that "+
			"jobs leave (default: a quarter of --memory)")
}

func timeOf(t *time.Duration) *shell.Duration { return (*shell.Duration)(t) }

func bytesOf(bytes *int64) *shell.Size { return (*shell.Size)(bytes) }
