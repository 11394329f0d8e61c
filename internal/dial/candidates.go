package dial

import (
	"slices"
	"strings"

	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/fault"
)

// Candidates are the coordinators that may lead: the connections to them, and the address of the one to ask next. They
// are not safe for concurrent use.
type Candidates struct {
	// Current is the address to ask: one of those given to NewCandidates, or one that a standby named.
	Current string

	addresses   []string
	next        int // index of the address that Advance moves to
	options     func(address string) ([]grpc.DialOption, error)
	connections map[string]*grpc.ClientConn
	named       []string // addresses in connections that standbys named, the one used last at the end
}

// maxNamed is how many connections to coordinators that standbys named are kept. Where each new leader has another
// address, they would otherwise add up. By the time that so many others have led, no call uses the oldest.
const maxNamed = 4

// NewCandidates returns the coordinators at comma-separated addresses. It calls options for the dial options of each
// address. It sends nothing.
func NewCandidates(addresses string, options func(address string) ([]grpc.DialOption, error)) (*Candidates, error) {
	c := &Candidates{options: options, connections: map[string]*grpc.ClientConn{}}
	for address := range strings.SplitSeq(addresses, ",") {
		if address = strings.TrimSpace(address); address != "" && !slices.Contains(c.addresses, address) {
			c.addresses = append(c.addresses, address)
		}
	}
	if len(c.addresses) == 0 {
		return nil, fault.Invalid("BAD_ADDRESS", "%q is not an address of a coordinator; use HOST:PORT", addresses)
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

// Count returns the number of addresses given to NewCandidates.
func (c *Candidates) Count() int { return len(c.addresses) }

// Advance makes the next of the addresses given to NewCandidates the current one.
func (c *Candidates) Advance() {
	c.Current = c.addresses[c.next]
	c.next = (c.next + 1) % len(c.addresses)
}

// Connection returns the connection to the current coordinator. It stays open until Close, or until more than maxNamed
// others have been named since it was last asked for.
func (c *Candidates) Connection() (*grpc.ClientConn, error) {
	connection, err := c.connect(c.Current)
	if err != nil || slices.Contains(c.addresses, c.Current) {
		return connection, err
	}
	c.named = append(slices.DeleteFunc(c.named, func(address string) bool { return address == c.Current }), c.Current)
	if len(c.named) > maxNamed {
		c.connections[c.named[0]].Close()
		delete(c.connections, c.named[0])
		c.named = c.named[1:]
	}
	return connection, nil
}

func (c *Candidates) connect(address string) (*grpc.ClientConn, error) {
	if connection := c.connections[address]; connection != nil {
		return connection, nil
	}
	options, err := c.options(address)
	if err != nil {
		return nil, err
	}
	// Service configurations come from the name server, which must not configure our calls or delay the connection.
	connection, err := grpc.NewClient(address, append(options, grpc.WithDisableServiceConfig())...)
	if err != nil {
		return nil, fault.Invalid("BAD_ADDRESS", "%q is not an address of a coordinator; use HOST:PORT: %v",
			address, err)
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
