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
