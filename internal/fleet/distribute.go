package fleet

import (
	"context"
	"crypto/sha256"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet/swarm"
	"github.com/cleave-project/cleave/internal/wire"
)

// locateEvery is how often the URL of a data set is renewed. It must be shorter than URLs are valid.
const locateEvery = 20 * time.Minute

// distribution is a data set on its way to workers. It exists while a worker fetches or serves it.
type distribution struct {
	fleet  *Fleet
	id     string
	bytes  int64
	cancel context.CancelFunc // ends the goroutine that hashes the pieces

	// mu guards the fields below. It may be taken while Fleet.mu is held, but not the other way round.
	mu       sync.Mutex
	swarm    *swarm.Swarm
	hashes   [][sha256.Size]byte   // of the first pieces
	location *workerv1.StoreSource // where workers can read the data set themselves; nil if they cannot
	parties  map[string]*party     // by session id
}

// party is a worker that fetches or serves the pieces of a distribution, on one Distribute stream.
type party struct {
	*attachment
	session *session
	outbox  []*workerv1.DistributeResponse // guarded by distribution.mu
}

// Distribute implements WorkerService. Other goroutines read and write, so that the stream of a lost session ends even
// if a Send to a paused worker is blocked.
func (v *service) Distribute(stream workerv1.WorkerService_DistributeServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	join := first.GetJoin()
	if join == nil {
		return wire.Status(fault.Invalid("NO_JOIN", "the first message of a distribution must be a join"))
	}
	d, p, err := v.fleet.join(stream.Context(), join)
	if err != nil {
		return wire.Status(err)
	}
	defer v.fleet.leave(d, p)
	broken := make(chan error, 1)
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				broken <- err
				return
			}
			v.fleet.hear(p.session.id)
			d.receive(p, m)
		}
	}()
	go d.write(stream, p)
	select {
	case err := <-broken:
		if err == io.EOF {
			return nil
		}
		return status.Error(codes.Aborted, "the stream broke")
	case reason := <-p.ended:
		return wire.Status(reason)
	case <-p.session.done:
		return errOver
	}
}

// write sends assignments until the stream ends.
func (d *distribution) write(stream workerv1.WorkerService_DistributeServer, p *party) {
	for {
		select {
		case <-p.wake:
		case <-stream.Context().Done():
			return
		}
		d.mu.Lock()
		batch := p.outbox
		p.outbox = nil
		d.mu.Unlock()
		for _, m := range batch {
			if stream.Send(m) != nil {
				return // the reader gets the error too
			}
		}
	}
}

// join adds a worker to the distribution of a data set, which begins with its first worker. It returns UNIMPLEMENTED
// if the worker needs the whole data set, can fetch from the coordinator only and keeps nothing: FetchDataset does
// that with less work. A worker that needs a part gets pieces in any case, because it can check only them.
func (f *Fleet) join(ctx context.Context, join *workerv1.Join) (*distribution, *party, error) {
	id := join.GetDatasetId()
	bytes, err := f.checkFetch(join.GetSessionId(), id)
	if err != nil {
		return nil, nil, err
	}
	if join.GetBytes() != uint64(bytes) {
		return nil, nil, fault.Invalid("WRONG_SIZE", "data set %s has %d bytes, and the worker says %d", id, bytes, join.GetBytes())
	}
	location := f.locate(ctx, id)
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[join.GetSessionId()]
	switch {
	case s == nil:
		return nil, nil, errOver
	case s.referee || join.GetPieceBytes() != wire.PieceBytes || !join.GetPartial() && !join.GetKeeps() && location == nil && !f.anyServes():
		return nil, nil, status.Error(codes.Unimplemented, "this data set comes from the coordinator only")
	}
	d := f.distributions[id]
	if d == nil {
		d = f.newDistribution(id, bytes)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if location != nil {
		d.location = location
		d.swarm.SetStore(true)
		s.noStore = "" // it is tried again
	}
	p := &party{attachment: newAttachment(), session: s}
	if before := d.parties[s.id]; before != nil {
		before.endWith(status.Error(codes.Aborted, "the worker joined again"))
	}
	d.parties[s.id] = p
	serves := join.GetKeeps() && s.serves()
	d.add(s.id, join, serves)
	f.log.Debug("a worker joins the distribution of a data set", "worker", s.name, "dataset", id, "serves", serves)
	d.schedule()
	return d, p, nil
}

// add adds a worker to the swarm. The caller holds d.mu.
func (d *distribution) add(sessionID string, join *workerv1.Join, serves bool) {
	pieces := wire.PieceCount(d.bytes)
	held := piecesOf(join.GetHeld(), pieces)
	if !join.GetPartial() {
		d.swarm.Join(sessionID, held, join.GetKeeps(), serves)
		return
	}
	d.swarm.JoinPartly(sessionID, held, join.GetKeeps(), serves)
	for _, p := range piecesOf(join.GetWanted(), pieces) {
		d.swarm.Want(sessionID, p)
	}
}

// want adds to the pieces that a worker needs. The caller holds d.mu.
func (d *distribution) want(sessionID string, wanted *workerv1.PiecesWanted) {
	first := int64(wanted.GetFirst())
	end := min(first+int64(wanted.GetCount()), int64(wire.PieceCount(d.bytes)))
	for p := first; p < end; p++ {
		d.swarm.Want(sessionID, int(p))
	}
}

// leave removes a worker. A distribution without workers ends.
func (f *Fleet) leave(d *distribution, p *party) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.parties[p.session.id] != p {
		return // it joined again
	}
	delete(d.parties, p.session.id)
	d.swarm.Leave(p.session.id)
	if len(d.parties) > 0 {
		d.schedule()
		return
	}
	d.cancel()
	if f.distributions[d.id] == d {
		delete(f.distributions, d.id)
	}
}

