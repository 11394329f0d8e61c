package clustertest

import (
	"context"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// traceReceiver receives spans as OTLP sends them.
type traceReceiver struct {
	collector.UnimplementedTraceServiceServer
	mu    sync.Mutex
	spans []receivedSpan
}

type receivedSpan struct {
	*tracev1.Span
	service string
}

// Export implements the service of OTLP.
func (r *traceReceiver) Export(_ context.Context,
	request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, from := range request.GetResourceSpans() {
		service := ""
		for _, attribute := range from.GetResource().GetAttributes() {
			if attribute.GetKey() == "service.name" {
				service = attribute.GetValue().GetStringValue()
			}
		}
		for _, scope := range from.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				r.spans = append(r.spans, receivedSpan{span, service})
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// receiveTraces starts a receiver and gives its URL.
func receiveTraces(t testing.TB) (*traceReceiver, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, listener, err)
	r := &traceReceiver{}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, r)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return r, "http://" + listener.Addr().String()
}

// The trace of a client goes on in the coordinator, after a restart too, and in the worker: one trace for a job.
func TestAJobIsOneTraceFromTheClientToItsWorker(t *testing.T) {
	t.Parallel()
	receiver, url := receiveTraces(t)
	c := StartCoordinator(t, Options{Args: []string{"--traces", url}})
	const traceID, parent = "0123456789abcdef0123456789abcdef", "fedcba9876543210"
	spec := longBuild().on(c)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", "00-"+traceID+"-"+parent+"-01")
	created, err := c.Jobs.CreateJob(ctx, &cleavev1.CreateJobRequest{Spec: spec})
	job := must(t, created, err).GetJob().GetJobId()
	c.Terminate() // before there is a worker
	c.Restart()
	w := start(t, "worker w0", "/usr/bin/env", "OTEL_EXPORTER_OTLP_ENDPOINT="+url, Build(t).Worker, "--coordinator",
		c.Addr, "--name", "w0", "--threads", "1", "--memory", "1GiB")
	c.AwaitWorkers(1)
	longBuild().finish(t, "a traced cluster", c.Watch(job))
	data := filepath.Join(t.TempDir(), "points.csv")
	if err := os.WriteFile(data, []byte("x\n0\n1\n9\n10\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if run := Command(t, "env", "OTEL_EXPORTER_OTLP_ENDPOINT="+url, Build(t).Cleave, "run", "--server", c.Addr,
		"--data", data, "--k", "2", "--algorithm", "kmeans", "--quiet"); run.ExitCode != 0 {
		t.Fatal(run.Stderr)
	}
	w.Terminate() // sends what is left
	c.Terminate()

	receiver.mu.Lock()
	defer receiver.mu.Unlock()
	client := ""
	for _, span := range receiver.spans {
		if span.service == "cleave-client" {
			client = string(span.GetTraceId())
		}
	}
	byID, byName, jobs := map[string]receivedSpan{}, map[string]receivedSpan{}, 0
	ofClient := map[string]bool{}
	for _, span := range receiver.spans {
		if hex.EncodeToString(span.GetTraceId()) == traceID {
			byID[string(span.GetSpanId())], byName[span.GetName()] = span, span
			if span.GetName() == "job" {
				jobs++
			}
		} else if string(span.GetTraceId()) == client {
			ofClient[span.service+" "+span.GetName()] = true
		} else if span.GetName() != "cleave.v1.DatasetService/CreateDataset" { // which the test does without a trace
			t.Errorf("%s of %s is in another trace", span.GetName(), span.service)
		}
	}
	above := func(name string) receivedSpan { return byID[string(byName[name].GetParentSpanId())] }
	for name, want := range map[string]string{
		"job": "cleave.v1.JobService/CreateJob", "queued": "job", "building": "job", "iterating": "job",
		"ending":           "job",
		"operation assign": "iterating", "command matrix_assign": "operation assign",
		"matrix_assign": "command matrix_assign", "build": "command build",
	} {
		if got := above(name); got.Span == nil || got.GetName() != want {
			t.Errorf("%q is in %q, want %q", name, got.GetName(), want)
		}
	}
	if !ofClient["cleave-client cleave run"] || !ofClient["cleave-coordinator job"] ||
		!ofClient["cleave-worker prepare"] {
		t.Errorf("the trace of cleave run has %v", ofClient)
	}
	if jobs != 2 {
		t.Errorf("%d coordinators have the job in its trace", jobs)
	}
	if got := hex.EncodeToString(byName["cleave.v1.JobService/CreateJob"].GetParentSpanId()); got != parent {
		t.Errorf("the call is in span %s", got)
	}
	if byName["job"].service != "cleave-coordinator" || byName["matrix_assign"].service != "cleave-worker" {
		t.Errorf("the job is of %q, the worker's part of %q", byName["job"].service, byName["matrix_assign"].service)
	}
}
