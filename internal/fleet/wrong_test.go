package fleet_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/worker"
)

// liar changes answers of a worker on their way to the coordinator, as broken memory does.
type liar struct {
	about func(*workerv1.Command) bool // which commands it lies about
	lie   func(*workerv1.Done)         // how, of answers whose values are inline
	lies  atomic.Int32
	mu    sync.Mutex
	asked map[uint64]bool // the commands to lie about
	*testWorker
}

// startLiar starts a real worker that lies about some commands.
func (c *cluster) startLiar(name string, about func(*workerv1.Command) bool, lie func(*workerv1.Done)) *liar {
	c.Helper()
	l := &liar{about: about, lie: lie, asked: map[uint64]bool{}}
	l.testWorker = c.startWorker(name, func(cfg *worker.Config) {
		cfg.DialOptions = append(cfg.DialOptions, grpc.WithStreamInterceptor(
			func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
				options ...grpc.CallOption) (grpc.ClientStream, error) {
				stream, err := open(ctx, desc, conn, method, options...)
				return &lyingStream{stream, l}, err
			}))
	})
	return l
}

type lyingStream struct {
	grpc.ClientStream
	*liar
}

func (s *lyingStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if response, is := m.(*workerv1.AttachResponse); is && err == nil && response.GetCommand() != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked[response.GetCommand().GetCommandId()] = s.about(response.GetCommand())
	}
	return err
}

func (s *lyingStream) SendMsg(m any) error {
	if request, is := m.(*workerv1.AttachRequest); is && request.GetAnswer().GetDone() != nil {
		s.mu.Lock()
		lies := s.asked[request.GetAnswer().GetCommandId()]
		s.mu.Unlock()
		if lies {
			s.lie(request.GetAnswer().GetDone())
			s.lies.Add(1)
		}
	}
	return s.ClientStream.SendMsg(m)
}

// cutShort takes the last byte off each part of an answer.
func cutShort(done *workerv1.Done) {
	if values := done.GetValues().GetInline(); len(values) > 0 {
		done.Values = &workerv1.Payload{Where: &workerv1.Payload_Inline{Inline: values[:len(values)-1]}}
	}
	if sums := done.GetSelfAffinity(); len(sums) > 0 {
		done.SelfAffinity = sums[:len(sums)-1]
	}
	done.Farthest = nil
}

// flipBit flips the lowest bit of the first number that is not zero of an answer of numbers.
func flipBit(done *workerv1.Done) {
	data := done.GetValues().GetInline()
	for at := 0; at+4 <= len(data); at += 4 {
		if binary.LittleEndian.Uint32(data[at:]) != 0 {
			data[at] ^= 1
			return
		}
	}
}

