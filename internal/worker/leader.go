package worker

import (
	"slices"
	"strings"

	"google.golang.org/grpc"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
)

// leader looks for the coordinator that leads, among those that the worker knows: it asks one after the other, and next the
// one that a standby names.
type leader struct {
	options     func(address string) ([]grpc.DialOption, error)
	addresses   []string
	connections map[string]*grpc.ClientConn

	address string          // to try next
	next    int             // of addresses, after it
	tried   map[string]bool // without success, since the last pause
}

func newLeader(addresses []string, options func(address string) ([]grpc.DialOption, error)) (*leader, error) {
	l := &leader{options: options, connections: map[string]*grpc.ClientConn{}, tried: map[string]bool{}}
	for _, address := range addresses {
		if address = strings.TrimSpace(address); address != "" && !slices.Contains(l.addresses, address) {
			l.addresses = append(l.addresses, address)
		}
	}
	for _, address := range l.addresses {
		if _, err := l.connect(address); err != nil {
			l.close()
			return nil, err
		}
	}
	if len(l.addresses) == 0 {
		return nil, fault.Invalid("NO_COORDINATOR", "a worker needs the coordinator's address")
	}
	l.advance()
	return l, nil
}

// several tells whether there is more than one coordinator to look for.
func (l *leader) several() bool { return len(l.addresses) > 1 }

func (l *leader) connect(address string) (*grpc.ClientConn, error) {
	if c := l.connections[address]; c != nil {
		return c, nil
	}
	options, err := l.options(address)
	if err != nil {
		return nil, err
	}
	c, err := grpc.NewClient(address, options...)
	if err != nil {
		return nil, fault.Invalid("BAD_ADDRESS", "the coordinator's address %q is not usable: %v", address, err)
	}
	l.connections[address] = c
	return c, nil
}

// client is the coordinator to try next.
func (l *leader) client() (workerv1.WorkerServiceClient, error) {
	c, err := l.connect(l.address)
	if err != nil {
		return nil, err
	}
	c.ResetConnectBackoff() // the worker paces its attempts itself
	return workerv1.NewWorkerServiceClient(c), nil
}

func (l *leader) advance() {
	l.address = l.addresses[l.next]
	l.next = (l.next + 1) % len(l.addresses)
}

// failed decides whom to try after an error. It tells whether all have been tried, so that it is time for a pause.
func (l *leader) failed(err error) (triedAll bool) {
	l.tried[l.address] = true
	if hint, _ := wire.LeaderOf(err); hint != "" && !l.tried[hint] {
		l.address = hint
		return false
	}
	for range l.addresses {
		if l.advance(); !l.tried[l.address] {
			return false
		}
	}
	clear(l.tried)
	return true
}

func (l *leader) close() {
	for _, c := range l.connections {
		c.Close()
	}
}
