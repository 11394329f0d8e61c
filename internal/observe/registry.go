package observe

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
)

// Metric describes a metric.
type Metric struct {
	Name, Type, Help string
	Labels           []string
}

// registry creates the metrics of one program and records their descriptions.
type registry struct {
	*prometheus.Registry
	made []Metric
}

func newRegistry() *registry { return &registry{Registry: prometheus.NewRegistry()} }

func (r *registry) note(kind, name, help string, labels []string) {
	r.made = append(r.made, Metric{Name: name, Type: kind, Help: help, Labels: labels})
}

func (r *registry) counter(name, help string) prometheus.Counter {
	r.note("counter", name, help, nil)
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	r.MustRegister(c)
	return c
}

func (r *registry) counters(name, help string, labels ...string) *prometheus.CounterVec {
	r.note("counter", name, help, labels)
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	r.MustRegister(c)
	return c
}

func (r *registry) histogram(name, help string, buckets []float64) prometheus.Histogram {
	r.note("histogram", name, help, nil)
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	r.MustRegister(h)
	return h
}

func (r *registry) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	r.note("histogram", name, help, labels)
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	r.MustRegister(h)
	return h
}

// gauge declares a metric whose values are provided by collect.
func (r *registry) gauge(name, help string, labels ...string) *prometheus.Desc {
	r.note("gauge", name, help, labels)
	return prometheus.NewDesc(name, help, labels, nil)
}

// collect registers a function that provides the values of gauges at every scrape.
func (r *registry) collect(gauges []*prometheus.Desc, give func(value func(gauge *prometheus.Desc, value float64, labels ...string))) {
	r.MustRegister(&collector{gauges: gauges, give: give})
}

type collector struct {
	gauges []*prometheus.Desc
	give   func(func(*prometheus.Desc, float64, ...string))
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, gauge := range c.gauges {
		to <- gauge
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	c.give(func(gauge *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(gauge, prometheus.GaugeValue, value, labels...)
	})
}

// addProcess adds the metrics that all programs have.
func (r *registry) addProcess(program, version string) {
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	build := r.gauge("cleave_build_info", "1, with the program and its version.", "program", "version")
	r.collect([]*prometheus.Desc{build}, func(value func(*prometheus.Desc, float64, ...string)) { value(build, 1, program, version) })
}

// gatherer returns the metrics of this registry, and those that an embedded etcd keeps in the global one.
func (r *registry) gatherer() prometheus.Gatherer {
	etcd := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		all, err := prometheus.DefaultGatherer.Gather()
		var found []*dto.MetricFamily
		for _, family := range all {
			if strings.HasPrefix(family.GetName(), "etcd_") {
				found = append(found, family)
			}
		}
		return found, err
	})
	return prometheus.Gatherers{r.Registry, etcd}
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
