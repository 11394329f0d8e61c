package main

import (
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/coordinator"
)

// addSnapshotFlags adds the flags about snapshots of running jobs.
func addSnapshotFlags(set *pflag.FlagSet, s *coordinator.Snapshots) {
	set.DurationVar(&s.Interval, "snapshot-interval", s.Interval,
		"how long a job runs at least between two snapshots, from which it goes on after a restart; they take at most 5% of its time; 0: there are none, and jobs start over")
}