// matrixCommands are all operations on a matrix whose answers can be wrong, as a job asks for them.
var matrixCommands = map[string]struct {
	about func(*workerv1.Command) bool
	ask   func(ctx context.Context, e *fleet.Executor) (any, error)
}{
	"load": {func(c *workerv1.Command) bool { return c.GetLoad() != nil },
		func(ctx context.Context, e *fleet.Executor) (any, error) {
			return e.Load(ctx, twoClusters())
		}},
	"update": {func(c *workerv1.Command) bool { return c.GetUpdate() != nil },
		func(ctx context.Context, e *fleet.Executor) (any, error) {
			return e.Update(ctx, []labeling.Move{{Point: 4, From: 1, To: 0}, {Point: 150, From: 0, To: 1}})
		}},
	"degrees": {func(c *workerv1.Command) bool { return c.GetDegrees() != nil },
		func(ctx context.Context, e *fleet.Executor) (any, error) { return e.Degrees(ctx) }},
	"maxima": {func(c *workerv1.Command) bool { return c.GetMaxima() != nil },
		func(ctx context.Context, e *fleet.Executor) (any, error) { return e.Maxima(ctx) }},
	"diagonal": {func(c *workerv1.Command) bool { return c.GetDiagonal() != nil },
		func(ctx context.Context, e *fleet.Executor) (any, error) { return e.Diagonal(ctx) }},
	"column sums": {func(c *workerv1.Command) bool { return c.GetColumnSums() != nil },
		func(ctx context.Context, e *fleet.Executor) (any, error) {
			return e.ColumnSums(ctx, [][]int32{{1, 2, 100}})
		}},
	"multiply": {func(c *workerv1.Command) bool { return c.GetMultiply() != nil },
		func(ctx context.Context, e *fleet.Executor) (any, error) {
			x := make([]float64, liarRows)
			x[7] = 1
			return e.Multiply(ctx, [][]float64{x})
		}},
	"assign": {func(c *workerv1.Command) bool { return c.GetMatrixAssign() != nil },
		func(ctx context.Context, e *fleet.Executor) (any, error) { return e.Assign(ctx, liarStats()) }},
	"farthest": {func(c *workerv1.Command) bool { return c.GetMatrixFarthest() != nil },
		func(ctx context.Context, e *fleet.Executor) (any, error) { return e.Farthest(ctx, liarStats()) }},
	"gains": {func(c *workerv1.Command) bool { return c.GetGains() != nil },
		func(ctx context.Context, e *fleet.Executor) (any, error) {
			return e.Gains(ctx, liarStats()[:1], 1000)
		}},
	"fits": {func(c *workerv1.Command) bool { return c.GetFits() != nil },
		func(ctx context.Context, e *fleet.Executor) (any, error) {
			return e.Fits(ctx, liarStats()[:1])
		}},
	"blocks": {func(c *workerv1.Command) bool { return c.GetBlocks() != nil },
		func(ctx context.Context, e *fleet.Executor) (any, error) {
			return e.Blocks(ctx, []kernel.Block{
				{Points: []int32{1, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200}},
			})
		}},
}

const liarRows = 203

// twoClusters puts every third point into the first of two clusters.
func twoClusters() []int32 {
	labels := make([]int32, liarRows)
	for i := range labels {
		labels[i] = int32(min(1, i%3))
	}
	return labels
}

func liarStats() []kernel.ClusterStats {
	return []kernel.ClusterStats{{Weight: []float64{68, 135}, SelfAffinity: []float64{900, 2500},
		Count: []int32{68, 135}}}
}

// askAll sets operands and labels and then asks for one operation.
func askAll(ctx context.Context, e *fleet.Executor,
	ask func(context.Context, *fleet.Executor) (any, error)) (any, error) {
	weights := make([]float64, liarRows)
	for i := range weights {
		weights[i] = 1
	}
	if err := e.SetOperands(ctx, kernel.Operands{K: 2, Weights: weights}); err != nil {
		return nil, err
	}
	if _, err := e.Load(ctx, twoClusters()); err != nil {
		return nil, err
	}
	return ask(ctx, e)
}

// One of two workers gives answers that cannot be right about one operation, whichever. It is excluded from the job and
// named, and the job has the answers that it has on other workers.
func TestAWrongWorkerIsExcluded(t *testing.T) {
	p := gaussianProblem(t, liarRows, 1)
	for name, command := range matrixCommands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			honest := newCluster(t)
			honest.startWorker("a")
			want, err := askAll(honest.ctx, honest.submit(p, nil), command.ask)
			if err != nil {
				t.Fatal(err)
			}
			c := newCluster(t)
			c.startWorker("a")
			l := c.startLiar("liar", command.about, cutShort)
			got, err := askAll(c.ctx, c.submit(p, nil), command.ask)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
			c.wantExcluded(l)
		})
	}
}

// wantExcluded checks that a worker that lies was asked once, is named, and has no tiles.
func (c *cluster) wantExcluded(l *liar) {
	c.Helper()
	if lies := l.lies.Load(); lies != 1 {
		c.Errorf("it lied %d times", lies)
	}
	if w := c.worker("liar"); w.Tiles > 0 || !strings.Contains(w.Message, `"liar" gave an answer to`) {
		c.Errorf("worker %+v", w)
	}
}

