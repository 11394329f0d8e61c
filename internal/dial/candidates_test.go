package dial

import (
	"fmt"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// Name servers are asked for addresses, and not how to call.
func TestNameServersDoNotConfigureCalls(t *testing.T) {
	asked := make(chan bool, 1)
	names := manual.NewBuilderWithScheme("test")
	names.BuildCallback = func(_ resolver.Target, _ resolver.ClientConn, options resolver.BuildOptions) {
		asked <- !options.DisableServiceConfig
	}
	c, err := NewCandidates("test:///coordinator", func(string) ([]grpc.DialOption, error) {
		return []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(names)},
			nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	connection, err := c.Connection()
	if err != nil {
		t.Fatal(err)
	}
	connection.Connect()
	if <-asked {
		t.Error("the name server is asked how to call")
	}
}

// Connections to former leaders are closed in the end, and those to given addresses and to the last leaders stay.
func TestConnectionsToFormerLeadersAreClosed(t *testing.T) {
	c, err := NewCandidates("given:1", func(string) ([]grpc.DialOption, error) {
		return []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	name := func(leader int) *grpc.ClientConn {
		c.Current = fmt.Sprintf("leader-%d:1", leader)
		connection, err := c.Connection()
		if err != nil {
			t.Fatal(err)
		}
		return connection
	}
	first := name(0)
	second := name(1)
	for leader := 2; leader < 2*maxNamed; leader++ {
		if name(0) != first {
			t.Fatal("the connection in use was closed")
		}
		name(leader)
	}
	if len(c.connections) != 1+maxNamed {
		t.Errorf("%d connections are open", len(c.connections))
	}
	if first.GetState() == connectivity.Shutdown || second.GetState() != connectivity.Shutdown {
		t.Errorf("the first is %v, the second %v", first.GetState(), second.GetState())
	}
	c.Advance()
	if given, err := c.Connection(); err != nil || given.GetState() == connectivity.Shutdown {
		t.Errorf("the given one: %v", err)
	}
}
