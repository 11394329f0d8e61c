package candidates

import (
	"testing"

	"google.golang.org/grpc"
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
	c, err := New("test:///coordinator", func(string) ([]grpc.DialOption, error) {
		return []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(names)}, nil
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
