package fleet

import (
	"context"
	"io"
	"slices"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet/outbox"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/wire"
)

// service implements WorkerService.
type service struct {
	workerv1.UnimplementedWorkerServiceServer
	fleet *Fleet
}

// Attach serves one stream of a worker.
func (svc *service) Attach(stream workerv1.WorkerService_AttachServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	hello := first.GetHello()
	if hello == nil {
		return wire.Status(fault.Invalid("NO_HELLO", "the first message of a worker must be its hello"))
	}
	if err := checkCompatible(hello); err != nil {
		svc.fleet.cfg.Observe.Session(sessionRefused)
		svc.fleet.log.Warn("refused a worker", "worker", hello.GetName(), "error", err)
		return wire.Status(err)
	}
	s, a, err := svc.fleet.admit(stream.Context(), hello)
	if err != nil {
		return err
	}
	return outbox.Serve(stream, a, outbox.Handler[workerv1.AttachRequest, workerv1.AttachResponse]{
		Log:      svc.fleet.log.Error,
		Received: func(m *workerv1.AttachRequest) bool { return svc.fleet.receive(s, a, m) },
		Sent: func(m *workerv1.AttachResponse) {
			if m.GetFarewell() != nil {
				svc.fleet.endDrained(s, a)
			}
		},
		Broke: func(err error) error {
			svc.fleet.detach(s, a, err)
			return status.Error(codes.Aborted, "the stream broke")
		},
	})
}

// checkCompatible rejects a worker with another major version of the protocol or different rounding. Other versions
// of the software are accepted.
func checkCompatible(hello *workerv1.Hello) error {
	if v := hello.GetProtocolVersion(); v != wire.WorkerProtocol {
		return fault.New(fault.FailedPrecondition, "PROTOCOL_VERSION_MISMATCH",
			"worker %q (version %q) speaks worker protocol %d, this coordinator speaks %d; run versions that are at "+
				"most one release apart",
			hello.GetName(), hello.GetSoftwareVersion(), v, wire.WorkerProtocol).
			With("worker", strconv.Itoa(int(v))).With("coordinator", strconv.Itoa(wire.WorkerProtocol))
	}
	if c := hello.GetNumericClass(); c != kernel.NumericClass {
		return fault.New(fault.FailedPrecondition, "NUMERIC_CLASS_MISMATCH",
			"worker %q (version %q) computes numeric class %q, this coordinator needs %q for identical results; run "+
				"versions of the same class",
			hello.GetName(), hello.GetSoftwareVersion(), c, kernel.NumericClass).
			With("worker", c).With("coordinator", kernel.NumericClass)
	}
	return nil
}

// errOver is the answer to transfers of sessions that have ended.
var errOver = status.Error(codes.Aborted, "the session is over")

// liveSessionLocked returns a session that has not ended, which was just heard of. For everybody but the caller that
// attached it, a session is over: who has learned its ID cannot use it.
func (f *Fleet) liveSessionLocked(ctx context.Context, id string) (*session, error) {
	s := f.state.sessions[id]
	if s == nil || s.caller != identity.FromContext(ctx).Name {
		return nil, errOver
	}
	if s.stream != nil { // as for hear
		f.seenLocked(s)
	}
	return s, nil
}

// payloadFor returns a payload for a session. A worker gets only those of its own jobs, whichever references it tries.
func (f *Fleet) payloadFor(ctx context.Context, sessionID, reference string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.liveSessionLocked(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	large := f.state.payloads[reference]
	if large == nil || !large.of.usesLocked(s) {
		return nil, status.Errorf(codes.NotFound, "payload %q is no longer needed", reference)
	}
	return large.data, nil
}

func (svc *service) FetchPayload(r *workerv1.FetchPayloadRequest,
	stream workerv1.WorkerService_FetchPayloadServer) error {
	data, err := svc.fleet.payloadFor(stream.Context(), r.GetSessionId(), r.GetReference())
	if err != nil {
		return err
	}
	for len(data) > 0 {
		chunk := data[:min(len(data), wire.ChunkBytes)]
		if err := stream.Send(&workerv1.FetchPayloadResponse{Data: chunk}); err != nil {
			return err
		}
		svc.fleet.hear(r.GetSessionId())
		data = data[len(chunk):]
	}
	return nil
}

// SendResult implements WorkerService. The reference is the id of the command that the result belongs to.
func (svc *service) SendResult(stream workerv1.WorkerService_SendResultServer) error {
	var sessionID, reference string
	var data []byte
	limit := -1
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if limit < 0 {
			sessionID = m.GetSessionId()
			reference = m.GetReference()
			if err := svc.fleet.onPending(stream.Context(), sessionID, reference, func(c *call) {
				limit = c.maxBytes
			}); err != nil {
				return err
			}
		}
		if len(data)+len(m.GetData()) > limit {
			return status.Errorf(codes.OutOfRange, "result %s has more than the %d bytes expected", reference, limit)
		}
		if need := len(data) + len(m.GetData()); need > cap(data) {
			// Grows with what has arrived, never beyond the limit.
			data = slices.Grow(data, min(limit, 2*need)-len(data))
		}
		data = append(data, m.GetData()...)
		svc.fleet.hear(sessionID)
	}
	// The result is kept until the answer that refers to it arrives.
	if err := svc.fleet.onPending(stream.Context(), sessionID, reference, func(c *call) {
		c.result = data
	}); err != nil {
		return err
	}
	return stream.SendAndClose(&workerv1.SendResultResponse{})
}

// onPending calls do with the pending call that a result belongs to.
func (f *Fleet) onPending(ctx context.Context, sessionID, reference string, do func(*call)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.liveSessionLocked(ctx, sessionID)
	if err != nil {
		return err
	}
	id, err := strconv.ParseUint(reference, 10, 64)
	if c := s.pending[id]; err == nil && c != nil {
		do(c)
		return nil
	}
	return status.Errorf(codes.NotFound, "nobody waits for result %q", reference)
}
