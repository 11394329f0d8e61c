package httpapi

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cleave-project/cleave/internal/coordinator/ledger"
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
	// messageMemory is about how much memory a byte of a message takes: as text, decoded, and encoded again for the gRPC
	// server.
	messageMemory = 4
)

// reservation is the memory of the largest message of a request so far. Without it, requests that arrive at the same
// time could take any amount of memory before their calls are counted.
type reservation struct {
	memory *ledger.Part
	bytes  int64
}

// cover reserves the memory of a message of the given size.
func (h *reservation) cover(message int) error {
	more := messageMemory*int64(message-smallMessage) - h.bytes
	if more <= 0 {
		return nil
	}
	if !h.memory.Take(more) {
		return ledger.TooManyLargeCalls(h.bytes + more)
	}
	h.bytes += more
	return nil
}

// end gives the memory back.
func (h *reservation) end() { h.memory.Release(h.bytes) }

// counted is the body of a request that holds the memory of its message.
type counted struct {
	io.ReadCloser
	whole      bool // the body is one message
	got, limit int  // bytes of it that were read, and how many there may be
	held       reservation
	convert    func(error) error // converts errors about the client to those of the protocol
}

// envelopeBytes is how much some protocols add to a message.
const envelopeBytes = 5

// counted returns a request of a method whose body reserves memory as it is read. convert converts errors about the
// client, which reading the body returns. The caller calls end when the request is answered.
func (s *Server) counted(r *http.Request, method protoreflect.MethodDescriptor, convert func(error) error) (_ *http.Request, end func()) {
	c := &counted{
		ReadCloser: r.Body, whole: !method.IsStreamingClient(), limit: s.cfg.MaxMessageBytes + envelopeBytes,
		held: reservation{memory: s.cfg.Memory}, convert: convert,
	}
	return withBody(r, c), c.held.end
}

// Read fails once a message is larger than the limit, although connect would read it to its end.
func (c *counted) Read(p []byte) (int, error) {
	if c.whole && c.got > c.limit {
		return 0, c.convert(status.Error(codes.ResourceExhausted, "the rest is not read"))
	}
	n, err := c.ReadCloser.Read(p)
	c.got += n
	switch _, isStatus := status.FromError(err); {
	case err == nil || err == io.EOF:
	case isStatus:
		err = c.convert(err)
	default:
		err = c.convert(badRequest("", "the request body cannot be read: %v", err))
	}
	if c.whole {
		if full := c.held.cover(min(c.got, c.limit)); full != nil {
			return 0, c.convert(full)
		}
	}
	return n, err
}

// unpacked returns a request whose body, if it is compressed as a whole, is unpacked as it is read: a message counts for
// its size in memory, not for the bytes sent. Compressed messages of gRPC-Web, gRPC and streams, which name their
// compression in other headers, count for the bytes sent; connect unpacks them up to the limit of a message.
func unpacked(r *http.Request) *http.Request {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return r
	}
	copied := withBody(r, &gzipBody{packed: r.Body})
	copied.Header = r.Header.Clone()
	copied.Header.Del("Content-Encoding")
	copied.ContentLength = -1
	return copied
}

// gzipBody unpacks a body. It reads nothing before the first Read.
type gzipBody struct {
	packed io.ReadCloser
	reader *gzip.Reader
}

func (b *gzipBody) Read(p []byte) (n int, err error) {
	if b.reader == nil {
		if b.reader, err = gzip.NewReader(b.packed); err != nil {
			return 0, err
		}
	}
	return b.reader.Read(p)
}

func (b *gzipBody) Close() error { return b.packed.Close() }

// reserve waits until a request may take memory. The caller calls release.
func (s *Server) reserve(ctx context.Context, bytes int64) (release func(), err error) {
	claim, err := s.cfg.Memory.Reserve(ctx, bytes, s.cfg.WriteStall)
	if err != nil {
		return nil, err
	}
	return claim.Release, nil
}
