package fleet_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/worker"
	"github.com/cleave-project/cleave/test/bubble"
)

// pacedStream delays the answers of a worker by the time that its tiles are to take.
type pacedStream struct {
	grpc.ClientStream
	seconds func(c *workerv1.Command, tiles int) time.Duration

	mu    sync.Mutex
	lists map[uint64]int // lengths of numbered lists of tiles
	due   map[uint64]time.Time
}

// RecvMsg implements grpc.ClientStream.
func (s *pacedStream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	m, is := message.(*workerv1.AttachResponse)
	if c := m.GetCommand(); is && err == nil && c != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		tiles := len(c.GetTiles())
		if tiles == 0 {
			tiles = s.lists[c.GetTilesId()]
		}
		s.lists[c.GetTilesId()] = tiles
		s.due[c.GetCommandId()] = time.Now().Add(s.seconds(c, tiles))
	}
	return err
}

// SendMsg implements grpc.ClientStream.
func (s *pacedStream) SendMsg(message any) error {
	if m, is := message.(*workerv1.AttachRequest); is && m.GetAnswer() != nil {
		s.mu.Lock()
		due := s.due[m.GetAnswer().GetCommandId()]
		s.mu.Unlock()
		time.Sleep(time.Until(due)) // virtual time
	}
	return s.ClientStream.SendMsg(message)
}

// paced makes a worker take this long for each tile of an operation.
func paced(perTile *time.Duration) func(*worker.Config) {
	seconds := func(c *workerv1.Command, tiles int) time.Duration {
		switch c.GetOperation().(type) {
		case *workerv1.Command_Build, *workerv1.Command_Load:
			return time.Duration(tiles) * 5 * time.Millisecond
		case *workerv1.Command_Prepare, *workerv1.Command_SetOperands, *workerv1.Command_Drop:
			return 0
		}
		return time.Duration(tiles) * *perTile
	}
	return pacedBy(seconds)
}

// pacedBy makes a worker take as long for a command as a function says.
func pacedBy(seconds func(c *workerv1.Command, tiles int) time.Duration) func(*worker.Config) {
	return func(cfg *worker.Config) {
		cfg.Threads = 1
		cfg.DialOptions = append(cfg.DialOptions, grpc.WithStreamInterceptor(
			func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer,
				options ...grpc.CallOption) (grpc.ClientStream, error) {
				s, err := stream(ctx, desc, conn, method, options...)
				return &pacedStream{ClientStream: s, seconds: seconds, lists: map[uint64]int{},
					due: map[uint64]time.Time{}}, err
			}))
	}
}

// byDefault makes a fleet rebalance as it does by default. Its workers are not lost.
func byDefault(cfg *fleet.Config) {
	cfg.HeartbeatInterval = time.Second
	cfg.SlowAfter = fleet.DefaultTiming().SlowAfter
}

// A worker that takes 2.5 times as long as the others ends up with fewer tiles, and the answers keep their bits. With
// these it keeps nobody waiting even if it is slower still, so that the others do not overtake it. When it is as fast
// as they are, it gets tiles back.
func TestTheShareOfASlowWorkerShrinks(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := openCluster(t, true, byDefault)
		fast, pace := 80*time.Millisecond, 200*time.Millisecond
		c.startWorker("slow", paced(&pace))
		c.startWorker("b", paced(&fast))
		c.startWorker("c", paced(&fast))
		p := gaussianProblem(t, 800, 1)
		s := newSequence(c, c.submit(p, nil), p, 1)
		before := c.worker("slow").Tiles
		s.run(40, noDisturbance)
		after := c.worker("slow").Tiles
		pace = 4 * fast
		s.run(40, noDisturbance)
		slow := c.worker("slow")
		if before < 6 || after > 5 || slow.Tiles > after || slow.Tiles < 2 || slow.Message != "" {
			t.Errorf("the slow worker had %d of 25 tiles, then %d, and has %d: %s", before, after, slow.Tiles,
				slow.Message)
		}
		pace = fast
		s.run(600, noDisturbance)
		if again := c.worker("slow").Tiles; again < 7 {
			t.Errorf("the worker that is fast again has %d of 25 tiles", again)
		}
	})
}

// The same for vectors, and workers of equal speed keep their tiles.
func TestTheShareOfASlowWorkerWithVectorsShrinks(t *testing.T) {
	for _, equal := range []bool{false, true} {
		bubble.Test(t, func(t *testing.T) {
			c := openCluster(t, true, byDefault)
			fast, pace := 8*time.Millisecond, 20*time.Millisecond
			if equal {
				pace = fast
			}
			c.startWorker("a", paced(&pace))
			c.startWorker("b", paced(&fast))
			p := newVectorProblem(t, randomPoints(t, 800, 3, 1), metric.SquaredEuclidean, false)
			s := newVectorSequence(c, c.submitVectors(p, nil), p, 1)
			before := c.worker("a").Tiles
			s.run(60, noDisturbance)
			if after := c.worker("a").Tiles; equal && after != before || !equal && (after > 8 || after < 6) {
				t.Errorf("the worker had %d of 25 tiles and has %d", before, after)
			}
		})
	}
}
