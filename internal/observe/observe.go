// Package observe lets people and their tools see what a coordinator or a worker does: metrics for Prometheus, health and
// profiles on an admin port, and traces for OpenTelemetry.
//
// What does the work calls methods of Coordinator, Job and Worker at its borders. They are nil where nobody watches, and
// their methods then do nothing. Nothing here changes what is computed, and nothing is global but what the libraries keep.
package observe

import (
	"context"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/pflag"
)

// Options say how a program is observed. By default it is not.
type Options struct {
	// Admin is the HOST:PORT of metrics, health and profiles; empty: there is no such port.
	Admin string
	// AdminInsecure lets Admin be an address that other machines reach.
	AdminInsecure bool
	// Traces is the URL of an OTLP receiver, http:// or https://; empty: there are no traces.
	Traces string
}

// AddFlags declares the flags. getenv gives the usual variable of OpenTelemetry, which is the default of --traces.
func (o *Options) AddFlags(set *pflag.FlagSet, getenv func(string) string) {
	set.StringVar(&o.Admin, "admin", o.Admin, "`HOST:PORT` of metrics, health and profiles over HTTP; port 0 picks a free one (default: none)")
	set.BoolVar(&o.AdminInsecure, "admin-insecure", o.AdminInsecure, "let --admin be reached from other machines, without encryption or authentication")
	set.StringVar(&o.Traces, "traces", getenv("OTEL_EXPORTER_OTLP_ENDPOINT"),
		"`URL` that OpenTelemetry traces are sent to by OTLP over gRPC, http:// or https://, such as http://127.0.0.1:4317 (default: none, or OTEL_EXPORTER_OTLP_ENDPOINT)")
}

// Observing is a program that is observed as its options say.
type Observing struct {
	metrics *registry // nil without an admin port
	admin   *admin    // likewise
	tracing *tracing  // nil without traces
}

// Start opens the admin port and begins to send traces. The program is not ready until SetReady is called.
func Start(ctx context.Context, options Options, program, version string, log hclog.Logger) (_ *Observing, err error) {
	o := &Observing{}
	if options.Traces != "" {
		if o.tracing, err = startTracing(ctx, options.Traces, program, version, log); err != nil {
			return nil, err
		}
	}
	if options.Admin != "" {
		o.metrics = newRegistry()
		o.metrics.addProcess(program, version)
		if o.admin, err = listenAdmin(options.Admin, options.AdminInsecure, o.metrics.gatherer(), log); err != nil {
			o.Close()
			return nil, err
		}
	}
	return o, nil
}

// Coordinator observes a coordinator; nil if nobody watches.
func (o *Observing) Coordinator() *Coordinator {
	if o.metrics == nil && o.tracing == nil {
		return nil
	}
	c := &Coordinator{tracing: o.tracing}
	if o.metrics != nil {
		c.metrics = newCoordinatorMetrics(o.metrics)
	}
	return c
}

// Worker observes the workers of this process; nil if nobody watches.
func (o *Observing) Worker() *Worker {
	if o.metrics == nil && o.tracing == nil {
		return nil
	}
	w := &Worker{tracing: o.tracing}
	if o.metrics != nil {
		w.metrics = newWorkerMetrics(o.metrics)
	}
	return w
}

// SetReady tells how to find out whether the program is ready to work, and nil, or why not.
func (o *Observing) SetReady(ready func(context.Context) error) {
	if o.admin != nil {
		o.admin.ready.Store(&ready)
	}
}

// AdminAddr is the address of the admin port, "" if there is none.
func (o *Observing) AdminAddr() string {
	if o.admin == nil {
		return ""
	}
	return o.admin.listener.Addr().String()
}

// Close sends the traces that are left and closes the admin port.
func (o *Observing) Close() {
	if o.tracing != nil {
		o.tracing.close()
	}
	if o.admin != nil {
		o.admin.close()
	}
}
