package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cleave-project/cleave/internal/fault"
)

// admin serves metrics, health and profiles over HTTP.
type admin struct {
	listener net.Listener
	server   *http.Server
	ready    atomic.Pointer[func(context.Context) error] // nil while the program starts
	served   chan struct{}
}

// readyTimeout is how long the readiness check may take.
const readyTimeout = 2 * time.Second

// listenAdmin opens the admin port. It refuses an address that other machines reach unless insecure allows it.
func listenAdmin(address string, insecure bool, metrics prometheus.Gatherer, log hclog.Logger) (*admin, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fault.Invalid("ADMIN_ADDRESS_INVALID", "the admin address %q is not of the form HOST:PORT", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) && !insecure {
		return nil, fault.Invalid("ADMIN_NOT_LOOPBACK",
			"other machines reach the admin address %s, but it has neither encryption nor authentication; "+
				"use 127.0.0.1:PORT, or allow it with --admin-insecure", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fault.Invalid("CANNOT_LISTEN", "cannot listen on the admin address %s: %v", address, err)
	}
	a := &admin{listener: listener, served: make(chan struct{})}
	handler := a.handler(metrics, log)
	if !insecure {
		handler = localOnly(handler)
	}
	a.server = &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		defer close(a.served)
		if err := a.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the admin port is closed", "error", err)
		}
	}()
	log.Info("metrics, health and profiles are served", "address", listener.Addr().String())
	return a, nil
}

// handler serves metrics, health, readiness and profiles.
func (a *admin) handler(metrics prometheus.Gatherer, log hclog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{
		ErrorLog: log.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Warn}), MaxRequestsInFlight: 4,
		Timeout: 10 * time.Second,
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", a.answerReady)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "/metrics\n/healthz\n/readyz\n/debug/pprof/")
	})
	return mux
}

// localOnly rejects requests for hosts other than this machine. A browser sends those if a page of another host has
// made its own name resolve to 127.0.0.1 (DNS rebinding).
func localOnly(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this port is for 127.0.0.1 and localhost only; --admin-insecure allows other hosts",
				http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

func (a *admin) answerReady(w http.ResponseWriter, r *http.Request) {
	ready := a.ready.Load()
	if ready == nil {
		http.Error(w, "not ready: starting, or waiting to become the leader", http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := (*ready)(ctx); err != nil {
		http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

// close ends all requests and waits for the server to stop.
func (a *admin) close() {
	a.server.Close()
	<-a.served
}
