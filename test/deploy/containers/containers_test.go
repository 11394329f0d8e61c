package containers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"

	"github.com/cleave-project/cleave/test/deploy/chart"
)

func readiness(c core.Container) *core.Probe { return c.ReadinessProbe }
func liveness(c core.Container) *core.Probe  { return c.LivenessProbe }

// points makes data that takes some seconds to cluster.
func points(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := cleave(root(t, "bin", "cleave"), "generate", "gaussians", "--n", fmt.Sprint(n), "--d", "16", "--k",
		"20", "--noise", "5", "--seed", "1", "--out", dir); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "data.csv")
}

// work is a job of many iterations.
func work(data string) []string {
	return []string{"--data", data, "--k", "20", "--algorithm", "kernel-kmeans", "--init", "random", "--restarts", "8",
		"--seed", "7"}
}

// local returns the labels of the same job on this machine alone.
func local(t *testing.T, data string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "local")
	if _, err := cleave(root(t, "bin", "cleave"), append([]string{"run", "--out", out, "--quiet"},
		work(data)...)...); err != nil {
		t.Fatal(err)
	}
	return labels(t, out)
}

// during submits the job, calls strike after its first iteration, waits for the end, and returns the labels and how
// long it took.
func (c *cluster) during(data string, strike func()) (string, time.Duration) {
	c.t.Helper()
	began := time.Now()
	job := strings.TrimSpace(c.cleave(append(append([]string{"submit"}, c.server()...), work(data)...)...))
	watch := exec.Command(c.program, append([]string{"watch", job, "--json"}, c.server()...)...)
	events, err := watch.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	var complaints strings.Builder
	watch.Stderr = &complaints
	if err := watch.Start(); err != nil {
		c.t.Fatal(err)
	}
	struck := false
	for lines := bufio.NewScanner(events); lines.Scan(); {
		if !struck && strings.Contains(lines.Text(), `"iteration"`) {
			struck = true
			if state := c.state(job); state != "JOB_STATE_RUNNING" {
				c.t.Fatalf("the job is %s before anything happens to it: make it larger", state)
			}
			strike()
		}
	}
	if err := watch.Wait(); err != nil || !struck {
		c.t.Fatalf("watch: %v; struck: %v\n%s", err, struck, &complaints)
	}
	took := time.Since(began)
	out := filepath.Join(c.t.TempDir(), "result")
	c.cleave(append([]string{"result", job, "--out", out}, c.server()...)...)
	return labels(c.t, out), took
}

// state is that of a job, as the API names it.
func (c *cluster) state(job string) string {
	c.t.Helper()
	var shown struct{ Job struct{ State string } }
	text := c.cleave(append([]string{"get", job, "--json"}, c.server()...)...)
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		c.t.Fatalf("%v in %s", err, text)
	}
	return shown.Job.State
}

// secretOf reads a folder of cleave certs as the Secret that an operator makes of it.
func secretOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	secret := map[string][]byte{}
	for key, file := range map[string]string{"ca.crt": "ca.pem", "tls.crt": "cert.pem", "tls.key": "key.pem"} {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		secret[key] = content
	}
	return secret
}

// images are those that make image has built.
func images(t *testing.T) string {
	if dir := os.Getenv("IMAGES"); dir != "" {
		return dir
	}
	return root(t, "bin", "images")
}

// The trial: one file, no certificates. Its job ends, and its log shows how good the answer is.
func TestTrial(t *testing.T) {
	p := newPodman(t)
	for _, program := range []string{"coordinator", "worker", "cleave"} {
		p.load(images(t), program, "dev")
	}
	values, err := chart.Values("trial")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c := deploy(t, p, values, nil, "")
	eventually(t, "the first job has ended", func() (bool, string) {
		state := c.run("inspect", "cleave-first-job-run", "--format", "{{.State.Status}} {{.State.ExitCode}}")
		return state == "exited 0", state
	})
	t.Logf("from nothing to the end of the first job: %v", time.Since(began).Round(100*time.Millisecond))
	if log := c.logs("cleave-first-job", "run"); !strings.Contains(log, "ARI") &&
		!strings.Contains(log, "adjusted Rand") {
		t.Errorf("the log of the first job does not say how good it is:\n%s", log)
	}
	for _, pod := range append(c.names("coordinator"), c.names("worker")...) {
		for _, probe := range []func(core.Container) *core.Probe{readiness, liveness} {
			// The job may have ended before the last worker has attached.
			eventually(t, "the probes of "+pod+" hold", func() (bool, string) {
				status, body := c.probe(pod, probe)
				return status == ok, body
			})
		}
	}
	// 80 % of the limit of 1 GiB, and half a processor as one thread.
	if shown := c.awaitWorkers(3); strings.Count(shown, " 819 MiB ") != 3 {
		t.Errorf("the workers have not 80 %% of 1 GiB:\n%s", shown)
	}

	// The coordinator is killed and starts again on its volume.
	data := points(t, 20000)
	got, _ := c.during(data, func() { c.kill("cleave-coordinator-0", "coordinator") })
	if got != local(t, data) {
		t.Error("a job whose coordinator was killed has other labels than one on this machine")
	}
}

