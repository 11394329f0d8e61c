package fleet

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/partition"
)

// Referee is a worker in the process of the coordinator, which has the data and is trusted anyway. It runs until ctx
// ends, and reaches the fleet by dial. It decides when two workers disagree and there is no third.
type Referee func(ctx context.Context, dial func(context.Context, string) (net.Conn, error)) error

// askReferee has the coordinator itself answer for a tile. It returns nil if it cannot.
func (j *job) askReferee(ctx context.Context, t int, op *operation) *reply {
	f := j.fleet
	if f.cfg.Referee == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	attached := make(chan *session, 1)
	listener := bufconn.Listen(1 << 16) // no other process reaches it, so whoever attaches here is the referee
	server := grpc.NewServer(ServerOptions()...)
	workerv1.RegisterWorkerServiceServer(server, &service{fleet: f, referee: attached})
	served, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(served)
		_ = server.Serve(listener) // until it is stopped
	}()
	refereeCtx, dismiss := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		ended <- f.cfg.Referee(refereeCtx, func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) })
		cancel()
	}()
	defer func() {
		dismiss()
		<-ended
		server.Stop()
		<-served
	}()
	select {
	case s := <-attached:
		f.mu.Lock()
		c := &tile{worker: s, epoch: j.newEpoch(), wantStored: j.need.StorageRule() == partition.StoreAll}
		f.mu.Unlock()
		g := &group{session: s, member: &membership{}, tiles: []int{t}, copies: map[int]*tile{t: c}}
		if g.err = j.runGroup(ctx, g, op); g.err != nil {
			f.log.Warn("the coordinator cannot decide which worker is wrong", "job", j.jobID, "error", g.err)
		}
		return g.reply()
	case <-ctx.Done():
		return nil
	}
}
