package httpapi

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

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

// unpacked returns a request whose body, if it is one compressed message, is unpacked as it is read: a message counts
// for its size in memory, not for the bytes sent. Streams name the compression of their messages in another header.
func unpacked(r *http.Request) *http.Request {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return r
	}
	copied := *r
	copied.Header = r.Header.Clone()
	copied.Header.Del("Content-Encoding")
	copied.Body, copied.ContentLength = &gzipBody{packed: r.Body}, -1
	return &copied
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
