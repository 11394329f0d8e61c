package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/credentials"
)

// PortConn is a connection whose protocol is known. It begins with the bytes that were read to find that out.
type PortConn struct {
	net.Conn
	in   io.Reader // what the client sends, from the beginning
	port *Port
	info *credentials.TLSInfo // nil if the connection is not encrypted
	grpc bool
}

func (c *PortConn) Read(p []byte) (int, error) { return c.in.Read(p) }

// TLS returns the state of the TLS connection, or nil if the connection is not encrypted.
func (c *PortConn) TLS() *tls.ConnectionState {
	if c.info == nil {
		return nil
	}
	return &c.info.State
}

// Dial opens a connection to the gRPC server of the port. The server sees the address and the certificate of the
// client of c as those of the caller, so that calls made for the client have its rights and no others.
func (c *PortConn) Dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	same := &PortConn{Conn: &inside{Conn: server, remote: c.RemoteAddr()}, in: server, port: c.port,
		info: c.info, grpc: true}
	if err := c.port.grpc.Put(ctx, same); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// inside is the server's end of a connection within the process. It has the remote address of the connection that it
// stands for.
type inside struct {
	net.Conn
	remote net.Addr
}

func (i *inside) RemoteAddr() net.Addr { return i.remote }

// Limits on what a client may send before its protocol is known.
const (
	maxStartBytes       = 128 << 10
	maxFirstHeaderBytes = 64 << 10
	maxStartFrames      = 32
	maxFrameBytes       = 16 << 10 // what HTTP/2 allows before settings say otherwise
)

// identify reads the first bytes of the connection from in and determines its protocol.
func (c *PortConn) identify(in *bufio.Reader) error {
	c.in = in
	for count := range len(http2.ClientPreface) {
		start, err := in.Peek(count + 1)
		if err != nil {
			return err
		}
		if string(start) != http2.ClientPreface[:len(start)] {
			return nil // HTTP/1.1, or something that the HTTP server refuses
		}
	}
	return c.identifyHTTP2(in)
}

// identifyHTTP2 reads the frames of a connection up to its first request. gRPC clients wait for the settings of the
// server before they send one, so settings must be sent first. The server to which the connection goes sends its own
// settings later, which HTTP/2 allows at any time.
func (c *PortConn) identifyHTTP2(in *bufio.Reader) error {
	if _, err := in.Discard(len(http2.ClientPreface)); err != nil {
		return err
	}
	seen := &bytes.Buffer{} // the framer reads no more than the frames that it returns
	limited := &io.LimitedReader{R: in, N: maxStartBytes}
	frames := http2.NewFramer(c.Conn, io.TeeReader(limited, seen))
	frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	frames.MaxHeaderListSize = maxFirstHeaderBytes
	frames.SetMaxReadFrameSize(maxFrameBytes)
	if err := frames.WriteSettings(); err != nil {
		return err
	}
	acknowledged, decided := false, false
	for count := 0; !decided; count++ {
		if count == maxStartFrames {
			return errors.New("too many HTTP/2 frames before the first request")
		}
		at := seen.Len()
		frame, err := frames.ReadFrame()
		if err != nil && limited.N == 0 {
			return errors.New("too many bytes of HTTP/2 before the first request")
		}
		if err != nil {
			return err
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			// of our settings; the server that gets the connection knows nothing of them
			if f.IsAck() && !acknowledged {
				acknowledged = true
				seen.Truncate(at)
			}
		case *http2.WindowUpdateFrame, *http2.PriorityFrame:
		case *http2.MetaHeadersFrame:
			c.grpc = isGRPC(f)
			decided = true
		default: // such as a ping, which only gRPC clients send before their first request
			c.grpc, decided = true, true
		}
	}
	c.in = io.MultiReader(strings.NewReader(http2.ClientPreface), seen, in)
	if !acknowledged && !c.grpc { // gRPC ignores it
		c.in = &ackFilter{from: c.in, skip: int64(len(http2.ClientPreface))}
	}
	return nil
}

// isGRPC reports whether a request is one of gRPC, and not of gRPC-Web.
func isGRPC(request *http2.MetaHeadersFrame) bool {
	for _, field := range request.RegularFields() {
		if field.Name == "content-type" {
			rest, is := strings.CutPrefix(field.Value, "application/grpc")
			return is && (rest == "" || rest[0] == '+' || rest[0] == ';')
		}
	}
	return false
}

// ackFilter removes the acknowledgment of the settings that identifyHTTP2 sent from an HTTP/2 connection. A server
// would take a second acknowledgment for an error.
type ackFilter struct {
	from   io.Reader
	skip   int64  // bytes of the current frame that are left
	header []byte // of a frame, not passed on yet
	done   bool
}

const frameHeaderBytes = 9

func (a *ackFilter) Read(p []byte) (int, error) {
	for {
		switch {
		case a.done && len(a.header) == 0:
			return a.from.Read(p)
		case len(a.header) > 0:
			n := copy(p, a.header)
			a.header = a.header[n:]
			return n, nil
		case a.skip > 0:
			n, err := a.from.Read(p[:min(int64(len(p)), a.skip)])
			a.skip -= int64(n)
			return n, err
		}
		header := make([]byte, frameHeaderBytes)
		if _, err := io.ReadFull(a.from, header); err != nil {
			return 0, err
		}
		h, err := http2.ReadFrameHeader(bytes.NewReader(header))
		if err != nil {
			return 0, err
		}
		if h.Type == http2.FrameSettings && h.Flags.Has(http2.FlagSettingsAck) {
			a.done = true
			a.skip = 0
			continue
		}
		a.header, a.skip = header, int64(h.Length)
	}
}

// refuse answers a client that speaks the wrong protocol, as far as it can read the answer. start is what it sent; nil
// means that it sent something encrypted.
func refuse(conn net.Conn, start []byte, message string) error {
	if !bytes.HasPrefix(start, []byte("PRI ")) { // an HTTP/2 client would not understand it
		fmt.Fprintf(conn, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"+
			"Connection: close\r\nContent-Length: %d\r\n\r\n%s\n", len(message)+1, message)
	}
	linger(conn)
	return errors.New(message)
}

// isExhausted reports whether the process has no room for another connection at the moment.
func isExhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM) ||
		errors.Is(err, syscall.ECONNABORTED)
}
