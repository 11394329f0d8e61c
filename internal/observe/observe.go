// Package observe shows people and their tools what a coordinator or a worker does: metrics for Prometheus, health
// and profiles on an admin port, and traces for OpenTelemetry.
//
// Other packages report events by calling methods of Coordinator, Job and Worker. These are nil if nothing is
// observed, and their methods then do nothing. Nothing here affects what is computed, and there is no global state
// except what the libraries keep.
package observe

import (
	"context"

	"github.com/hashicorp/go-hclog"
)

// Options configures how a program is observed. The zero value disables everything.
type Options struct {
	// Admin is the HOST:PORT of metrics, health and profiles; empty disables them.
	Admin string
	// AdminInsecure allows Admin to be an address that other machines can reach.
	AdminInsecure bool
	// Traces is the http:// or https:// URL of an OTLP receiver; empty disables tracing.
	Traces string
}

// Observing holds the admin port, the metrics and the traces of a program. Each part may be disabled.
type Observing struct {
	metrics *registry // nil without an admin port
	admin   *admin    // nil without an admin port
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
		if o.admin, err = listenAdmin(options.Admin, options.AdminInsecure, o.metrics, log); err != nil {
			o.Close()
			return nil, err
		}
	}
	return o, nil
}

// Coordinator returns the observer of a coordinator, or nil if observation is off.
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

// Worker returns the observer of the workers of this process, or nil if observation is off.
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

// SetReady sets the readiness check, which returns nil if the program is ready to work and otherwise why it is not.
func (o *Observing) SetReady(ready func(context.Context) error) {
	if o.admin != nil {
		o.admin.ready.Store(&ready)
	}
}

// AdminAddr returns the address of the admin port, or "" if there is none.
func (o *Observing) AdminAddr() string {
	if o.admin == nil {
		return ""
	}
	return o.admin.listener.Addr().String()
}

// Close sends the remaining traces and closes the admin port.
func (o *Observing) Close() {
	if o.tracing != nil {
		o.tracing.close()
	}
	if o.admin != nil {
		o.admin.close()
	}
}
