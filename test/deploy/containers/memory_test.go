package containers

import (
	"path/filepath"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cleave-project/cleave/test/deploy/chart"
)

// A worker whose container has less memory than it was told is killed whenever it builds tiles, and started again.
// cleave workers says what is wrong before that, and the job ends with a sentence.
func TestOutOfMemory(t *testing.T) {
	p := newPodman(t)
	for _, program := range []string{"coordinator", "worker"} {
		p.load(images(t), program, "dev")
	}
	values, err := chart.Values("trial")
	if err != nil {
		t.Fatal(err)
	}
	values["worker"].(map[string]any)["replicas"] = 1
	delete(values, "firstJob")
	c := deployChanged(t, p, values, nil, "", func(pod *core.Pod) {
		if pod.Labels["app.kubernetes.io/component"] == "worker" {
			worker := &pod.Spec.Containers[0]
			worker.Resources.Limits[core.ResourceMemory] = resource.MustParse("300Mi")
			worker.Args = append(worker.Args, "--memory=2GiB")
		}
	})
	eventually(t, "cleave workers says that the worker has too little memory", func() (bool, string) {
		shown := c.awaitWorkers(1)
		return strings.Contains(shown, "has a --memory of 2 GiB, and its system allows it 300 MiB"), shown
	})
	data := points(t, 12000) // 550 MiB as float32
	_, err = cleave(c.program,
		append(append([]string{"run", "--storage", "float32", "--out", filepath.Join(t.TempDir(), "none"), "--quiet"},
			c.server()...), work(data)...)...)
	if err == nil || !strings.Contains(err.Error(), "ended 5 times while it computed for this job") {
		t.Errorf("the job: %v", err)
	}
	if restarts := c.run("inspect", "cleave-worker-0-worker", "--format", "{{.RestartCount}}"); restarts < "5" {
		t.Errorf("the worker was started again %s times", restarts)
	}
	c.awaitWorkers(1)
}
