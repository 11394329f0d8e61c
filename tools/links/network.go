package links

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/tools/measure"
)

// isolated refuses to run where links of the machine could be changed. Whoever starts the program in namespaces of its
// own needs no cleaning up: the kernel removes them, and all that is in them, with the last process.
func isolated() error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback == 0 && !strings.HasPrefix(i.Name, linkPrefix) && i.Flags&net.FlagUp != 0 {
			return errors.New("links are shaped in namespaces of their own only: run make links, or as root: unshare " +
				"--net --mount --pid --fork --kill-child --mount-proc bin/measure links")
		}
	}
	return nil
}

// hideNamespaces hides the names of the machine's network namespaces, so that those of this run get into nobody's way.
func hideNamespaces(ctx context.Context) error {
	_, err := measure.Run(exec.CommandContext(ctx, "sh", "-c",
		"mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns"))
	return err
}

// linkPrefix begins the names of the interfaces that are made.
const linkPrefix = "link"

const (
	subnet        = "10.99.0."
	bridge        = linkPrefix + "-bridge"
	bridgeAddress = subnet + "254/24"
)

// network is a bridge with a link to each of some machines, which are network namespaces.
type network struct{ machines []*machine }

// machine is one end of a link.
type machine struct {
	name    string // of the namespace
	link    string // the bridge's end of the link
	address string
}

// newNetwork makes machines of these names, connected at a speed. It must be closed.
func newNetwork(ctx context.Context, speed string, names ...string) (*network, error) {
	n := &network{}
	commands := []string{
		"ip link set lo up",
		"ip link add " + bridge + " type bridge",
		"ip addr add " + bridgeAddress + " dev " + bridge,
		"ip link set " + bridge + " up",
	}
	for at, name := range names {
		m := &machine{name: name, link: linkPrefix + strconv.Itoa(at), address: subnet + strconv.Itoa(at+1)}
		n.machines = append(n.machines, m)
		commands = append(commands,
			"ip netns add "+name,
			"ip link add "+m.link+" type veth peer name eth0 netns "+name,
			"ip link set "+m.link+" master "+bridge+" up",
			"ip -n "+name+" addr add "+m.address+"/24 dev eth0",
			"ip -n "+name+" link set lo up",
			"ip -n "+name+" link set eth0 up",
		)
		if speed != unshaped {
			shape := " root tbf rate " + speed + " burst 256kb latency 20ms"
			commands = append(commands, "tc qdisc add dev "+m.link+shape, "tc -n "+name+" qdisc add dev eth0"+shape)
		}
	}
	for _, command := range commands {
		if _, err := measure.Run(exec.CommandContext(ctx, "sh", "-c", command)); err != nil {
			n.close()
			return nil, err
		}
	}
	return n, nil
}

// close removes the machines and the bridge. Processes in them must have ended.
func (n *network) close() {
	for _, m := range n.machines {
		_ = exec.Command("ip", "link", "del", m.link).Run() // some may not have been made
		_ = exec.Command("ip", "netns", "del", m.name).Run()
	}
	_ = exec.Command("ip", "link", "del", bridge).Run()
}

// traffic is the bytes that machines sent and received, by the order of the machines.
type traffic struct{ sent, received []float64 }

// traffic returns the bytes so far. What a machine sends arrives at the bridge's end of its link.
func (n *network) traffic() (t traffic, err error) {
	file, err := os.Open("/proc/net/dev")
	if err != nil {
		return t, err
	}
	defer file.Close()
	counters := readCounters(file)
	for _, m := range n.machines {
		c, found := counters[m.link]
		if !found {
			return t, fmt.Errorf("the link of %s is gone", m.name)
		}
		t.sent, t.received = append(t.sent, c.received), append(t.received, c.sent)
	}
	return t, nil
}

// counter is the bytes that an interface received and sent.
type counter struct{ received, sent float64 }

// readCounters reads a table as in /proc/net/dev: after the name of an interface, 8 numbers of what it received, and 8
// of what it sent, each time the bytes first.
func readCounters(r io.Reader) map[string]counter {
	counters := map[string]counter{}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		name, numbers, found := strings.Cut(lines.Text(), ":")
		fields := strings.Fields(numbers)
		if !found || len(fields) < 9 {
			continue
		}
		var c counter
		c.received, _ = strconv.ParseFloat(fields[0], 64)
		c.sent, _ = strconv.ParseFloat(fields[8], 64)
		counters[strings.TrimSpace(name)] = c
	}
	return counters
}

// since returns what was sent and received after before was read.
func (t traffic) since(before traffic) traffic {
	var d traffic
	for at := range t.sent {
		d.sent = append(d.sent, t.sent[at]-before.sent[at])
		d.received = append(d.received, t.received[at]-before.received[at])
	}
	return d
}
