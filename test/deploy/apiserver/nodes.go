package apiserver

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Nodes simulates the kubelets of some nodes: pods that are scheduled there become ready, and pods that are deleted
// end.
type Nodes struct {
	client kubernetes.Interface
	Names  []string
	held   atomic.Bool // new pods start, and do not become ready
}

// startNodes registers nodes and takes care of their pods until the test ends.
func startNodes(t *testing.T, client kubernetes.Interface, n int) *Nodes {
	t.Helper()
	nodes := &Nodes{client: client}
	for i := range n {
		name := fmt.Sprintf("node-%d", i)
		nodes.Names = append(nodes.Names, name)
		capacity := core.ResourceList{
			core.ResourceCPU: resource.MustParse("16"), core.ResourceMemory: resource.MustParse("64Gi"),
			core.ResourcePods:             resource.MustParse("110"),
			core.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		}
		node := &core.Node{
			ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}}}
		node.Status.Capacity, node.Status.Allocatable = capacity, capacity
		node.Status.Conditions = []core.NodeCondition{{Type: core.NodeReady, Status: core.ConditionTrue,
			LastHeartbeatTime: meta.Now(), LastTransitionTime: meta.Now()}}
		if _, err := client.CoreV1().Nodes().Create(t.Context(), node, meta.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		seconds := int32(40)
		now := meta.NowMicro()
		lease := &coordination.Lease{ObjectMeta: meta.ObjectMeta{Name: name},
			Spec: coordination.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now}}
		eventually(t, "the node has a lease", func() (bool, string) {
			_, err := client.CoordinationV1().Leases(core.NamespaceNodeLease).Create(t.Context(), lease,
				meta.CreateOptions{})
			return err == nil, fmt.Sprint(err)
		})
	}
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { nodes.every(ctx, 100*time.Millisecond, nodes.reportPods) })
	done.Go(func() { nodes.every(ctx, 5*time.Second, nodes.renewLeases) })
	t.Cleanup(func() {
		stop()
		done.Wait()
	})
	return nodes
}

func (n *Nodes) every(ctx context.Context, interval time.Duration, do func(context.Context)) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		do(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// renewLeases tells the controller manager that the nodes are alive. What fails is tried again at the next tick, here
// and below.
func (n *Nodes) renewLeases(ctx context.Context) {
	for _, name := range n.Names {
		lease, err := n.client.CoordinationV1().Leases(core.NamespaceNodeLease).Get(ctx, name, meta.GetOptions{})
		if err != nil {
			continue
		}
		now := meta.NowMicro()
		lease.Spec.RenewTime = &now
		_, _ = n.client.CoordinationV1().Leases(core.NamespaceNodeLease).Update(ctx, lease, meta.UpdateOptions{})
	}
}

// reportPods does for all pods what a kubelet would report next.
func (n *Nodes) reportPods(ctx context.Context) {
	pods, err := n.client.CoreV1().Pods("").List(ctx, meta.ListOptions{})
	if err != nil {
		return
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		switch {
		case pod.Spec.NodeName == "":
		case pod.DeletionTimestamp != nil:
			now := int64(0)
			_ = n.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name,
				meta.DeleteOptions{GracePeriodSeconds: &now})
		default:
			n.reportPod(ctx, pod)
		}
	}
}

func (n *Nodes) reportPod(ctx context.Context, pod *core.Pod) {
	isJob := pod.Spec.RestartPolicy != core.RestartPolicyAlways
	if pod.Status.Phase == core.PodSucceeded || isReady(pod) || pod.Status.Phase == core.PodRunning && n.held.Load() {
		return
	}
	status := core.ConditionTrue
	if n.held.Load() {
		status = core.ConditionFalse
	}
	pod.Status.Phase, pod.Status.PodIP, pod.Status.HostIP = core.PodRunning, "10.0.0.1", "10.0.1.1"
	pod.Status.PodIPs = []core.PodIP{{IP: "10.0.0.1"}}
	pod.Status.HostIPs = []core.HostIP{{IP: "10.0.1.1"}}
	now := meta.Now()
	pod.Status.StartTime = &now
	pod.Status.Conditions = []core.PodCondition{
		{Type: core.PodScheduled, Status: core.ConditionTrue, LastTransitionTime: now},
		{Type: core.ContainersReady, Status: status, LastTransitionTime: now},
		{Type: core.PodReady, Status: status, LastTransitionTime: now},
	}
	if isJob {
		pod.Status.Phase = core.PodSucceeded
	}
	_, _ = n.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, meta.UpdateOptions{})
}

func isReady(pod *core.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == core.PodReady && c.Status == core.ConditionTrue {
			return pod.DeletionTimestamp == nil
		}
	}
	return false
}
