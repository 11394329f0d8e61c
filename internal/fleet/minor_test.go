package fleet_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/worker"
)

// minorStream is that of a worker which says that it knows a minor version of the protocol.
type minorStream struct {
	grpc.ClientStream
	minor uint32
}

// SendMsg implements grpc.ClientStream.
func (s *minorStream) SendMsg(message any) error {
	if m, is := message.(*workerv1.AttachRequest); is && m.GetHello() != nil {
		m.GetHello().ProtocolMinor = s.minor
	}
	return s.ClientStream.SendMsg(message)
}

// RecvMsg implements grpc.ClientStream. It drops what a worker of v0.1.0 ignores, because it does not know the fields.
func (s *minorStream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	if m, is := message.(*workerv1.AttachResponse); is && err == nil && s.minor < 2 {
		switch op := m.GetCommand().GetOperation().(type) {
		case *workerv1.Command_MatrixAssign:
			op.MatrixAssign.Packed = false
		case *workerv1.Command_VectorAssign:
			op.VectorAssign.Packed = false
		case *workerv1.Command_Gains:
			op.Gains.Most = 0
		case *workerv1.Command_Blocks:
			op.Blocks.PairsOnce = false
		}
	}
	return err
}

// asMinor makes a worker one of this minor version of the protocol.
func asMinor(minor uint32) func(*worker.Config) {
	return func(cfg *worker.Config) {
		cfg.DialOptions = append(cfg.DialOptions, grpc.WithStreamInterceptor(
			func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
				s, err := stream(ctx, desc, conn, method, options...)
				return &minorStream{s, minor}, err
			}))
	}
}

// The forms of messages for workers of v0.1.0 are deleted before v0.3.0 is released.
func TestFormsOfEarlierReleasesAreDeleted(t *testing.T) {
	changes, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if release := regexp.MustCompile(`(?m)^## \[(0\.([3-9]|\d\d)|[1-9]).*`).Find(changes); release != nil {
		t.Errorf("%s does not work together with v0.1.0: delete earlier.go, what calls it, and this test", release)
	}
}

// Workers of the earlier and a later minor version serve one job together, and their answers can be compared.
func TestMinorVersionsWorkTogether(t *testing.T) {
	for _, minors := range [][]uint32{{0, 0}, {0, 1, 0}, {1, 1}, {1, 2}, {0, 1, 2, 3}} {
		t.Run(fmt.Sprint(minors), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			for w, minor := range minors {
				c.startWorker(fmt.Sprint("w", w), asMinor(minor))
			}
			p := gaussianProblem(t, 203, 1)
			id, size := c.datasets.put(t, p.data)
			task := p.task("matrix", id, size, nil)
			newSequence(c, c.launch(task), p, 1).run(25, noDisturbance)

			v := newVectorProblem(t, randomPoints(t, 500, 3, 1), metric.SquaredEuclidean, false)
			id, size = c.datasets.put(t, v.data)
			vectors := v.task(id, size, nil)
			e, err := c.fleet.NewKMeansExecutor(c.ctx, vectors)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(e.Release)
			newVectorSequence(c, e, v, 1).run(25, noDisturbance)
			for _, w := range c.fleet.Workers() {
				if w.Message != "" {
					t.Errorf("%s: %s", w.Name, w.Message)
				}
			}
		})
	}
}

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
	c, queries := m.GetCommand(), m.GetCommand().GetVectorAssign().GetQueries()
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
			func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
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
