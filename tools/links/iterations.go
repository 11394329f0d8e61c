package links

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/tools/measure"
	"github.com/cleave-project/cleave/tools/simulate/model"
)

const (
	columns   = 64
	clusters  = 10
	landmarks = 256
	neighbors = 10

	calibrationRows = 50_000
	roundTrip       = 0.2e-3 // seconds that an operation waits for the network
)

// family is a kind of job whose iterations are measured.
type family struct {
	name    string
	rows    func(*Config) int
	columns int
	define  func(*cleavev1.JobSpec)
	// What the model of package simulate knows about it.
	operations float64                                                 // of an iteration
	calibrate  func(ctx context.Context, rank int) (model.Cost, error) // rank is that of kernel features
}

var families = []family{
	{
		name: "kernel k-means, full matrix", rows: kernelRows, columns: columns, operations: 2,
		define: func(s *cleavev1.JobSpec) {
			s.Algorithm = &cleavev1.JobSpec_KernelKmeans{
				KernelKmeans: &cleavev1.KernelKmeans{LocalSearch: proto.Uint32(0)}}
			s.Initialization = &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM}
		},
		calibrate: func(ctx context.Context, _ int) (model.Cost, error) {
			return model.Dense(ctx, calibrationRows/8, columns, clusters)
		},
	},
	{
		name: "k-means", rows: rows, columns: columns, operations: 4,
		define: func(s *cleavev1.JobSpec) {
			s.Algorithm = &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}}
			s.Initialization = &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM}
		},
		calibrate: func(ctx context.Context, _ int) (model.Cost, error) {
			return model.Vectors(ctx, calibrationRows, columns, clusters)
		},
	},
	{
		name: fmt.Sprintf("kernel k-means, %d landmarks", landmarks), rows: rows, columns: 8, operations: 4,
		define: func(s *cleavev1.JobSpec) {
			s.Algorithm = &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{Landmarks: landmarks}}
		},
		calibrate: func(ctx context.Context, rank int) (model.Cost, error) {
			return model.Vectors(ctx, calibrationRows, rank, clusters)
		},
	},
	{
		name: fmt.Sprintf("kernel k-means, %d neighbors", neighbors), rows: rows, columns: 8, operations: 2,
		define: func(s *cleavev1.JobSpec) {
			s.Algorithm = &cleavev1.JobSpec_KernelKmeans{
				KernelKmeans: &cleavev1.KernelKmeans{LocalSearch: proto.Uint32(0)}}
			s.Initialization = &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM}
			s.NeighborGraph = &cleavev1.NeighborGraph{Neighbors: proto.Uint32(neighbors)}
		},
		calibrate: func(ctx context.Context, _ int) (model.Cost, error) {
			return model.Graph(ctx, calibrationRows, 2*neighbors, clusters)
		},
	},
}

func kernelRows(cfg *Config) int { return cfg.KernelRows }

func rows(cfg *Config) int { return cfg.Rows }

// iterations is what the iterations of one job took.
type iterations struct {
	count      int
	perStep    float64 // seconds of an iteration, without the first
	job        float64 // seconds of the job
	moved      float64 // points moved in an iteration
	bytes      traffic // of the machines in an iteration
	processors float64 // processor time of the coordinator in an iteration
	workers    float64 // processor time of all workers in an iteration
	rank       int     // of kernel features
}

// measureIterations times the iterations of each family at each speed.
func measureIterations(ctx context.Context, cfg *Config, text *strings.Builder) error {
	fmt.Fprintf(text, "%d workers of 1 thread and %s, %s, k = %d, %d iterations, the fastest of %d runs. Shares are "+
		"of the unshaped speed.\n",
		cfg.Workers, cfg.Memory, cfg.security(), clusters, cfg.Iterations, max(1, cfg.Rounds))
	var compared strings.Builder
	measure.Head(text, "job", "links", "iteration", "speed", "moved", "coordinator sends", "a worker sends",
		"CPU coordinator", "CPU workers", "job in all")
	for _, f := range families {
		points, err := square(f.rows(cfg), f.columns)
		if err != nil {
			return err
		}
		best := map[string]*iterations{}
		err = cfg.repeated(func(speed string) error {
			found, err := cfg.iterate(ctx, f, points, speed)
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			cfg.Say("%-32s %-9s %s an iteration, %d iterations", f.name, speed, seconds(found.perStep), found.count)
			if b := best[speed]; b == nil || found.perStep < b.perStep {
				best[speed] = found
			}
			return nil
		})
		if err != nil {
			return err
		}
		cost, err := f.calibrate(ctx, best[cfg.Speeds[0]].rank)
		if err != nil {
			return err
		}
		for _, speed := range cfg.Speeds {
			b, share := best[speed], "-"
			if free := best[unshaped]; free != nil {
				share = fmt.Sprintf("%.0f %%", 100*free.perStep/b.perStep)
			}
			measure.Row(text, fmt.Sprintf("%s, n = %d, d = %d", f.name, points.N, points.D), speed, seconds(b.perStep),
				share, fmt.Sprintf("%.0f", b.moved),
				bytesText(b.bytes.sent[0]), bytesText(slices.Max(b.bytes.sent[1:])), seconds(b.processors),
				seconds(b.workers), seconds(b.job))
			modeled, err := b.modeled(cfg, f, cost, points.N, speed)
			if err != nil {
				return err
			}
			measure.Row(&compared, f.name, speed, seconds(b.perStep), seconds(modeled),
				fmt.Sprintf("%.2f", modeled/b.perStep))
		}
	}
	text.WriteString("\nThe model of the simulation, with the coordinator's processor time, the bytes and the moves " +
		"as measured here:\n")
	measure.Head(text, "job", "links", "measured", "modeled", "ratio")
	text.WriteString(compared.String())
	return nil
}

