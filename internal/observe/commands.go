package observe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// commandMetrics are the metrics of commands to workers, as seen by the coordinator or the worker.
type commandMetrics struct {
	seconds  *prometheus.HistogramVec
	failures *prometheus.CounterVec
}

// ended records a command. failure is why it was not done, or "".
func (m commandMetrics) ended(command, failure string, took time.Duration) {
	m.seconds.WithLabelValues(command).Observe(took.Seconds())
	if failure != "" {
		m.failures.WithLabelValues(command, failure).Inc()
	}
}
