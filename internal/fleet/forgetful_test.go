package fleet_test

import (
	"context"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/worker"
)

// forgetfulStream makes a worker forget: some commands name lists of tiles or values that the worker was never sent.
type forgetfulStream struct {
	grpc.ClientStream
	named *atomic.Int64 // commands that name something
}

// RecvMsg implements grpc.ClientStream.
func (s *forgetfulStream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	m, is := message.(*workerv1.AttachResponse)
	if !is || err != nil {
		return err
	}
	c := m.GetCommand()
	queries := m.GetCommand().GetVectorAssign().GetQueries()
	switch {
	case c.GetTilesId() != 0 && len(c.GetTiles()) == 0 && s.named.Add(1)%5 == 0:
		c.TilesId += 1000
	case queries.GetValuesId() != 0 && queries.GetValues() == nil && s.named.Add(1)%3 == 0:
		queries.ValuesId += 1000
	}
	return nil
}

// A worker that does not remember what a command names is prepared again, and the answers stay the same.
func TestForgetfulWorkersArePreparedAgain(t *testing.T) {
	c := newCluster(t)
	var named atomic.Int64
	c.startWorker("forgetful", func(cfg *worker.Config) {
		cfg.DialOptions = append(cfg.DialOptions, grpc.WithStreamInterceptor(
			func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer,
				options ...grpc.CallOption) (grpc.ClientStream, error) {
				s, err := stream(ctx, desc, conn, method, options...)
				return &forgetfulStream{ClientStream: s, named: &named}, err
			}))
	})
	c.startWorker("other")
	p := gaussianProblem(t, 203, 1)
	newSequence(c, c.submit(p, nil), p, 1).run(30, noDisturbance)
	ofMatrix := named.Load()
	v := newVectorProblem(t, randomPoints(t, 500, 3, 1), metric.SquaredEuclidean, false)
	newVectorSequence(c, c.submitVectors(v, nil), v, 1).run(30, noDisturbance)
	if ofMatrix < 5 || named.Load() < ofMatrix+5 {
		t.Errorf("only %d commands of the matrix and %d of the vectors name something", ofMatrix, named.Load()-ofMatrix)
	}
}
