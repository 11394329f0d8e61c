package worker

import (
	"strings"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/worker/exchange"
)

// gauges returns the current values of the gauges.
func (w *worker) gauges() observe.WorkerGauges {
	w.memory.mu.Lock()
	defer w.memory.mu.Unlock()
	return observe.WorkerGauges{
		Attached: w.attached.Load(), Jobs: int(w.jobs.Load()), UsedBytes: w.memory.used, LimitBytes: w.memory.limit,
	}
}

// exchangeConfig returns how the exchange of data sets reports what it does.
func (w *worker) exchangeConfig() exchange.Config {
	return exchange.Config{
		Logger: w.log,
		Served: w.cfg.Observe.Served,
		Take:   w.memory.takeSpare,
		Free:   w.memory.free,
		Arrived: func(source string, bytes int) {
			w.received.Add(1)
			if bytes > 0 {
				w.cfg.Observe.Piece(source, bytes)
			}
			if source == exchange.FromCoordinator {
				w.heard.Add(1)
				w.cfg.Observe.Fetched("dataset", bytes)
			}
		},
	}
}

// publicID returns the job id that users see. The executors of one job have different ids on workers.
func (j *job) publicID() string {
	id, _, _ := strings.Cut(j.id, "#")
	return id
}

// observe begins to observe a command; the returned function ends it.
func (j *job) observe(c *workerv1.Command) func(*workerv1.Answer) {
	w := j.worker
	end := w.cfg.Observe.Command(c.GetTraceParent(), wire.CommandName(c), j.publicID(), w.cfg.Name, len(c.GetTiles()))
	return func(answer *workerv1.Answer) {
		kind := ""
		if f := answer.GetFailure(); f != nil {
			kind = strings.ToLower(strings.TrimPrefix(f.GetKind().String(), "FAILURE_KIND_"))
		}
		end(kind)
	}
}

// observeSweep records how many bytes of stored tiles a command has read, given how many of all columns, or rows, it
// needed.
func (j *job) observeSweep(c *workerv1.Command, tiles []int, columns int) {
	if j.worker.cfg.Observe == nil || j.rows == 0 {
		return
	}
	bytes := 0.0
	for _, t := range tiles {
		if j.tiles[t] {
			bytes += float64(j.need.EntryBytes(t))
		}
	}
	j.worker.cfg.Observe.Swept(wire.CommandName(c), int64(bytes*min(1, float64(columns)/float64(j.rows))))
}

// readsAll reports whether a command reads its tiles completely.
func (j *job) readsAll(c *workerv1.Command) bool {
	switch c.GetOperation().(type) {
	case *workerv1.Command_Load:
		return j.need.Vectors == nil // labels of vectors are only kept
	case *workerv1.Command_Degrees, *workerv1.Command_Maxima, *workerv1.Command_Multiply,
		*workerv1.Command_VectorAssign, *workerv1.Command_VectorStep, *workerv1.Command_VectorFarthest,
		*workerv1.Command_Nearest, *workerv1.Command_NearestTwo, *workerv1.Command_Scatter:
		return true
	}
	return false
}
