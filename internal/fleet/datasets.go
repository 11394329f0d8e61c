package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet/delivery"
	"github.com/cleave-project/cleave/internal/wire"
)

// checkFetchLocked rejects sending a data set to a session that has ended or has no job on that data set: a worker gets
// only the data that it needs. It returns the session, and the size of the data set.
func (f *Fleet) checkFetchLocked(ctx context.Context,
	sessionID, datasetID string) (s *session, bytes int64, err error) {
	if s, err = f.liveSessionLocked(ctx, sessionID); err != nil {
		return nil, 0, err
	}
	for e := range f.state.executions {
		if e.datasetID == datasetID && e.usesLocked(s) {
			return s, e.need.DatasetBytes, nil
		}
	}
	f.log.Warn("worker asked for a data set that none of its jobs uses", "worker", s.name, "dataset", datasetID)
	return nil, 0, status.Errorf(codes.PermissionDenied, "no job of this worker uses data set %s", datasetID)
}

func (svc *service) FetchDataset(r *workerv1.FetchDatasetRequest,
	stream workerv1.WorkerService_FetchDatasetServer) error {
	svc.fleet.mu.Lock()
	_, bytes, err := svc.fleet.checkFetchLocked(stream.Context(), r.GetSessionId(), r.GetDatasetId())
	svc.fleet.mu.Unlock()
	if err != nil {
		return err
	}
	if all := uint64(bytes); r.GetOffset() > all || r.GetLength() > all-r.GetOffset() {
		return status.Errorf(codes.InvalidArgument, "data set %s has %d bytes, not %d from byte %d on",
			r.GetDatasetId(), all, r.GetLength(), r.GetOffset())
	}
	err = svc.sendDataset(r, stream)
	svc.fleet.noteDamage(r.GetDatasetId(), err, r.GetOffset() == 0 && r.GetLength() == 0)
	return wire.Status(err)
}

// noteDamage records that a data set was found damaged when a worker fetched it, so that its jobs fail for this
// reason and not for whatever the worker reports. If the whole data set can be read later, that clears it.
func (f *Fleet) noteDamage(datasetID string, err error, whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if found, is := errors.AsType[*fault.Error](err); is && found.Kind == fault.DataLoss {
		f.state.damaged[datasetID] = found
	} else if err == nil && whole {
		delete(f.state.damaged, datasetID)
	}
}

// datasetChunkBytes is the size of the messages that a range of a data set is cut into. Every worker may read two
// ranges at the same time, so it limits the memory for them.
const datasetChunkBytes = 256 << 10

func (svc *service) sendDataset(r *workerv1.FetchDatasetRequest,
	stream workerv1.WorkerService_FetchDatasetServer) error {
	length := int64(r.GetLength())
	if length == 0 { // as the protocol says
		length = -1
	}
	reader, err := svc.fleet.cfg.Datasets.OpenDataset(stream.Context(), r.GetDatasetId(), int64(r.GetOffset()), length)
	if err != nil {
		return err
	}
	defer reader.Close()
	for {
		buffer := make([]byte, datasetChunkBytes) // a new one each time, because grpc may use it after Send
		n, err := io.ReadFull(reader, buffer)
		if n > 0 {
			if err := stream.Send(&workerv1.FetchDatasetResponse{Data: buffer[:n]}); err != nil {
				return err
			}
			svc.fleet.hear(r.GetSessionId()) // there is room for a chunk because the worker has taken earlier ones
			svc.fleet.cfg.Observe.DatasetSent(n)
		}
		switch {
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func (svc *service) Deliver(stream workerv1.WorkerService_DeliverServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	join := first.GetJoin()
	if join == nil {
		return wire.Status(fault.Invalid("NO_JOIN", "the first message of a delivery must be a join"))
	}
	w, bytes, err := svc.fleet.checkJoin(stream.Context(), join)
	if err != nil {
		return wire.Status(err)
	}
	return svc.fleet.deliveries.Serve(stream, join, w, bytes)
}

// checkJoin checks that a worker may have the data set that it asks for. It returns the worker and the size of the data
// set.
func (f *Fleet) checkJoin(ctx context.Context, join *workerv1.Join) (w delivery.Worker, bytes int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, bytes, err := f.checkFetchLocked(ctx, join.GetSessionId(), join.GetDatasetId())
	if err != nil {
		return w, 0, err
	}
	if join.GetBytes() != uint64(bytes) {
		return w, 0, fault.Invalid("WRONG_SIZE", "data set %s has %d bytes, and the worker says %d",
			join.GetDatasetId(), bytes, join.GetBytes())
	}
	s.noStore = "" // it tries again
	w = delivery.Worker{
		ID: s.id, PeerID: wire.PeerID(s.id), Name: s.name, PeerAddress: s.peerAddress, PeerKey: s.peerKey, Done: s.done,
	}
	return w, bytes, nil
}

// reports is a fleet that is told about its deliveries. It implements delivery.Reports.
type reports struct{ fleet *Fleet }

func (r reports) Heard(worker string) { r.fleet.hear(worker) }

func (r reports) DatasetRead(dataset string, err error) { r.fleet.noteDamage(dataset, err, true) }

// SourceFailed records the failure for logs and lists of workers.
func (r reports) SourceFailed(dataset, worker, parent, message string) {
	f := r.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.state.sessions[worker]
	if s == nil {
		return
	}
	message = fmt.Sprintf("%.300s", message)
	if parent == "" {
		s.noStore = message
		f.log.Warn("worker could not read the object store; it gets the data set from elsewhere",
			"worker", s.name, "dataset", dataset, "error", message)
		return
	}
	if source := f.state.sessions[parent]; source != nil { // otherwise it has left, which explains the failure
		f.log.Warn("worker could not read from another, which passes the data set on to nobody now",
			"worker", s.name, "from", source.name, "dataset", dataset, "error", message)
	}
}
