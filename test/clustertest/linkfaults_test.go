package clustertest

import (
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"time"
)

// linkFaults are what happens between workers and the coordinator.
func linkFaults() []disturbance {
	return []disturbance{
		{name: "a link is cut again and again", longOnly: true, load: faultPoints, start: startBehindProxy,
			strike: cutLinks},
		{name: "a link goes silent", longOnly: true, load: faultPoints, start: startBehindProxy, strike: freezeLink},
		{name: "packets vanish (half-open link)", load: faultPoints, needs: needsNamespaces, start: startInNamespace,
			strike: losePackets},
		{name: "a link of 2 Mbit/s", longOnly: true, load: faultPoints, needs: needsNamespaces, start: startInNamespace,
			strike: slowLink},
	}
}

func startBehindProxy(r *faultRun) {
	r.startWorkers(2)
	link := startProxy(r, r.c.Addr)
	r.workers = append(r.workers, StartWorkerAt(r, link.addr(), "far"))
	r.link = link
}

func cutLinks(r *faultRun) {
	for range 4 {
		r.iterate()
		r.link.cut()
	}
}

func freezeLink(r *faultRun) {
	r.iterate()
	r.link.freeze()
}

// needsNamespaces is why there are no network namespaces here.
func needsNamespaces() string {
	if !isRoot() {
		return "network namespaces need root"
	}
	for _, program := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(program); err != nil {
			return "there is no " + program
		}
	}
	return ""
}

// namespaces numbers the namespaces of this process.
var namespaces atomic.Int32

// namespace is a network of its own for a worker, with a link to the coordinator's.
type namespace struct {
	r    *faultRun
	name string // of the namespace
	near string // the coordinator's end of the link
	far  string // the worker's
}

// startInNamespace starts a worker at the other end of a link that packets may get lost on. The coordinator is reached
// through a proxy at the near end, so that it need not listen there.
func startInNamespace(r *faultRun) {
	r.startWorkers(2)
	n := namespaces.Add(1)
	id := fmt.Sprintf("cl%d-%d", os.Getpid()%100_000, n)
	ns := &namespace{r: r, name: "ns" + id, near: "a" + id, far: "b" + id}
	subnet := fmt.Sprintf("10.%d.%d", 100+os.Getpid()%100, n)
	r.Cleanup(func() {
		_ = exec.Command("ip", "link", "del", ns.near).Run() // gone with the namespace, mostly
		_ = exec.Command("ip", "netns", "del", ns.name).Run()
	})
	ns.run("ip", "netns", "add", ns.name)
	ns.run("ip", "link", "add", ns.near, "type", "veth", "peer", "name", ns.far, "netns", ns.name)
	ns.run("ip", "addr", "add", subnet+".1/24", "dev", ns.near)
	ns.run("ip", "link", "set", ns.near, "up")
	ns.run("ip", "-n", ns.name, "addr", "add", subnet+".2/24", "dev", ns.far)
	ns.run("ip", "-n", ns.name, "link", "set", ns.far, "up")
	link := startProxyAt(r, subnet+".1:0", r.c.Addr)
	args := []string{"netns", "exec", ns.name, Build(r).Worker, "--coordinator", link.addr(), "--name", "far",
		"--threads", "1", "--memory", "1GiB"}
	if r.c.options.Dial.Dir == "" {
		args = append(args, "--insecure")
	}
	p := start(r, "worker far", "ip", args...)
	r.workers = append(r.workers, &Worker{Name: "far", Process: p})
	r.namespace = ns
}

func (ns *namespace) run(program string, args ...string) {
	ns.r.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		ns.r.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
}

// losePackets lets all packets vanish, without a word to either side, and then pass again.
func losePackets(r *faultRun) {
	ns := r.namespace
	r.iterate()
	ns.run("ip", "link", "set", ns.near, "down")
	r.later(2*time.Second, func() { _ = exec.Command("ip", "link", "set", ns.near, "up").Run() }) // it may be gone
}

// slowLink slows the link down in both directions for the rest of the run.
func slowLink(r *faultRun) {
	ns := r.namespace
	r.iterate()
	limit := []string{"root", "tbf", "rate", "2mbit", "burst", "16kb", "latency", "200ms"}
	ns.run("tc", append([]string{"qdisc", "add", "dev", ns.near}, limit...)...)
	ns.run("tc", append([]string{"-n", ns.name, "qdisc", "add", "dev", ns.far}, limit...)...)
	time.Sleep(time.Duration(r.rng.IntN(100)) * time.Millisecond)
}
