package containers

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/cleave-project/cleave/test/deploy/chart"
)

// cluster is a release of the chart that runs as containers.
type cluster struct {
	*Podman
	objects []runtime.Object
	pods    map[string]core.Pod
	folder  string // has a folder for each Secret
	certs   string // a folder of cleave certs init; empty: there is no encryption
	program string // the program cleave of the same build
}

// root returns a path in the repository.
func root(t *testing.T, elements ...string) string {
	t.Helper()
	dir, err := chart.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{dir}, elements...)...)
}

// deploy renders the chart and plays all of its pods.
func deploy(t *testing.T, p *Podman, values map[string]any, secrets map[string]map[string][]byte,
	certs string) *cluster {
	t.Helper()
	return deployChanged(t, p, values, secrets, certs, func(*core.Pod) {})
}

// deployChanged is deploy for tests of what may be wrong with pods.
func deployChanged(t *testing.T, p *Podman, values map[string]any, secrets map[string]map[string][]byte, certs string,
	change func(*core.Pod)) *cluster {
	t.Helper()
	rendered, err := chart.Render(chart.Default(values))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := rendered.Decode()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	pods, err := Pods(objects, secrets, folder)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{Podman: p, objects: objects, pods: map[string]core.Pod{}, folder: folder, certs: certs,
		program: root(t, "bin", "cleave")}
	for _, pod := range pods {
		change(&pod)
		c.pods[pod.Name] = pod
		p.play(pod)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for name, pod := range c.pods {
				t.Logf("log of %s:\n%s", name, c.logs(name, pod.Spec.Containers[0].Name))
			}
		}
	})
	return c
}

// names returns the names of the pods of a component, in order.
func (c *cluster) names(component string) []string {
	var names []string
	for name, pod := range c.pods {
		if pod.Labels["app.kubernetes.io/component"] == component {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// probe asks a pod what its probe in the chart asks, by the path and the port that are there.
func (c *cluster) probe(pod string, probe func(core.Container) *core.Probe) (int, string) {
	c.t.Helper()
	container := c.template(pod).Spec.Containers[0]
	get := probe(container).HTTPGet
	port := int32(0)
	for _, p := range container.Ports {
		if p.Name == get.Port.String() {
			port = p.ContainerPort
		}
	}
	return c.get(pod, fmt.Sprintf(":%d%s", port, get.Path))
}

// get asks a pod over HTTP for :PORT/PATH, and returns the status and the body, or 0 and what went wrong.
func (c *cluster) get(pod, portAndPath string) (int, string) {
	c.t.Helper()
	answer, err := http.Get("http://" + c.address(pod) + portAndPath)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(body)
}

// template returns the template of a pod as it was rendered.
func (c *cluster) template(pod string) core.PodTemplateSpec {
	for _, o := range c.objects {
		switch o := o.(type) {
		case *apps.StatefulSet:
			if strings.HasPrefix(pod, o.Name) {
				return o.Spec.Template
			}
		case *apps.Deployment:
			if strings.HasPrefix(pod, o.Name) {
				return o.Spec.Template
			}
		}
	}
	c.t.Fatalf("no workload has the pod %s", pod)
	return core.PodTemplateSpec{}
}

// server returns the flags by which a client on this machine reaches the coordinators.
func (c *cluster) server() []string {
	c.t.Helper()
	coordinators := c.names("coordinator")
	var addresses []string
	for _, name := range coordinators {
		addresses = append(addresses, c.address(name)+":7400")
	}
	flags := []string{"--server", strings.Join(addresses, ",")}
	if c.certs == "" {
		return append(flags, "--insecure")
	}
	return append(flags, "--tls", filepath.Join(c.certs, "admin"), "--tls-server-name", coordinators[0])
}

// cleave runs a command, which must succeed, and returns its standard output.
func (c *cluster) cleave(args ...string) string {
	c.t.Helper()
	out, err := cleave(c.program, args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

func cleave(command string, args ...string) (string, error) {
	cmd := exec.Command(command, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("cleave %s: %w\n%s%s", strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String(), nil
}

// awaitWorkers waits until so many workers are attached and ready, and returns what cleave workers shows.
func (c *cluster) awaitWorkers(n int) string {
	c.t.Helper()
	var shown string
	eventually(c.t, fmt.Sprintf("%d workers are ready", n), func() (bool, string) {
		out, err := cleave(c.program, append([]string{"workers"}, c.server()...)...)
		if err != nil {
			return false, err.Error()
		}
		shown = out
		return strings.Count(out, "READY") == n, out
	})
	return shown
}

// labels reads the labels of a result.
func labels(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "labels.csv"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
