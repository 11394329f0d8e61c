package httpapi

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
)

// The bytes that a client may send before its first request are limited, and the error says so.
func TestLongStarts(t *testing.T) {
	var start bytes.Buffer
	start.WriteString(http2.ClientPreface)
	frames := http2.NewFramer(&start, nil)
	for start.Len() <= maxStartBytes {
		if err := frames.WriteSettings(make([]http2.Setting, 2000)...); err != nil {
			t.Fatal(err)
		}
	}
	client, server := net.Pipe()
	read := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, client)
		close(read)
	}()
	err := (&PortConn{Conn: server}).identify(bufio.NewReader(&start))
	if err == nil || err.Error() != "too many bytes of HTTP/2 before the first request" {
		t.Errorf("got %v", err)
	}
	server.Close()
	<-read
}
