package dial_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/cleave-project/cleave/internal/dial"
)

func TestDialReachesTheServer(t *testing.T) {
	listener := dial.ListenPipe(dial.PipeAddr{})
	defer listener.Close()
	go func() {
		server, err := listener.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(server, "hello")
		server.Close()
	}()
	client, err := listener.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(client); string(got) != "hello" || err != nil {
		t.Errorf("read %q and %v", got, err)
	}
}

func TestNobodyAccepts(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	listener := dial.ListenPipe(dial.PipeAddr{})
	if _, err := listener.Dial(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled dial returns %v", err)
	}
	listener.Close()
	listener.Close() // again, as servers do
	if _, err := listener.Dial(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a dial to a closed listener returns %v", err)
	}
	if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener accepts: %v", err)
	}
	client, server := net.Pipe()
	if err := listener.Put(t.Context(), server); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener takes a connection: %v", err)
	}
	if _, err := client.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the refused connection is not closed: %v", err)
	}
}
