package main

import (
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/coordinator"
)

// addSnapshotFlags adds the flags about snapshots of running jobs.
func addSnapshotFlags(set *pflag.FlagSet, s *coordinator.Snapshots) {
	set.DurationVar(&s.Interval, "snapshot-interval", s.Interval,
		"how long a job runs at least between two snapshots, from which it goes on after a restart; at least 20 times as long as one takes; 0: there are none, and jobs start over")
}
