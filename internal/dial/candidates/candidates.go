// Package candidates has the coordinators that may lead, as workers and clients know them: their addresses, a connection to
// each, and which one to ask next.
package candidates

import (
	"slices"
	"strings"

	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/fault"
)

// Candidates are the coordinators that may lead. It is not safe for concurrent use.
type Candidates struct {
	// Current is the address of the one to ask: one of those given, or one that a standby named.
	Current string

	addresses   []string
	next        int // of addresses, after Current
	options     func(address string) ([]grpc.DialOption, error)
	connections map[string]*grpc.ClientConn
}

// New has the coordinators at addresses with commas between them. Options are those of a connection to one of them.
// Nothing is sent yet.
func New(addresses string, options func(address string) ([]grpc.DialOption, error)) (*Candidates, error) {
	c := &Candidates{options: options, connections: map[string]*grpc.ClientConn{}}
	for address := range strings.SplitSeq(addresses, ",") {
		if address = strings.TrimSpace(address); address != "" && !slices.Contains(c.addresses, address) {
			c.addresses = append(c.addresses, address)
		}
	}
	if len(c.addresses) == 0 {
		return nil, fault.Invalid("BAD_ADDRESS", "%q is no address of a coordinator, use HOST:PORT", addresses)
	}
	for _, address := range c.addresses {
		if _, err := c.connect(address); err != nil {
			c.Close()
			return nil, err
		}
	}
	c.Advance()
	return c, nil
}

// Count is how many addresses were given.
func (c *Candidates) Count() int { return len(c.addresses) }

// Advance goes to the next of the addresses that were given.
func (c *Candidates) Advance() {
	c.Current = c.addresses[c.next]
	c.next = (c.next + 1) % len(c.addresses)
}

// Connection is that to the current coordinator.
func (c *Candidates) Connection() (*grpc.ClientConn, error) { return c.connect(c.Current) }

func (c *Candidates) connect(address string) (*grpc.ClientConn, error) {
	if connection := c.connections[address]; connection != nil {
		return connection, nil
	}
	options, err := c.options(address)
	if err != nil {
		return nil, err
	}
	// How calls are made is not for the name server to say, and no connection waits until it has been asked.
	connection, err := grpc.NewClient(address, append(options, grpc.WithDisableServiceConfig())...)
	if err != nil {
		return nil, fault.Invalid("BAD_ADDRESS", "%q is no address of a coordinator, use HOST:PORT: %v", address, err)
	}
	c.connections[address] = connection
	return connection, nil
}

// Close closes all connections.
func (c *Candidates) Close() {
	for _, connection := range c.connections {
		connection.Close()
	}
}
