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
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/tools/measure"
)

// delivery is a kind of job that a data set is sent for.
type delivery struct {
	name   string
	whole  bool // every worker needs all rows; otherwise it needs those of its tiles
	make   func(bytes int64) (dataset.Dataset, error)
	define func(*cleavev1.JobSpec)
}

// deliveries are the jobs whose data sets are sent: a search for neighbors, and k-means.
var deliveries = []delivery{
	{"neighbors: all rows", true, denseOf, families[3].define},
	{"k-means: rows of its tiles", false, denseOf, families[1].define},
	{"k-means, sparse points: rows of its tiles", false, sparseOf, families[1].define},
}

// denseOf returns dense points of about this many bytes, which cannot be compressed. The first column is the number of
// the row, so that the neighbors of a row are near it and are found at once: otherwise workers that have all rows would
// take the processors from those that still fetch them, for hours.
func denseOf(bytes int64) (dataset.Dataset, error) {
	return dataset.MakePoints(context.Background(), int(bytes/(8*columns)), columns,
		func(from, to int, values []float64) error {
			for at := range values {
				values[at] = math.Sin(float64(from*columns+at) * 0.37)
			}
			for i := from; i < to; i++ {
				values[(i-from)*columns] = float64(i)
			}
			return nil
		})
}

// sparseOf returns sparse points of about this many bytes. Like words of texts, few columns are in most rows, and most
// columns in few.
func sparseOf(bytes int64) (dataset.Dataset, error) {
	const words, vocabulary = 120, 50_000
	random := rand.New(rand.NewPCG(1, 1))
	starts := []int64{0}
	columns := []int32(nil)
	values := []float64(nil)
	for int64(8*len(starts)+12*len(columns)) < bytes {
		last := int32(-1)
		for word := range words {
			share := (float64(word) + random.Float64()) / words
			if column := int32(vocabulary * share * share * share); column > last {
				columns = append(columns, column)
				values = append(values, 0.1+random.Float64())
				last = column
			}
		}
		starts = append(starts, int64(len(columns)))
	}
	return dataset.NewSparsePoints(len(starts)-1, vocabulary, starts, columns, values)
}

// transfer is how a data set came to its workers.
type transfer struct {
	seconds              float64       // until all have what they need
	sent                 float64       // bytes that the coordinator sent
	received             []float64     // bytes that each worker received
	coordinator, workers time.Duration // processor time
	memory               int64         // the most that a worker took
}

// distributionGoal is how much longer all workers may wait for a data set than one. Every link sends it twice.
const distributionGoal = 2.5

