package clustertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

var adminAddress = regexp.MustCompile(`(?m)^admin on (\S+)$`)

// adminOf waits until a process has opened its admin port, and gives the address.
func adminOf(t testing.TB, p *Process) (address string) {
	t.Helper()
	Eventually(t, p.name+" opens its admin port", func() (bool, string) {
		found := adminAddress.FindSubmatch(p.stdout.bytes())
		if found != nil {
			address = string(found[1])
		}
		return found != nil, "it has not said so"
	})
	return address
}

// page gets a page of an admin port.
func page(t testing.TB, address, path string) (code int, body string) {
	t.Helper()
	response, err := http.Get("http://" + address + path)
	must(t, response, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(must(t, content, err))
}

// metric is the sum of all values of a metric whose line begins so.
func metric(t testing.TB, address, beginning string) (sum float64) {
	t.Helper()
	_, body := page(t, address, "/metrics")
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, beginning) {
			fields := strings.Fields(line)
			value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
			sum += must(t, value, err)
		}
	}
	return sum
}

// logLines are the lines that a process has logged, each of which must be a JSON object.
func logLines(t testing.TB, p *Process) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(p.Stderr()) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil || object["@level"] == nil ||
			object["@message"] == nil {
			t.Fatalf("%s logged %q: %v", p.name, line, err)
		}
		lines = append(lines, object)
	}
	return lines
}

// readiness waits until a process is ready, or not.
func readiness(t testing.TB, address string, want int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("/readyz answers %d", want), func() (bool, string) {
		code, body := page(t, address, "/readyz")
		return code == want, body
	})
}

// A job runs on a cluster that is watched by metrics, health and logs.
func TestMetricsHealthAndLogs(t *testing.T) {
	t.Parallel()
	watched := []string{"--admin", "127.0.0.1:0", "--log-format", "json"}
	c := StartCoordinator(t, Options{Args: watched})
	w := start(t, "worker", Build(t).Worker, append([]string{"--coordinator", c.Addr, "--name", "w0", "--threads", "1",
		"--memory", "1GiB"}, watched...)...)
	c.AwaitWorkers(1)
	coordinator := adminOf(t, c.Process)
	worker := adminOf(t, w)
	readiness(t, coordinator, http.StatusOK)
	readiness(t, worker, http.StatusOK)

	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-request-id", "run-7")
	var header metadata.MD
	created, err := c.Jobs.CreateJob(ctx, &cleavev1.CreateJobRequest{Spec: longBuild().on(c)}, grpc.Header(&header))
	job := must(t, created, err).GetJob().GetJobId()
	if got := header.Get("x-request-id"); len(got) != 1 || got[0] != "run-7" {
		t.Errorf("the answer has the request id %q", got)
	}
	watch := c.Watch(job)
	longBuild().finish(t, "a watched cluster", watch)

	for beginning, want := range map[string]float64{
		"cleave_jobs_accepted_total":                                         1,
		`cleave_jobs_ended_total{reason="MAX_ITERATIONS",state="succeeded"}`: 1,
		"cleave_jobs_ended_total":                                            1,
		"cleave_iterations_total":                                            float64(watch.Iterations()),
		"cleave_job_queue_seconds_count":                                     1,
		`cleave_workers{state="ready"}`:                                      1,
		`cleave_jobs{`:                                                       0,
		"cleave_leader":                                                      1,
		`cleave_worker_sessions_total{change="attached"}`:                    1,
		`cleave_uploads_total{code="OK",kind="dataset"}`:                     1,
		`cleave_grpc_requests_total{code="OK",method="/cleave.v1.JobService/CreateJob"}`: 1,
		"cleave_store_errors_total":     0,
		"cleave_command_failures_total": 0,
		"cleave_workers_memory_bytes":   1 << 30,
		"cleave_tiles_built_total":      metric(t, worker, "cleave_worker_tiles_built_total"),
	} {
		Eventually(t, "the metrics tell of the job", func() (bool, string) { // which is counted after its end was sent
			got := metric(t, coordinator, beginning)
			return got == want, fmt.Sprintf("%s is %v, want %v", beginning, got, want)
		})
	}
	for beginning, address := range map[string]string{
		"cleave_operation_seconds_count{": coordinator, `cleave_store_seconds_count{operation="commit"`: coordinator,
		"cleave_event_flush_seconds_count": coordinator, `cleave_upload_bytes_total{kind="dataset"}`: coordinator,
		`cleave_job_phase_seconds_total{phase="building"}`: coordinator, "process_cpu_seconds_total": coordinator,
		"cleave_worker_swept_bytes_total{": worker, "cleave_worker_command_seconds_count{": worker,
		"cleave_worker_fetched_bytes_total{": worker, "go_goroutines": worker,
	} {
		if metric(t, address, beginning) <= 0 {
			t.Errorf("%s has not counted anything", beginning)
		}
	}

	said := map[string]map[string]any{}
	for _, line := range append(logLines(t, c.Process), logLines(t, w)...) {
		said[line["@message"].(string)] = line
	}
	for message, has := range map[string]map[string]any{
		"job is accepted":   {"job": job, "request": "run-7"},
		"job started":       {"job": job},
		"job ended":         {"job": job, "state": "SUCCEEDED", "stop": "MAX_ITERATIONS"},
		"worker attached":   {"worker": "w0"},
		"attached":          {"worker": "w0"},
		"fetching data set": {"worker": "w0", "job": job},
	} {
		for key, value := range has {
			if said[message][key] != value {
				t.Errorf("the line %q has %s %v, want %v", message, key, said[message][key], value)
			}
		}
	}

	// A worker without its coordinator is not ready, and so is a coordinator that stops.
	c.Kill()
	readiness(t, worker, http.StatusServiceUnavailable)
	c.Restart()
	readiness(t, worker, http.StatusOK)
	if code, _ := page(t, worker, "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz answers %d", code)
	}
}