// Three coordinators on etcd and S3, three workers, certificates everywhere.
func TestSeveralCoordinators(t *testing.T) {
	p := newPodman(t)
	for _, program := range []string{"coordinator", "worker"} {
		p.load(images(t), program, "dev")
	}
	next := t.TempDir()
	rebuild := exec.Command(root(t, "scripts", "image.sh"), next)
	rebuild.Env = append(os.Environ(), "VERSION=v0.0.0-next", "PROGRAMS=worker", "ARCHITECTURES=amd64")
	if out, err := rebuild.CombinedOutput(); err != nil {
		t.Fatalf("image.sh: %v\n%s", err, out)
	}
	p.load(next, "worker", "next")

	certs := filepath.Join(t.TempDir(), "certs")
	hosts := []string{"--host", "cleave-coordinator-0", "--host", "cleave-coordinator-1", "--host",
		"cleave-coordinator-2"}
	for _, args := range [][]string{append([]string{"certs", "init", "--dir", certs}, hosts...),
		{"certs", "etcd", "--dir", certs, "--host", p.Gateway}} {
		if _, err := cleave(root(t, "bin", "cleave"), args...); err != nil {
			t.Fatal(err)
		}
	}
	values, err := chart.Values("several")
	if err != nil {
		t.Fatal(err)
	}
	store := values["store"].(map[string]any)
	store["etcd"].(map[string]any)["endpoints"] = []any{startEtcd(t, p.Gateway, certs)}
	store["blobs"] = startObjectStore(t, p.Gateway)
	values["coordinator"].(map[string]any)["resources"] = small()
	values["worker"].(map[string]any)["resources"] = small()
	secrets := map[string]map[string][]byte{
		"cleave-coordinator-tls": secretOf(t, filepath.Join(certs, "coordinator")),
		"cleave-worker-tls":      secretOf(t, filepath.Join(certs, "worker")),
		"cleave-etcd-tls":        secretOf(t, filepath.Join(certs, "etcd", "client")),
		"cleave-blobs":           {"AWS_ACCESS_KEY_ID": []byte(accessKey), "AWS_SECRET_ACCESS_KEY": []byte(secretKey)},
	}
	c := deploy(t, p, values, secrets, certs)
	c.awaitWorkers(3)
	for _, pod := range c.names("coordinator") { // standbys too
		eventually(t, pod+" is ready", func() (bool, string) {
			status, body := c.probe(pod, readiness)
			return status == ok, body
		})
	}

	data := points(t, 20000)
	want := local(t, data)
	same := func(what, got string, took time.Duration) {
		t.Helper()
		t.Logf("%s: %v", what, took.Round(100*time.Millisecond))
		if got != want {
			t.Errorf("%s: the labels differ from those of one machine", what)
		}
	}
	got, took := c.during(data, func() {})
	same("undisturbed", got, took)

	got, took = c.during(data, func() { c.kill("cleave-worker-1", "worker") })
	same("a worker is killed", got, took)
	c.awaitWorkers(3) // podman has restarted it, as a kubelet does

	got, took = c.during(data, func() { c.roll("next") })
	same("all workers are rolled to another version", got, took)
	if shown := c.cleave(append([]string{"workers", "--json"}, c.server()...)...); strings.Count(shown,
		"v0.0.0-next") != 3 {
		t.Errorf("not all workers have the new version:\n%s", shown)
	}

	leader := c.leader()
	got, took = c.during(data, func() { c.kill(leader, "coordinator") })
	same("the leader is killed", got, took)
	if c.leader() == leader {
		t.Logf("%s leads again: it was back before its lease was over", leader)
	}
}

// small are resources for a machine with two processors.
func small() map[string]any {
	return map[string]any{"requests": map[string]any{"cpu": "1", "memory": "1Gi"},
		"limits": map[string]any{"memory": "1Gi"}}
}

// roll replaces the workers one by one by those of another version, as a Deployment with a surge of one does: the new
// one is ready before an old one gets SIGTERM, by which it must end well within its grace period.
func (c *cluster) roll(tag string) {
	c.t.Helper()
	for _, old := range c.names("worker") {
		pod := c.pods[old]
		grace := *pod.Spec.TerminationGracePeriodSeconds
		pod = *pod.DeepCopy()
		pod.Name = old + "-" + tag
		pod.Spec.Containers[0].Image = "localhost/cleave/worker:" + tag
		c.play(pod)
		c.pods[pod.Name] = pod
		eventually(c.t, pod.Name+" is ready", func() (bool, string) {
			status, body := c.probe(pod.Name, readiness)
			return status == ok, body
		})
		if code := c.stop(old, "worker", grace); code != "0" {
			c.t.Errorf("%s ends with %s after SIGTERM, want 0", old, code)
		}
		delete(c.pods, old)
	}
}

// leader is the coordinator whose metrics say so.
func (c *cluster) leader() string {
	c.t.Helper()
	var found string
	eventually(c.t, "one coordinator leads", func() (bool, string) {
		var leaders []string
		for _, name := range c.names("coordinator") {
			if status, _ := c.get(name, ":7402/readyz"); status == ok {
				leaders = append(leaders, name)
			}
		}
		found = strings.Join(leaders, " ")
		return len(leaders) == 1, fmt.Sprintf("%q lead", leaders)
	})
	return found
}
