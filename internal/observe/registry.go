package observe

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metric describes a metric.
type Metric struct {
	Name, Type, Help string
	Labels           []string
}

// Metrics returns what a coordinator and a worker measure, for what checks and documents it.
func Metrics() []Metric {
	r := newRegistry()
	r.addProcess("coordinator", "v1")
	newCoordinatorMetrics(r)
	newWorkerMetrics(r)
	return r.made
}

// registry creates the metrics of one program and records their descriptions.
type registry struct {
	*prometheus.Registry
	made []Metric
}

func newRegistry() *registry { return &registry{Registry: prometheus.NewRegistry()} }

// register registers a metric and records its description.
func register[C prometheus.Collector](r *registry, c C, of Metric) C {
	r.made = append(r.made, of)
	r.MustRegister(c)
	return c
}

func (r *registry) counter(name, help string) prometheus.Counter {
	return register(r, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help}),
		Metric{name, "counter", help, nil})
}

func (r *registry) counters(name, help string, labels ...string) *prometheus.CounterVec {
	return register(r, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels),
		Metric{name, "counter", help, labels})
}

func (r *registry) histogram(name, help string, buckets []float64) prometheus.Histogram {
	return register(r, prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}),
		Metric{name, "histogram", help, nil})
}

func (r *registry) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets},
		labels),
		Metric{name, "histogram", help, labels})
}

// gauge is a metric, or one of its values if it has a label, that is looked up at every scrape.
type gauge[S any] struct {
	name, help   string
	label, value string // label is "" if there is none
	of           func(S) float64
}

// collect registers gauges, whose values come from one look at every scrape. Those of one name follow each other. look
// must be ready to be called, because the registration itself looks once to learn the names.
func collect[S any](r *registry, look func() S, gauges []gauge[S]) {
	descriptions := make([]*prometheus.Desc, len(gauges))
	for at, g := range gauges {
		if at > 0 && g.name == gauges[at-1].name {
			descriptions[at] = descriptions[at-1]
			continue
		}
		var labels []string
		if g.label != "" {
			labels = []string{g.label}
		}
		r.made = append(r.made, Metric{g.name, "gauge", g.help, labels})
		descriptions[at] = prometheus.NewDesc(g.name, g.help, labels, nil)
	}
	r.MustRegister(prometheus.CollectorFunc(func(to chan<- prometheus.Metric) {
		seen := look()
		for at, g := range gauges {
			var values []string
			if g.label != "" {
				values = []string{g.value}
			}
			to <- prometheus.MustNewConstMetric(descriptions[at], prometheus.GaugeValue, g.of(seen), values...)
		}
	}))
}

// addProcess adds the metrics that all programs have.
func (r *registry) addProcess(program, version string) {
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	const name, help = "cleave_build_info", "1, with the program and its version."
	build := prometheus.GaugeOpts{Name: name, Help: help,
		ConstLabels: prometheus.Labels{"program": program, "version": version}}
	register(r, prometheus.NewGaugeFunc(build, func() float64 { return 1 }),
		Metric{name, "gauge", help, []string{"program", "version"}})
}

// Bounds of histograms in seconds: shortTimes from 100 microseconds to half a minute, longTimes from 0.1 s to some
// hours.
var (
	shortTimes = prometheus.ExponentialBuckets(0.0001, 4, 10)
	longTimes  = prometheus.ExponentialBuckets(0.1, 4, 9)
)

// vocabulary limits the number of values of a label that other processes can influence, such as the reasons of
// workers.
type vocabulary struct {
	mu    sync.Mutex
	known map[string]bool
}

const (
	maxWords      = 100
	maxWordLength = 64
	otherWord     = "OTHER"
)

func (v *vocabulary) word(w string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.known[w]:
		return w
	case len(v.known) == maxWords || len(w) > maxWordLength:
		return otherWord
	}
	if v.known == nil {
		v.known = map[string]bool{}
	}
	v.known[w] = true
	return w
}