// The flags of a real process come from the command line, the environment and a file.
func TestConfigurationOfARealProcess(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "coordinator.yaml")
	if err := os.WriteFile(file,
		[]byte("listen: 256.0.0.1:1\nlog-format: json\nlog-level: trace\nadmin: 127.0.0.1:0\nheartbeat: 100ms\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	c := StartCoordinator(t, Options{Args: []string{"--config", file},
		// neither address exists
		Env: []string{"CLEAVE_COORDINATOR_LISTEN=256.0.0.1:2", "CLEAVE_COORDINATOR_LOG_LEVEL=info"}})
	start(t, "worker", "/usr/bin/env", "CLEAVE_WORKER_NAME=by-environment", Build(t).Worker, "--coordinator", c.Addr,
		"--memory", "64MiB")
	c.AwaitWorkers(1)
	if name := c.Workers()[0].GetName(); name != "by-environment" {
		t.Errorf("the worker is named %q", name)
	}
	address := adminOf(t, c.Process)
	Eventually(t, "heartbeats come", func() (bool, string) {
		return metric(t, address, "cleave_heartbeats_total") >= 3, "there are none"
	})
	for _, line := range logLines(t, c.Process) {
		if line["@level"] == "debug" || line["@level"] == "trace" {
			t.Fatalf("logged %v, although the environment says info", line)
		}
	}

	wrong := start(t, "coordinator", "/usr/bin/env", "CLEAVE_COORDINATOR_HEARTBEET=1s", Build(t).Coordinator,
		"--data-dir", t.TempDir())
	if code := wrong.ExitCode(); code != 2 ||
		!strings.Contains(wrong.Stderr(), "did you mean CLEAVE_COORDINATOR_HEARTBEAT?") {
		t.Errorf("exit code %d, %q", code, wrong.Stderr())
	}
}

// A coordinator that nobody told to does not open an admin port, nor one that other machines reach.
func TestNoAdminPortUnlessAskedFor(t *testing.T) {
	t.Parallel()
	c := StartCoordinator(t, Options{})
	if strings.Contains(string(c.stdout.bytes()), "admin on") {
		t.Error("there is an admin port")
	}
	open := start(t, "coordinator", Build(t).Coordinator, "--data-dir", t.TempDir(), "--admin", "0.0.0.0:0")
	if code := open.ExitCode(); code != 2 || !strings.Contains(open.Stderr(), "--admin-insecure") {
		t.Errorf("exit code %d, %q", code, open.Stderr())
	}
}
