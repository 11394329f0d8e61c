package httpapi

import (
	"compress/gzip"
	"io"
	"net/http"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/fault"
)

// authorize returns an error unless the client of a request may call a method. Nothing of the body is read before.
func (s *Server) authorize(r *http.Request, method string) error {
	c := r.Context().Value(callerKey{}).(*caller)
	p := &peer.Peer{Addr: c.RemoteAddr()}
	if state := c.client.TLS(); state != nil {
		p.AuthInfo = credentials.TLSInfo{State: *state}
	}
	ctx := withHeaders(r.Context(), r.Header)
	header, _ := metadata.FromOutgoingContext(ctx)
	return s.cfg.Authorize(peer.NewContext(ctx, p), method, header)
}

const (
	// smallMessage is the size in bytes up to which messages need no reservation.
	smallMessage = 64 << 10
	// messageMemory is about how much memory a byte of a message takes: as text, decoded, and encoded again for the
	// gRPC server.
	messageMemory = 4
)

// cover makes held, the memory of the largest message of a request so far, cover a message of the given size. Otherwise
// requests that arrive at the same time could take any amount of memory before their calls are counted.
func cover(held *queue.Reservation, message int) error {
	needed := messageMemory * int64(message-smallMessage)
	if more := needed - held.Bytes(); more > 0 && !held.Grow(more) {
		return queue.TooManyLargeCalls(needed)
	}
	return nil
}

// counted returns a request of a method whose body, if it is one message, reserves memory as it is read, and ends with
// an error if it is too large, although connect would read all of it. convert converts errors about the client to those
// of the protocol. The caller calls end when the request is answered.
func (s *Server) counted(r *http.Request, method protoreflect.MethodDescriptor,
	convert func(error) error) (_ *http.Request, end func()) {
	held, _ := s.cfg.Memory.ReserveNow(0)
	body := &convertedBody{Reader: r.Body, Closer: r.Body, convert: convert}
	if !method.IsStreamingClient() {
		body.Reader = &messageLimiter{from: r.Body, limit: s.cfg.MaxMessageBytes, held: held}
	}
	return withBody(r, body), held.Release
}

// convertedBody is a body that passes its errors to convert.
type convertedBody struct {
	io.Reader
	io.Closer
	convert func(error) error
}

func (b *convertedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = b.convert(readError(err, "the request body cannot be read"))
	}
	return n, err
}

// messageLimiter limits how much is read for one message, and reserves memory for it.
type messageLimiter struct {
	from        io.Reader
	read, limit int
	held        *queue.Reservation
}

func (l *messageLimiter) Read(p []byte) (int, error) {
	const envelope = 5 // bytes that some protocols add to a message
	if l.read > l.limit+envelope {
		return 0, fault.New(fault.ResourceExhausted, "MESSAGE_TOO_LARGE",
			"a message of the body is larger than %d bytes, the limit of this coordinator; send more messages with "+
				"less in each", l.limit)
	}
	n, err := l.from.Read(p)
	l.read += n
	if full := cover(l.held, min(l.read, l.limit)); full != nil {
		return 0, full
	}
	return n, err
}

// unpacked returns a request whose body, if it is compressed as a whole, is unpacked as it is read: a message counts
// for its size in memory, not for the bytes sent. Compressed messages of gRPC-Web, gRPC and streams, which name their
// compression in other headers, count for the bytes sent; connect unpacks them up to the limit of a message.
func unpacked(r *http.Request) *http.Request {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return r
	}
	copied := withBody(r, &gzipBody{ReadCloser: r.Body})
	copied.Header = r.Header.Clone()
	copied.Header.Del("Content-Encoding")
	copied.ContentLength = -1
	return copied
}

// gzipBody unpacks a body. It reads nothing before the first Read.
type gzipBody struct {
	io.ReadCloser // of the packed bytes
	unpacked      *gzip.Reader
}

func (b *gzipBody) Read(p []byte) (n int, err error) {
	if b.unpacked == nil {
		if b.unpacked, err = gzip.NewReader(b.ReadCloser); err != nil {
			return 0, err
		}
	}
	return b.unpacked.Read(p)
}