// serves reports whether a worker may pass pieces on. The caller holds Fleet.mu.
func (s *session) serves() bool { return s.peerAddress != "" && s.sentWrong == "" && s.wrong == nil }

// anyServes reports whether a worker passes pieces on. The caller holds f.mu.
func (f *Fleet) anyServes() bool {
	for _, s := range f.sessions {
		if s.serves() {
			return true
		}
	}
	return false
}

// newDistribution begins to distribute a data set. The caller holds f.mu.
func (f *Fleet) newDistribution(id string, bytes int64) *distribution {
	ctx, cancel := context.WithCancel(context.Background())
	pieces := wire.PieceCount(bytes)
	d := &distribution{
		fleet: f, id: id, bytes: bytes, cancel: cancel,
		swarm: swarm.New(pieces, swarm.DefaultLimits()), parties: map[string]*party{},
	}
	f.distributions[id] = d
	d.hashes = f.hashes.get(id)
	d.swarm.SetKnown(len(d.hashes))
	unknown := len(d.hashes) < pieces
	go func() {
		if unknown {
			if err := d.hash(ctx, pieces); err != nil {
				d.fail(ctx, err)
				return
			}
		}
		d.keepLocation(ctx)
	}()
	return d
}

// receive handles a report of a worker.
func (d *distribution) receive(p *party, m *workerv1.DistributeRequest) {
	d.mu.Lock()
	from, assigned, id := swarm.Source{}, false, p.session.id
	if d.parties[id] == p {
		switch m := m.GetMessage().(type) {
		case *workerv1.DistributeRequest_Arrived:
			from, assigned = d.swarm.Arrived(id, int(m.Arrived.GetPiece()))
		case *workerv1.DistributeRequest_Failed:
			from, assigned = d.swarm.Failed(id, int(m.Failed.GetPiece()), failureOf(m.Failed.GetFailure()))
		case *workerv1.DistributeRequest_Lost:
			d.swarm.Lost(id, int(m.Lost.GetPiece()), m.Lost.GetNeeded())
		case *workerv1.DistributeRequest_Wanted:
			d.want(id, m.Wanted)
		}
		d.schedule()
	}
	d.mu.Unlock()
	if assigned && m.GetArrived() != nil && from.Kind == swarm.Peer {
		d.fleet.hear(from.Peer)
	}
	if assigned && m.GetFailed() != nil {
		d.fleet.noteFailure(d.id, p.session, from, m.GetFailed())
	}
}

// schedule sends workers the assignments that are possible now. The caller holds d.mu.
func (d *distribution) schedule() {
	for _, a := range d.swarm.Next() {
		m := &workerv1.DistributeResponse{Piece: uint32(a.Piece), Sha256: d.hashes[a.Piece][:]}
		switch a.From.Kind {
		case swarm.Peer:
			peer := d.parties[a.From.Peer].session
			m.Source = &workerv1.DistributeResponse_Peer{Peer: &workerv1.PeerSource{
				Address: peer.peerAddress, Name: peer.name, Ticket: wire.PieceTicket(peer.peerKey, d.id, a.Member),
			}}
		case swarm.Store:
			m.Source = &workerv1.DistributeResponse_Store{Store: d.location}
		}
		p := d.parties[a.Member]
		p.outbox = append(p.outbox, m)
		p.signal()
	}
}

// fail ends the streams of all workers with an error of the coordinator's own. Workers join again if another attempt
// may help.
func (d *distribution) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // nobody is left
	}
	f := d.fleet
	f.log.Warn("a data set cannot be read for workers", "dataset", d.id, "error", err)
	f.noteDamage(d.id, err, true)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.distributions[d.id] == d {
		delete(f.distributions, d.id)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.parties {
		p.endWith(err)
	}
}

// piecesOf returns the pieces whose bits are set.
func piecesOf(bits []byte, pieces int) []int {
	var set []int
	for p := range min(pieces, 8*len(bits)) {
		if bits[p/8]>>(p%8)&1 == 1 {
			set = append(set, p)
		}
	}
	return set
}

func failureOf(f workerv1.PieceFailure) swarm.Failure {
	switch f {
	case workerv1.PieceFailure_PIECE_FAILURE_MISSING:
		return swarm.Missing
	case workerv1.PieceFailure_PIECE_FAILURE_WRONG:
		return swarm.Wrong
	}
	return swarm.Unreachable
}

// noteFailure records what a worker reports about a source that failed, for logs and lists of workers. A worker that
// sent wrong bytes passes nothing on anymore.
func (f *Fleet) noteFailure(datasetID string, s *session, from swarm.Source, failed *workerv1.PieceFailed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case from.Kind == swarm.Store:
		if s.noStore == "" {
			f.log.Warn("a worker cannot read the object store and gets data sets from elsewhere", "worker", s.name, "error", failed.GetMessage())
		}
		s.noStore = failed.GetMessage()
	case from.Kind == swarm.Peer:
		source := f.sessions[from.Peer]
		if source == nil {
			return // it has left, which explains the failure
		}
		f.log.Warn("a worker could not fetch a piece from another", "worker", s.name, "from", source.name, "dataset", datasetID,
			"error", failed.GetMessage())
		if failed.GetFailure() == workerv1.PieceFailure_PIECE_FAILURE_WRONG && source.sentWrong == "" {
			source.sentWrong = "sent worker " + s.name + " wrong bytes of a data set; it passes no data on anymore"
			for _, d := range f.distributions {
				d.mu.Lock()
				d.swarm.Bar(source.id)
				d.mu.Unlock()
			}
		}
	}
}
