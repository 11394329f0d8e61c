package main

import (
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/coordinator"
)

// addElectionFlags adds the flags for coordinators that share a store.
func addElectionFlags(set *pflag.FlagSet, e *coordinator.Election) {
	set.DurationVar(&e.Lease, "lease", e.Lease, "with a shared store, how long the leader may be silent until another coordinator leads, in whole seconds")
	set.StringVar(&e.Advertise, "advertise", "", "with a shared store, the `HOST:PORT` by which clients and workers reach this coordinator (default: the address it listens on)")
}