// modeled returns what the model says about an iteration. All workers share the cores of this machine.
func (i *iterations) modeled(cfg *Config, f family, cost model.Cost, rows int, speed string) (float64, error) {
	links := model.Links{BytesPerSecond: math.Inf(1), RoundTrip: roundTrip}
	if speed != unshaped {
		var gigabits float64
		if _, err := fmt.Sscanf(speed, "%ggbit", &gigabits); err != nil {
			return 0, fmt.Errorf("the model needs a speed such as 1gbit, not %q", speed)
		}
		links.BytesPerSecond = gigabits * 1e9 / 8
	}
	moves := i.moved
	if cost.Entry > 0 && kernel.FullSweepIsCheaper(rows, int(moves)) {
		moves = float64(rows)
	}
	sharing := max(1, float64(cfg.Workers)/float64(runtime.NumCPU()))
	return model.Iteration{
		CPU: i.processors, Out: i.bytes.sent[0], In: i.bytes.received[0], Operations: f.operations,
		WorkerOut: slices.Max(i.bytes.sent[1:]), WorkerIn: slices.Max(i.bytes.received[1:]),
		Compute: sharing * cost.Compute(float64(rows)/float64(cfg.Workers), float64(rows), moves, 1),
	}.Seconds(links), nil
}

// square returns points that fill a square evenly, in the first two columns. Nothing separates them, so jobs make many
// iterations before they converge.
func square(rows, columns int) (*dataset.Points, error) {
	rng := rand.New(rand.NewPCG(1, 1))
	values := make([]float64, rows*columns)
	for at := range values {
		if values[at] = rng.Float64(); at%columns >= 2 {
			values[at] /= 100
		}
	}
	return dataset.NewPoints(rows, columns, values)
}

// security says how connections are encrypted.
func (cfg *Config) security() string {
	if cfg.TLS {
		return "with TLS"
	}
	return "without TLS"
}

// iterate runs a job on a new cluster.
func (cfg *Config) iterate(ctx context.Context, f family, points *dataset.Points, speed string) (*iterations, error) {
	c, err := cfg.start(ctx, speed, cfg.Workers, cfg.Memory)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	stored, err := wire.SendDataset(ctx, cleavev1.NewDatasetServiceClient(c.ClientConn), "points", points,
		wire.UploadStart{})
	if err != nil {
		return nil, err
	}
	spec := &cleavev1.JobSpec{
		Data: &cleavev1.JobSpec_DatasetId{DatasetId: stored.GetDatasetId()}, Clusters: &cleavev1.JobSpec_K{K: clusters},
		Restarts: 1, MaxIterations: proto.Uint32(uint32(cfg.Iterations)),
	}
	f.define(spec)
	return c.watch(ctx, spec)
}

// watch runs a job and measures its iterations after the first.
func (c *cluster) watch(ctx context.Context, spec *cleavev1.JobSpec) (*iterations, error) {
	submitted := time.Now()
	created, err := c.jobs.CreateJob(ctx, &cleavev1.CreateJobRequest{Spec: spec})
	if err != nil {
		return nil, err
	}
	stream, err := c.jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: created.GetJob().GetJobId()})
	if err != nil {
		return nil, err
	}
	found, first, moved := &iterations{}, observation{}, 0.0
	for {
		item, err := stream.Recv()
		if err != nil {
			return nil, errors.Join(err, c.said())
		}
		event := item.GetEvent()
		if ended := event.GetEnded(); ended != nil {
			if ended.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
				return nil, fmt.Errorf("the job failed: %s", ended.GetError().GetMessage())
			}
			if found.count < 2 {
				return nil, errors.New("the job converged at once: there are no iterations to measure")
			}
			found.job = time.Since(submitted).Seconds()
			result, err := c.jobs.GetResult(ctx, &cleavev1.GetResultRequest{JobId: created.GetJob().GetJobId()})
			found.rank = int(result.GetResult().GetLandmarks().GetRank())
			return found, err
		}
		step := event.GetIteration()
		if step.GetIteration() == 0 {
			continue
		}
		now, err := c.observe()
		if err != nil {
			return nil, err
		}
		if found.count++; found.count == 1 {
			first = now
			continue
		}
		moved += float64(step.GetMoved())
		found.between(first, now)
		found.moved = moved / float64(found.count-1)
	}
}

// observation is the state of a cluster at the end of an iteration.
type observation struct {
	at                   time.Time
	bytes                traffic
	coordinator, workers time.Duration // processor time
}

func (c *cluster) observe() (o observation, err error) {
	o.at = time.Now()
	for at, process := range c.processes {
		used := measure.Processor(process.Process.Pid)
		if at == 0 {
			o.coordinator = used
		} else {
			o.workers += used
		}
	}
	o.bytes, err = c.traffic()
	return o, err
}

// between sets the means per iteration from the first iteration to now.
func (i *iterations) between(first, now observation) {
	steps := float64(i.count - 1)
	i.perStep = now.at.Sub(first.at).Seconds() / steps
	i.processors = (now.coordinator - first.coordinator).Seconds() / steps
	i.workers = (now.workers - first.workers).Seconds() / steps
	i.bytes = now.bytes.since(first.bytes)
	for at := range i.bytes.sent {
		i.bytes.sent[at] = math.Round(i.bytes.sent[at] / steps)
		i.bytes.received[at] = math.Round(i.bytes.received[at] / steps)
	}
}
