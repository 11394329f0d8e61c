package observe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// commandMetrics are about commands to workers, as the coordinator or the worker sees them.
type commandMetrics struct {
	seconds  *prometheus.HistogramVec
	failures *prometheus.CounterVec
}

// ended counts a command; failure is why it was not done, or "".
func (m commandMetrics) ended(command, failure string, took time.Duration) {
	m.seconds.WithLabelValues(command).Observe(took.Seconds())
	if failure != "" {
		m.failures.WithLabelValues(command, failure).Inc()
	}
}
