package main

import (
	"context"
	"net"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/worker"
)

// addDistrustFlags adds the flags about workers that are slow or wrong.
func addDistrustFlags(set *pflag.FlagSet, d *coordinator.Distrust) {
	set.Float64Var(&d.Verify, "verify", d.Verify, "share of the work that a second worker does too, such as 0.01, for jobs that do not say themselves; a worker whose answers are wrong is quarantined")
	set.DurationVar(&d.SlowAfter, "slow-after", d.SlowAfter, "how long a worker may keep the others of a job waiting, beyond 3 times what they take, until its tiles are also given to others")
	d.Referee = func(ctx context.Context, dial func(context.Context, string) (net.Conn, error)) error {
		return worker.Run(ctx, worker.Config{
			Coordinator: "passthrough:///coordinator", Name: "coordinator", Threads: 1,
			DialOptions: []grpc.DialOption{grpc.WithContextDialer(dial)},
		})
	}
}
