package httpapi

import (
	"context"
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

// reserve waits until a request may take memory. The caller calls release.
func (s *Server) reserve(ctx context.Context, bytes int64) (release func(), err error) {
	claim, err := s.cfg.Memory.Reserve(ctx, bytes, s.cfg.WriteStall)
	if err != nil {
		return nil, err
	}
	return claim.Release, nil
}