// measureDistribution times how a data set comes to one worker, and to all of them.
func measureDistribution(ctx context.Context, cfg *Config, text *strings.Builder) error {
	if err := cfg.checkMemory(); err != nil {
		return err
	}
	fmt.Fprintf(text,
		"A data set of %s, %s, the fastest of %d runs. For neighbors, times are until all workers have all rows, and "+
			"the goal is at most %.1f times the time of one. "+
			"For k-means, they are until the first iteration is done. CPU is the processor time until then, since "+
			"the job was submitted, and memory the most that a worker took.\n",
		bytesText(float64(cfg.DatasetBytes)), cfg.security(), max(1, cfg.Rounds), distributionGoal)
	measure.Head(text, "job", "links", "workers", "after", "times one", "the coordinator sends", "a worker receives",
		"CPU coordinator", "CPU workers", "memory of a worker")
	for _, d := range deliveries {
		data, err := d.make(cfg.DatasetBytes)
		if err == nil {
			err = cfg.measureDelivery(ctx, d, data, text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return nil
}

// checkMemory refuses a data set that the machine cannot hold as often as needed. Without enough memory for its files,
// the machine hardly makes progress.
func (cfg *Config) checkMemory() error {
	// of each worker and its copy for the search, of the coordinator, and of this program
	need := int64(2*cfg.Workers+5) * cfg.DatasetBytes
	if free := measure.AvailableMemory(); free > 0 && free < need {
		return fmt.Errorf("%s to %d workers need about %s of memory in all, and the machine has %s: give a smaller "+
			"-dataset-bytes or fewer -workers",
			bytesText(float64(cfg.DatasetBytes)), cfg.Workers, bytesText(float64(need)), bytesText(float64(free)))
	}
	return nil
}

// measureDelivery times how a data set comes to one worker, and to all of them, for one kind of job.
func (cfg *Config) measureDelivery(ctx context.Context, d delivery, data dataset.Dataset, text *strings.Builder) error {
	best := map[string]map[int]transfer{}
	err := cfg.repeated(func(speed string) error {
		for _, workers := range []int{1, cfg.Workers} {
			found, err := cfg.distribute(ctx, d, data, speed, workers)
			if err != nil {
				return err
			}
			cfg.Say("%-9s %s: %d workers have their part of %s after %s", speed, d.name, workers,
				bytesText(float64(cfg.DatasetBytes)), seconds(found.seconds))
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
			measure.Row(text, d.name, speed, fmt.Sprint(workers), seconds(t.seconds),
				fmt.Sprintf("%.2f", t.seconds/best[speed][1].seconds),
				bytesText(t.sent), bytesText(slices.Max(t.received)), seconds(t.coordinator.Seconds()),
				seconds(t.workers.Seconds()), bytesText(float64(t.memory)))
		}
	}
	return nil
}

// progressEvery is how often a long transfer reports its progress.
const progressEvery = 10 * time.Second

// distribute starts a job on a new cluster, and waits until every worker has what it needs: as many bytes as the data
// set has, or the rows for a first iteration. It does not wait for the end of the job.
func (cfg *Config) distribute(ctx context.Context, d delivery, data dataset.Dataset, speed string,
	workers int) (t transfer, err error) {
	size := float64(dataset.EncodedSize(data))
	memory := fmt.Sprintf("%dMiB", 1024+int64(4*size)>>20) // for the data set and its tiles, also on one worker
	c, err := cfg.start(ctx, speed, workers, memory)
	if err != nil {
		return t, err
	}
	defer c.stop()
	stored, err := wire.SendDataset(ctx, cleavev1.NewDatasetServiceClient(c.ClientConn), "points", data,
		wire.UploadStart{})
	if err != nil {
		return t, err
	}
	before, err := c.observe()
	if err != nil {
		return t, err
	}
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
	report := time.NewTicker(progressEvery)
	defer tick.Stop()
	defer report.Stop()
	for done := false; ; {
		said := false
		select {
		case err := <-ended:
			return t, errors.Join(fmt.Errorf("the data set did not reach all workers: %w", err), c.said())
		case <-iterated:
			done = true
		case <-report.C:
			said = true
		case <-tick.C:
		}
		now, err := c.traffic()
		if err != nil {
			return t, err
		}
		since := now.since(before.bytes)
		if sending.IsZero() && since.sent[0] > size/100 {
			sending = time.Now()
			cfg.Say("%-9s the first bytes leave after %s", speed, seconds(sending.Sub(before.at).Seconds()))
		}
		if said {
			cfg.Say("%-9s after %s: the coordinator has sent %s, workers have received %s to %s", speed,
				seconds(time.Since(before.at).Seconds()),
				bytesText(since.sent[0]), bytesText(slices.Min(since.received[1:])),
				bytesText(slices.Max(since.received[1:])))
		}
		if done || d.whole && slices.Min(since.received[1:]) >= size {
			return c.transferred(before, sending)
		}
	}
}

// transferred returns what a transfer took that began to send at a time.
func (c *cluster) transferred(before observation, sending time.Time) (transfer, error) {
	now, err := c.observe()
	since := now.bytes.since(before.bytes)
	t := transfer{
		seconds: now.at.Sub(sending).Seconds(), sent: since.sent[0], received: since.received[1:],
		coordinator: now.coordinator - before.coordinator, workers: now.workers - before.workers,
	}
	for _, process := range c.processes[1:] {
		_, peak := measure.Memory(process.Process.Pid)
		t.memory = max(t.memory, peak)
	}
	return t, err
}

// progress returns two channels: one receives something after the first iteration of a job, the other why it has ended.
func (c *cluster) progress(ctx context.Context, job string) (iterated <-chan struct{}, ended <-chan error) {
	first := make(chan struct{}, 1)
	end := make(chan error, 1)
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
