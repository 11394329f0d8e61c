package apiserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cleave-project/cleave/test/deploy/chart"
)

// manifests reads a file of deploy/kubernetes.
func manifests(t *testing.T, name string) string {
	t.Helper()
	root, err := chart.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "deploy", "kubernetes", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// apply applies manifests with strict validation, as kubectl apply -f FILE does. Nothing may be refused, and nothing
// may be warned of.
func (p *Plane) apply(text string) {
	p.t.Helper()
	if out, warnings, err := p.kubectl(text, "apply", "--validate=strict", "-f", "-"); err != nil || warnings != "" {
		p.t.Fatalf("kubectl apply: %v\n%s%s", err, out, warnings)
	}
}

// inNamespace renders values of the chart for a namespace of their own, without the kinds that other operators define.
func inNamespace(t *testing.T, name string) string {
	t.Helper()
	values, err := chart.Values(name)
	if err != nil {
		t.Fatal(err)
	}
	values["namespace"] = map[string]any{"create": true}
	rendered, err := chart.Render(chart.Release{Name: "cleave", Namespace: name, Values: values})
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, m := range rendered.Manifests {
		if !strings.Contains(m, "cert-manager.io/v1") && !strings.Contains(m, "monitoring.coreos.com/v1") {
			kept = append(kept, m)
		}
	}
	return strings.Join(kept, "---\n")
}

// Everything passes strict validation and Pod Security admission at the level restricted; what breaks either does not.
func TestAdmission(t *testing.T) {
	p := startPlane(t)
	nodes := startNodes(t, p.Client, 2)
	p.apply(manifests(t, "trial"))
	for _, name := range []string{"single", "several", "everything"} {
		p.apply(inNamespace(t, name))
	}
	broken := strings.Replace(manifests(t, "trial"), "terminationGracePeriodSeconds: 30",
		"terminationGraceSeconds: 30", 1)
	if _, complaint, err := p.kubectl(broken, "apply", "--validate=strict", "-f", "-"); err == nil ||
		!strings.Contains(complaint, "terminationGraceSeconds") {
		t.Errorf("a field that does not exist: %v, %s", err, complaint)
	}
	pod := "{apiVersion: v1, kind: Pod, metadata: {name: root, namespace: cleave}, spec: {serviceAccountName: " +
		"cleave, containers: [{name: c, image: c}]}}"
	if _, complaint, err := p.kubectl(pod, "apply", "-f", "-"); err == nil ||
		!strings.Contains(complaint, "violates PodSecurity") {
		t.Errorf("a pod that may run as root: %v, %s", err, complaint)
	}

	// The trial becomes ready: its volume is bound, its pods are scheduled, and its job is done.
	p.volume("2Gi")
	p.rolledOut("statefulset/cleave-coordinator")
	p.rolledOut("deployment/cleave-worker")
	if out, complaint, err := p.kubectl("", "--namespace=cleave", "wait", "--for=condition=complete", "--timeout=180s",
		"job/cleave-first-job"); err != nil {
		t.Errorf("the first job: %v, %s%s", err, out, complaint)
	}

	// One coordinator has no budget, so that its node can be drained; it starts on the other node, with its volume.
	from := p.pod("cleave-coordinator-0").Spec.NodeName
	p.drain(from)
	p.rolledOut("statefulset/cleave-coordinator")
	if to := p.pod("cleave-coordinator-0").Spec.NodeName; to == from || len(nodes.Names) != 2 {
		t.Errorf("the coordinator is on %s again, which was drained", to)
	}
}

// Three coordinators and three workers are updated one at a time, and an eviction waits for the budget.
func TestRolloutAndEviction(t *testing.T) {
	p := startPlane(t)
	nodes := startNodes(t, p.Client, 3)
	p.apply(manifests(t, "several"))
	p.rolledOut("statefulset/cleave-coordinator")
	p.rolledOut("deployment/cleave-worker")

	for workload, want := range map[string]struct {
		component string
		least     int
	}{
		"deployment/cleave-worker":       {"worker", 3},
		"statefulset/cleave-coordinator": {"coordinator", 2},
	} {
		least := p.leastReady(want.component, func() {
			container := want.component
			image := fmt.Sprintf("%s=localhost/cleave/%s:next", container, want.component)
			if out, complaint, err := p.kubectl("", "--namespace=cleave", "set", "image", workload, image); err != nil {
				t.Fatalf("kubectl set image: %v\n%s%s", err, out, complaint)
			}
			p.rolledOut(workload)
		})
		if least < want.least {
			t.Errorf("only %d of 3 pods of %s were ready at some time of its update, want %d", least,
				workload, want.least)
		}
		for _, pod := range p.pods(want.component) {
			if image := pod.Spec.Containers[0].Image; pod.DeletionTimestamp == nil &&
				!strings.HasSuffix(image, ":next") {
				t.Errorf("%s still has the image %s", pod.Name, image)
			}
		}
	}

	// New pods do not become ready: one eviction is allowed, and the next one is not, until they do.
	for _, component := range []string{"worker", "coordinator"} {
		p.settled(component)
		pods := p.pods(component)
		nodes.held.Store(true)
		if err := p.evict(pods[0].Name); err != nil {
			t.Fatalf("the first eviction of a %s: %v", component, err)
		}
		eventually(t, "the budget is used up", func() (bool, string) {
			budget, err := p.Client.PolicyV1().PodDisruptionBudgets("cleave").Get(t.Context(), "cleave-"+component,
				meta.GetOptions{})
			return err == nil && budget.Status.DisruptionsAllowed == 0, fmt.Sprint(budget, err)
		})
		if err := p.evict(pods[1].Name); !errors.IsTooManyRequests(err) ||
			!strings.Contains(err.Error(), "disruption budget") {
			t.Errorf("the second eviction of a %s: %v, want that the disruption budget refuses it", component, err)
		}
		nodes.held.Store(false)
		eventually(t, "the second eviction is allowed", func() (bool, string) {
			err := p.evict(pods[1].Name)
			return err == nil, fmt.Sprint(err)
		})
		p.settled(component)
	}

	p.drain(nodes.Names[0])
	for _, component := range []string{"worker", "coordinator"} {
		p.settled(component)
		for _, pod := range p.pods(component) {
			if pod.Spec.NodeName == nodes.Names[0] {
				t.Errorf("%s is on %s, which was drained", pod.Name, pod.Spec.NodeName)
			}
		}
	}
}

// volume makes a volume for the claim of a coordinator, which a provisioner does elsewhere.
func (p *Plane) volume(size string) {
	p.t.Helper()
	volume := &core.PersistentVolume{ObjectMeta: meta.ObjectMeta{Name: "volume"}, Spec: core.PersistentVolumeSpec{
		Capacity:               core.ResourceList{core.ResourceStorage: resource.MustParse(size)},
		AccessModes:            []core.PersistentVolumeAccessMode{core.ReadWriteOnce},
		PersistentVolumeSource: core.PersistentVolumeSource{HostPath: &core.HostPathVolumeSource{Path: "/nowhere"}},
	}}
	if _, err := p.Client.CoreV1().PersistentVolumes().Create(p.t.Context(), volume, meta.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *Plane) rolledOut(workload string) {
	p.t.Helper()
	if out, complaint, err := p.kubectl("", "--namespace=cleave", "rollout", "status", "--timeout=180s",
		workload); err != nil {
		pods, _, _ := p.kubectl("", "--namespace=cleave", "describe", "pods")
		p.t.Fatalf("rollout of %s: %v\n%s%s\n%s", workload, err, out, complaint, pods)
	}
}

func (p *Plane) drain(node string) {
	p.t.Helper()
	if out, complaint, err := p.kubectl("", "drain", node, "--delete-emptydir-data", "--timeout=180s"); err != nil {
		p.t.Fatalf("kubectl drain: %v\n%s%s", err, out, complaint)
	}
}

func (p *Plane) evict(pod string) error {
	return p.Client.PolicyV1().Evictions("cleave").Evict(p.t.Context(),
		&policy.Eviction{ObjectMeta: meta.ObjectMeta{Name: pod, Namespace: "cleave"}})
}

func (p *Plane) pod(name string) *core.Pod {
	p.t.Helper()
	pod, err := p.Client.CoreV1().Pods("cleave").Get(p.t.Context(), name, meta.GetOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	return pod
}

// pods returns the pods of a component.
func (p *Plane) pods(component string) []core.Pod {
	p.t.Helper()
	list, err := p.Client.CoreV1().Pods("cleave").List(p.t.Context(),
		meta.ListOptions{LabelSelector: "app.kubernetes.io/component=" + component})
	if err != nil {
		p.t.Fatal(err)
	}
	return list.Items
}

// settled waits until three pods of a component are there, all of them ready, and the budget knows it.
func (p *Plane) settled(component string) {
	p.t.Helper()
	eventually(p.t, "three pods of "+component+" are ready", func() (bool, string) {
		pods := p.pods(component)
		ready := 0
		for i := range pods {
			if isReady(&pods[i]) {
				ready++
			}
		}
		budget, err := p.Client.PolicyV1().PodDisruptionBudgets("cleave").Get(p.t.Context(), "cleave-"+component,
			meta.GetOptions{})
		allowed := err == nil && budget.Status.DisruptionsAllowed == 1 &&
			budget.Status.ObservedGeneration == budget.Generation
		return len(pods) == 3 && ready == 3 && allowed, fmt.Sprintf("%d of %d are ready; the budget: %v, %v", ready,
			len(pods), allowed, err)
	})
}

// leastReady returns how many pods of a component were ready at least while something happened.
func (p *Plane) leastReady(component string, something func()) int {
	p.t.Helper()
	least := len(p.pods(component))
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			list, err := p.Client.CoreV1().Pods("cleave").List(p.t.Context(),
				meta.ListOptions{LabelSelector: "app.kubernetes.io/component=" + component})
			ready := 0
			for i := range list.Items {
				if isReady(&list.Items[i]) {
					ready++
				}
			}
			if err == nil {
				least = min(least, ready)
			}
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	something()
	close(stop)
	watching.Wait()
	return least
}
