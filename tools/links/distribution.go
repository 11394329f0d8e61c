package links

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/tools/measure"
)

// delivery is a kind of job that a data set is sent for.
type delivery struct {
	name   string
	whole  bool // every worker needs all rows; otherwise it needs those of its tiles
	define func(*cleavev1.JobSpec)
}

// deliveries returns the jobs whose data sets are sent: a search for neighbors, and k-means.
func deliveries() []delivery {
	return []delivery{{"neighbors: all rows", true, families[3].define}, {"k-means: rows of its tiles", false, families[1].define}}
}

// transfer is how a data set came to its workers.
type transfer struct {
	seconds  float64   // until all have what they need
	sent     float64   // bytes that the coordinator sent
	received []float64 // bytes that each worker received
}

// distributionGoal is how much longer all workers may wait for a data set than one.
const distributionGoal = 1.5

// measureDistribution times how a data set comes to one worker, and to all of them.
func measureDistribution(ctx context.Context, cfg *Config, text *strings.Builder) error {
	rows := int(cfg.DatasetBytes / (8 * columns))
	points, err := dataset.MakePoints(rows, columns, func(from, _ int, values []float64) error {
		for at := range values { // no two rows are equal, and nothing can be compressed
			values[at] = math.Sin(float64(from*columns+at) * 0.37)
		}
		return nil
	})
	if err != nil {
		return err
	}
	size := float64(8 * rows * columns)
	fmt.Fprintf(text, "A data set of %s, %s, the fastest of %d runs. For neighbors, times are until all workers have all rows, and the goal is at most %.1f times the time of one. "+
		"For k-means, they are until the first iteration is done.\n",
		bytesText(size), cfg.security(), max(1, cfg.Rounds), distributionGoal)
	measure.Head(text, "job", "links", "workers", "after", "times one", "the coordinator sends", "a worker receives")
	for _, d := range deliveries() {
		if err := cfg.measureDelivery(ctx, d, points, size, text); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return nil
}

// measureDelivery times how a data set comes to one worker, and to all of them, for one kind of job.
func (cfg *Config) measureDelivery(ctx context.Context, d delivery, points *dataset.Points, size float64, text *strings.Builder) error {
	best := map[string]map[int]transfer{}
	err := cfg.repeated(func(speed string) error {
		for _, workers := range []int{1, cfg.Workers} {
			found, err := cfg.distribute(ctx, d, points, size, speed, workers)
			if err != nil {
				return err
			}
			cfg.Say("%-9s %s: %d workers have their part of %s after %s", speed, d.name, workers, bytesText(size), seconds(found.seconds))
			if best[speed] == nil {
				best[speed] = map[int]transfer{}
			}
			if b, there := best[speed][workers]; !there || found.seconds < b.seconds {
				best[speed][workers] = found
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, speed := range cfg.Speeds {
		for _, workers := range slices.Compact([]int{1, cfg.Workers}) {
			t := best[speed][workers]
			measure.Row(text, d.name, speed, fmt.Sprint(workers), seconds(t.seconds), fmt.Sprintf("%.2f", t.seconds/best[speed][1].seconds),
				bytesText(t.sent), bytesText(slices.Max(t.received)))
		}
	}
	return nil
}

// distribute starts a job on a new cluster, and waits until every worker has what it needs: as many bytes as the data set
// has, or the rows for a first iteration.
func (cfg *Config) distribute(ctx context.Context, d delivery, points *dataset.Points, size float64, speed string, workers int) (t transfer, err error) {
	memory := fmt.Sprintf("%dMiB", 1024+int64(4*size)>>20) // for the data set and its tiles, also on one worker
	c, err := cfg.start(ctx, speed, workers, memory)
	if err != nil {
		return t, err
	}
	defer c.stop()
	stored, err := wire.SendDataset(ctx, cleavev1.NewDatasetServiceClient(c.ClientConn), "points", points)
	if err != nil {
		return t, err
	}
	before, err := c.traffic()
	if err != nil {
		return t, err
	}
	began := time.Now()
	spec := &cleavev1.JobSpec{
		Data: &cleavev1.JobSpec_DatasetId{DatasetId: stored.GetDatasetId()}, Clusters: &cleavev1.JobSpec_K{K: 2},
		Restarts: 1, MaxIterations: proto.Uint32(100),
	}
	d.define(spec)
	created, err := c.jobs.CreateJob(ctx, &cleavev1.CreateJobRequest{Spec: spec})
	if err != nil {
		return t, err
	}
	iterated, ended := c.progress(ctx, created.GetJob().GetJobId())
	sending := time.Time{} // when the first bytes left: before that the coordinator reads the data set itself
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for done := false; ; {
		select {
		case err := <-ended:
			return t, errors.Join(fmt.Errorf("the data set did not reach all workers: %w", err), c.said())
		case <-iterated:
			done = true
		case <-tick.C:
		}
		now, err := c.traffic()
		if err != nil {
			return t, err
		}
		since := now.since(before)
		if sending.IsZero() && since.sent[0] > size/100 {
			sending = time.Now()
			cfg.Say("%-9s the first bytes leave after %s", speed, seconds(sending.Sub(began).Seconds()))
		}
		if done || d.whole && slices.Min(since.received[1:]) >= size {
			return transfer{time.Since(sending).Seconds(), since.sent[0], since.received[1:]}, nil
		}
	}
}

// progress returns two channels: one receives something after the first iteration of a job, the other why it has ended.
func (c *cluster) progress(ctx context.Context, job string) (iterated <-chan struct{}, ended <-chan error) {
	first, end := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		stream, err := c.jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: job})
		for err == nil {
			var item *cleavev1.WatchJobResponse
			if item, err = stream.Recv(); item.GetEvent().GetEnded() != nil {
				err = fmt.Errorf("the job ended: %s", item.GetEvent().GetEnded().GetError().GetMessage())
			}
			if item.GetEvent().GetIteration().GetIteration() == 1 {
				first <- struct{}{}
			}
		}
		end <- err
	}()
	return first, end
}
