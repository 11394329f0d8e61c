package loadtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// watchedJobs is how many jobs the watches share.
const watchedJobs = 4

// watches opens many watches over few connections, on jobs with one event a second, and measures how long after the
// worker's answer each event arrives. That includes making it durable, which coordinators do up to ten times a second.
func watches(ctx context.Context, cfg *Config) (rows []row, err error) {
	s, err := cfg.start(ctx, "watches", "--max-streams", fmt.Sprint(2*cfg.Streams))
	if err != nil {
		return nil, err
	}
	defer s.stop()
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	paced := &pacedWorker{pace: 950 * time.Millisecond}
	running.Go(func() { _ = paced.run(ctx, s.address, cfg.worker) })
	var clients []*client
	for range cfg.Connections {
		c, err := cfg.connect(s.address)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		clients = append(clients, c)
	}
	jobs, err := createWatched(ctx, clients[0])
	if err != nil {
		return nil, err
	}
	before, _ := s.memory()
	w := &watchers{paced: paced, arrivals: map[eventKey]*arrival{}, failed: make(chan error, 1)}
	opened := time.Now()
	for at := range cfg.Streams {
		stream, err := clients[at%len(clients)].jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: jobs[at%len(jobs)]})
		if err != nil {
			return nil, err
		}
		job := jobs[at%len(jobs)]
		w.open.Add(1)
		running.Go(func() { w.watch(job, stream.Recv) })
	}
	if err := w.wait(ctx, w.opened()); err != nil {
		return nil, err
	}
	rows = append(rows, row{fmt.Sprintf("%d watches over %d connections are open after", cfg.Streams, cfg.Connections),
		time.Since(opened).Round(time.Millisecond).String(), ""})
	time.Sleep(2 * time.Second) // what opening them has left is done
	used := s.processor()
	began := time.Now()
	w.begin()
	if err := w.wait(ctx, time.After(time.Duration(cfg.Seconds)*time.Second)); err != nil {
		return rows, err
	}
	events, delays := w.end()
	now, peak := s.memory()
	share := (s.processor() - used).Seconds() / time.Since(began).Seconds()
	return append(rows,
		row{"events delivered a second", fmt.Sprintf("%.0f (%d in all)", float64(events)/time.Since(began).Seconds(),
			events), fmt.Sprintf("%d", cfg.Streams)},
		row{"from the worker's answer to the client", delays.String(), "p99 under 250ms"},
		row{"memory of the coordinator", fmt.Sprintf("%.0f MiB, at most %.0f, before %.0f", now, peak, before),
			"400 MiB"},
		row{"processors of the coordinator", fmt.Sprintf("%.2f", share), ""},
	), nil
}

// createWatched creates the jobs that are watched.
func createWatched(ctx context.Context, c *client) (jobs []string, err error) {
	data, err := c.uploadGrid(ctx, 120)
	if err != nil {
		return nil, err
	}
	for seed := range watchedJobs {
		spec := kmeans(data, 100)
		spec.Seed = uint64(seed)
		created, err := c.jobs.CreateJob(ctx, &cleavev1.CreateJobRequest{Spec: spec})
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, created.GetJob().GetJobId())
	}
	return jobs, nil
}

// eventKey is an event of one of the jobs.
type eventKey struct {
	job      string
	sequence uint32
}

// arrival is when an event was made, and how long it took to each of the watches.
type arrival struct {
	made   time.Time
	delays latencies
}

// watchers notes when events arrive.
type watchers struct {
	paced  *pacedWorker
	open   sync.WaitGroup
	failed chan error

	mu       sync.Mutex
	counting bool
	arrivals map[eventKey]*arrival
}

// watch reads one watch. Its first message says that it is open.
func (w *watchers) watch(job string, receive func() (*cleavev1.WatchJobResponse, error)) {
	var once sync.Once
	for {
		item, err := receive()
		if err != nil {
			select {
			case w.failed <- fmt.Errorf("a watch ended: %w", err):
			default:
			}
			return
		}
		once.Do(w.open.Done)
		if event := item.GetEvent(); event != nil {
			w.note(eventKey{job, event.GetSequence()}, time.Now())
		}
	}
}

// note notes the arrival of an event. The first one to arrive follows the worker's last answer.
func (w *watchers) note(key eventKey, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.counting {
		return
	}
	a := w.arrivals[key]
	if a == nil {
		a = &arrival{made: w.paced.lastAnswer(key.job)}
		w.arrivals[key] = a
	}
	a.delays = append(a.delays, now.Sub(a.made))
}

// opened returns a channel that is closed when all watches are open.
func (w *watchers) opened() <-chan time.Time {
	done := make(chan time.Time)
	go func() {
		w.open.Wait()
		close(done)
	}()
	return done
}

// wait waits, unless a watch fails.
func (w *watchers) wait(ctx context.Context, until <-chan time.Time) error {
	select {
	case <-until:
		return nil
	case err := <-w.failed:
		return err
	case <-ctx.Done():
		return errors.New("interrupted")
	}
}

func (w *watchers) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counting = true
}

// end returns how many events arrived, and how long they took.
func (w *watchers) end() (events int, delays latencies) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counting = false
	for _, a := range w.arrivals {
		delays = append(delays, a.delays...)
	}
	return len(delays), delays
}
