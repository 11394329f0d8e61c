package links

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/tools/measure"
)

const (
	columns   = 64
	clusters  = 10
	landmarks = 256
	neighbors = 10
)

// family is a kind of job whose iterations are measured. Its data has groups that overlap so much that the job does not
// converge within a few iterations.
type family struct {
	name    string
	rows    func(*Config) int
	columns int
	spread  float64
	define  func(*cleavev1.JobSpec)
}

var families = []family{
	{"kernel k-means, full matrix", func(cfg *Config) int { return cfg.KernelRows }, columns, 10, func(s *cleavev1.JobSpec) {
		s.Algorithm = &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{LocalSearch: proto.Uint32(0)}}
		s.Initialization = &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM}
	}},
	{"k-means", func(cfg *Config) int { return cfg.Rows }, columns, 6, func(s *cleavev1.JobSpec) {
		s.Algorithm = &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}}
		s.Initialization = &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM}
	}},
	{fmt.Sprintf("kernel k-means, %d landmarks", landmarks), func(cfg *Config) int { return cfg.Rows }, 8, 6, func(s *cleavev1.JobSpec) {
		s.Algorithm = &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{Landmarks: landmarks}}
	}},
	{fmt.Sprintf("kernel k-means, %d neighbors", neighbors), func(cfg *Config) int { return cfg.Rows }, 8, 6, func(s *cleavev1.JobSpec) {
		s.Algorithm = &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{LocalSearch: proto.Uint32(0)}}
		s.Initialization = &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM}
		s.NeighborGraph = &cleavev1.NeighborGraph{Neighbors: proto.Uint32(neighbors)}
	}},
}

// iterations is what the iterations of one job took.
type iterations struct {
	count      int
	perStep    float64 // seconds of an iteration, without the first
	job        float64 // seconds of the job
	moved      float64 // points moved in an iteration
	bytes      traffic // of the machines in an iteration
	processors float64 // processor time of the coordinator in an iteration
	workers    float64 // processor time of all workers in an iteration
}

// measureIterations times the iterations of each family at each speed.
func measureIterations(ctx context.Context, cfg *Config, text *strings.Builder) error {
	fmt.Fprintf(text, "%d workers of 1 thread and %s, %s, k = %d, %d iterations, the fastest of %d runs. Shares are of the unshaped speed.\n",
		cfg.Workers, cfg.Memory, cfg.security(), clusters, cfg.Iterations, max(1, cfg.Rounds))
	measure.Head(text, "job", "links", "iteration", "speed", "moved", "coordinator sends", "a worker sends", "CPU coordinator", "CPU workers", "job in all")
	for _, f := range families {
		points, _, err := synth.Gaussians(f.rows(cfg), f.columns, clusters, f.spread, rand.New(rand.NewPCG(1, 1)))
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
		for _, speed := range cfg.Speeds {
			b, share := best[speed], "-"
			if free := best[unshaped]; free != nil {
				share = fmt.Sprintf("%.0f %%", 100*free.perStep/b.perStep)
			}
			measure.Row(text, fmt.Sprintf("%s, n = %d, d = %d", f.name, points.N, points.D), speed, seconds(b.perStep), share, fmt.Sprintf("%.0f", b.moved),
				bytesText(b.bytes.sent[0]), bytesText(slices.Max(b.bytes.sent[1:])), seconds(b.processors), seconds(b.workers), seconds(b.job))
		}
	}
	return nil
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
	c, err := cfg.start(ctx, speed, cfg.Workers)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	stored, err := wire.SendDataset(ctx, cleavev1.NewDatasetServiceClient(c.ClientConn), "points", points)
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
			return found, nil
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