// A worker that gives a wrong answer is excluded from all executors of the job, and from no other job.
func TestAWrongWorkerServesOtherJobs(t *testing.T) {
	c := newCluster(t)
	c.startWorker("a")
	l := c.startLiar("liar", matrixCommands["degrees"].about, cutShort)
	p := gaussianProblem(t, liarRows, 1)
	id, size := c.datasets.put(t, p.data)
	task := p.task("job", id, size, nil)
	task.Shared = fleet.NewShared(false)
	if _, err := c.launch(task).Degrees(c.ctx); err != nil {
		t.Fatal(err)
	}
	c.wantExcluded(l)
	if _, err := c.launch(task).Degrees(c.ctx); err != nil {
		t.Fatal(err)
	}
	c.wantExcluded(l)
	c.launch(p.task("other", id, size, nil))
	if w := c.worker("liar"); w.Tiles == 0 {
		t.Error("another job does not use it")
	}
}

// A job whose only worker gives a wrong answer fails, and names it.
func TestNobodyIsRight(t *testing.T) {
	c := newCluster(t, losing)
	c.startLiar("liar", matrixCommands["degrees"].about, cutShort)
	_, err := c.submit(gaussianProblem(t, liarRows, 1), nil).Degrees(c.ctx)
	if !fault.Is(err, "WORKER_WRONG") || !strings.Contains(err.Error(), `"liar"`) {
		t.Errorf("the job ended with %v", err)
	}
}

var vectorCommands = map[string]func(*workerv1.Command) bool{
	"update":    func(c *workerv1.Command) bool { return c.GetUpdate() != nil },
	"assign":    func(c *workerv1.Command) bool { return c.GetVectorAssign() != nil },
	"farthest":  func(c *workerv1.Command) bool { return c.GetVectorFarthest() != nil },
	"distances": func(c *workerv1.Command) bool { return c.GetDistances() != nil },
	"nearest":   func(c *workerv1.Command) bool { return c.GetNearest() != nil },
	"two":       func(c *workerv1.Command) bool { return c.GetNearestTwo() != nil },
	"scatter":   func(c *workerv1.Command) bool { return c.GetScatter() != nil },
	"step":      func(c *workerv1.Command) bool { return c.GetVectorStep() != nil },
}

// askVectors asks for one operation of every kind.
func askVectors(ctx context.Context, e *fleet.KMeansExecutor, p *vectorProblem) (any, error) {
	var moves []labeling.Move
	for lane := range p.lanes {
		for i := range p.spec.Rows {
			moves = append(moves, labeling.Move{Point: int32(i), From: labeling.None, To: int32(lane*p.k + i%p.k)})
		}
	}
	if err := e.Update(ctx, moves); err != nil {
		return nil, err
	}
	var points []int32 // one of every tile, because a worker whose tiles have none is not asked for distances
	for t := range partition.TileCount(p.spec.Rows) {
		points = append(points, int32(partition.Tile(p.spec.Rows, t).From))
	}
	var queries []vector.Query
	for lane := range p.lanes {
		m := &vector.Model{Distortion: p.distortion, Clusters: p.k, Centroids: make([]float64, p.k*p.spec.Columns)}
		copy(m.Centroids, p.data.(*dataset.Points).Values[lane*p.k:])
		counts := make([]int32, p.k)
		for i := range p.spec.Rows {
			counts[i%p.k]++
		}
		queries = append(queries, vector.Query{Lane: lane, Model: m, Points: points, Counts: counts,
			Kind: vector.Diagonal})
	}
	far, err := e.Farthest(ctx, queries)
	if err != nil {
		return nil, err
	}
	all := []any{far}
	two, err := e.NearestTwo(ctx, queries)
	if err != nil {
		return nil, err
	}
	all = append(all, two)
	for _, measure := range []func(context.Context, []vector.Query) ([][]float64, error){e.Distances, e.Nearest,
		e.Scatter} {
		values, err := measure(ctx, queries)
		if err != nil {
			return nil, err
		}
		all = append(all, values)
	}
	assigned, err := e.Assign(ctx, queries)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(assigned, func(a, b labeling.Move) int { return int(a.To)/p.k - int(b.To)/p.k })
	if err := e.Update(ctx, assigned); err != nil {
		return nil, err
	}
	all = append(all, assigned, slices.Clone(e.Clusters().Sums))
	for q := range queries { // so that some points move
		queries[q].Model = &vector.Model{Distortion: p.distortion, Clusters: p.k,
			Centroids: p.data.(*dataset.Points).Values[100+q:][:p.k*p.spec.Columns]}
	}
	stepped, err := e.Step(ctx, queries)
	return append(all, stepped, e.Clusters().Sums, e.Clusters().Labels), err
}

