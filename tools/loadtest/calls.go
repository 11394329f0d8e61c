package loadtest

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/wire"
)

// callConnections is how many connections calls are spread over.
const callConnections = 16

// bench is a coordinator without workers, so that all jobs wait, and connections to it.
type bench struct {
	*server
	clients []*client
	data    string
}

func (cfg *Config) startBench(ctx context.Context, dir string) (*bench, error) {
	s, err := cfg.start(ctx, dir, "--max-queued", "0", "--max-queued-per-owner", "0")
	if err != nil {
		return nil, err
	}
	b := &bench{server: s}
	for range callConnections {
		c, err := cfg.connect(s.address)
		if err != nil {
			return nil, err
		}
		b.clients = append(b.clients, c)
	}
	b.data, err = b.clients[0].uploadGrid(ctx, 10)
	return b, err
}

func (b *bench) close() {
	for _, c := range b.clients {
		c.Close()
	}
	b.stop()
}

// submit creates a job, as cleave does: with a request id.
func (b *bench) submit(ctx context.Context, at int) (string, error) {
	created, err := b.clients[at%len(b.clients)].jobs.CreateJob(ctx, &cleavev1.CreateJobRequest{Spec: kmeans(b.data, 3),
		RequestId: uuid.NewString()})
	return created.GetJob().GetJobId(), err
}

// judge says what became of a call by its error.
func judge(err error) (verdict, error) {
	_, again := wire.RetryDelay(err)
	switch {
	case err == nil:
		return accepted, nil
	case status.Code(err) == codes.ResourceExhausted && again:
		return refused, err
	}
	return failed, err
}

// submitMany creates jobs, half of which have ended, and returns their ids.
func (b *bench) submitMany(ctx context.Context) (jobs []string, err error) {
	for at := range 100 {
		id, err := b.submit(ctx, at)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, id)
	}
	for _, id := range jobs[:50] {
		if _, err := b.clients[0].jobs.CancelJob(ctx, &cleavev1.CancelJobRequest{JobId: id}); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// look returns a function that looks at one of some jobs by gRPC.
func (b *bench) look(jobs []string) func(ctx context.Context, at int) (verdict, error) {
	return func(ctx context.Context, at int) (verdict, error) {
		_, err := b.clients[at%len(b.clients)].jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobs[at%len(jobs)]})
		return judge(err)
	}
}

// calls looks at jobs at a steady rate.
func calls(ctx context.Context, cfg *Config) ([]row, error) {
	b, err := cfg.startBench(ctx, "calls")
	if err != nil {
		return nil, err
	}
	defer b.close()
	jobs, err := b.submitMany(ctx)
	if err != nil {
		return nil, err
	}
	used := b.processor()
	o := openLoop(ctx, float64(cfg.Calls), cfg.Seconds, b.look(jobs))
	return []row{
		{fmt.Sprintf("%d GetJob a second, answered", cfg.Calls), fmt.Sprintf("%.0f/s, %d refused, %d failed", o.rate(),
			len(o.refused), o.others), ""},
		{"their latency", o.accepted.String(), "p99 under 20ms"},
		{"processors of the coordinator", fmt.Sprintf("%.2f", (b.processor()-used).Seconds()/o.took.Seconds()), ""},
	}, o.lastError
}

// submits finds how many jobs a second are taken, and what happens when twice as many come.
func submits(ctx context.Context, cfg *Config) ([]row, error) {
	b, err := cfg.startBench(ctx, "submits")
	if err != nil {
		return nil, err
	}
	defer b.close()
	call := func(ctx context.Context, at int) (verdict, error) {
		_, err := b.submit(ctx, at)
		return judge(err)
	}
	used := b.processor()
	steady := openLoop(ctx, 200, cfg.Seconds, call)
	used = b.processor() - used
	peak := closedLoop(ctx, 64, cfg.Seconds, call)
	over := openLoop(ctx, 2*peak.rate(), cfg.Seconds, call)
	now, _ := b.memory()
	return []row{
		{"200 durable submits a second, answered", fmt.Sprintf("%.0f/s, %d refused", steady.rate(),
			len(steady.refused)), "200/s"},
		{"their latency", steady.accepted.String(), ""},
		{"processors of the coordinator", fmt.Sprintf("%.2f", used.Seconds()/steady.took.Seconds()), ""},
		{"64 clients, one submit after the other", fmt.Sprintf("%.0f/s, %d refused", peak.rate(), len(peak.refused)),
			""},
		{fmt.Sprintf("at %.0f submits a second, taken", 2*peak.rate()),
			fmt.Sprintf("%.0f/s (%.0f%% of peak), %d refused", over.rate(), 100*over.rate()/peak.rate(),
				len(over.refused)), "80% of peak"},
		{"latency of those taken", over.accepted.String(), ""},
		{"latency of refusals", over.refused.String(), "p99 within 50ms"},
		{"memory of the coordinator at the end", fmt.Sprintf("%.0f MiB", now), ""},
	}, errorOf(steady, peak, over)
}

// errorOf returns an error of calls that were neither answered nor refused.
func errorOf(outcomes ...*outcome) error {
	for _, o := range outcomes {
		if o.others > 0 {
			return fmt.Errorf("%d calls failed: %w", o.others, o.lastError)
		}
	}
	return nil
}
