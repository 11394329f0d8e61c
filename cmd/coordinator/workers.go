package main

import (
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/coordinator"
)

// addWorkerFlags declares how long workers may be silent or take.
func addWorkerFlags(set *pflag.FlagSet, cfg *coordinator.Config) {
	set.DurationVar(&cfg.HeartbeatInterval, "heartbeat", cfg.HeartbeatInterval, "how often workers send a heartbeat")
	set.DurationVar(&cfg.LostAfter, "lost-after", cfg.LostAfter, "how long a worker may be silent until its tiles go to others")
	set.DurationVar(&cfg.ReconnectWithin, "reconnect-within", cfg.ReconnectWithin, "how long a worker whose connection was closed keeps its tiles")
	set.DurationVar(&cfg.StalledAfter, "stalled-after", cfg.StalledAfter, "how long a worker may make no progress until its tiles go to others; 30 times what is planned for a piece of work if that is longer")
	set.DurationVar(&cfg.WorkerWait, "worker-wait", cfg.WorkerWait, "how long a job that was running waits when workers are lost and the others have too little memory for it")
}