// The same for vectors. Sums that are wrong by one bit are found too: they are exact, and do not add up.
func TestAWrongWorkerIsExcludedFromVectors(t *testing.T) {
	p := newVectorProblem(t, randomPoints(t, liarRows, 4, 1), metric.SquaredEuclidean, false)
	ask := func(c *cluster) any {
		c.Helper()
		id, size := c.datasets.put(t, p.data)
		e, err := c.fleet.NewKMeansExecutor(c.ctx, p.task(id, size, nil))
		if err != nil {
			c.Fatal(err)
		}
		c.Cleanup(e.Release)
		got, err := askVectors(c.ctx, e, p)
		if err != nil {
			c.Fatal(err)
		}
		return got
	}
	honest := newCluster(t)
	honest.startWorker("a")
	want := ask(honest)
	test := func(name string, about func(*workerv1.Command) bool, lie func(*workerv1.Done)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.startWorker("a")
			l := c.startLiar("liar", about, lie)
			if got := ask(c); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			c.wantExcluded(l)
		})
	}
	for name, about := range vectorCommands {
		test(name, about, cutShort)
	}
	test("update by one bit", vectorCommands["update"], flipBit)
}

// claimRow makes a worker say that a row is in its tile that is in another one.
func claimRow(done *workerv1.Done) {
	values := done.GetValues().GetInline()
	has := map[uint32]bool{}
	for at := 0; at < len(values); at += 4 * (1 + neighborCount) {
		has[binary.LittleEndian.Uint32(values[at:])] = true
	}
	for at := 4; at < 4*(1+neighborCount); at += 4 {
		has[binary.LittleEndian.Uint32(values[at:])] = true // no row is its own neighbor
	}
	row := uint32(0)
	for has[row] {
		row++
	}
	binary.LittleEndian.PutUint32(values, row)
}

// A worker claims a row of another one, whichever of them answers first. Nobody knows which of them is wrong, so others
// search the tiles of both. Without others, the search ends with an error that names both.
func TestAWorkerClaimsARowOfAnother(t *testing.T) {
	// It has 28 tiles, so that each of up to 7 workers has some: of 22 tiles, six workers could have 4 each.
	p := &neighborProblem{data: randomPoints(t, 890, 5, 1)}
	for workers := 2; workers <= 7; workers++ {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, losing)
			l := c.startLiar("liar", func(c *workerv1.Command) bool { return c.GetNeighbors() != nil }, claimRow)
			for w := 1; w < workers; w++ {
				c.startWorker(fmt.Sprint("w", w))
			}
			if workers == 2 {
				_, _, err := c.fleet.Neighbors(c.ctx, p.task(c, nil))
				if !fault.Is(err, "WORKER_WRONG") || !strings.Contains(err.Error(), `"liar"`) ||
					!strings.Contains(err.Error(), `"w1"`) {
					t.Errorf("the search ended with %v", err)
				}
				return
			}
			p.check(c, p.task(c, nil))
			if lies := l.lies.Load(); lies != 1 {
				t.Errorf("the liar was asked %d times", lies)
			}
		})
	}
}
