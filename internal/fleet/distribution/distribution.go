// Package distribution sends data sets to workers in pieces. Package swarm decides from whom each worker gets each
// piece. This package reads and hashes the data sets, tells workers what to fetch, and hears how that went. Which
// worker may have which data set is decided by the caller.
package distribution

import (
	"context"
	"crypto/sha256"
	"io"
	"sync"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet/outbox"
	"github.com/cleave-project/cleave/internal/fleet/swarm"
	"github.com/cleave-project/cleave/internal/wire"
)

// Worker is what a distribution knows about a worker.
type Worker struct {
	ID          string // of its session
	PeerID      string // what it calls itself toward other workers
	Name        string
	PeerAddress string          // where other workers fetch pieces from it
	PeerKey     []byte          // of the tickets for that
	Serves      bool            // whether they may
	Done        <-chan struct{} // closed when the session ends
}

// Reports is told what happens to workers and data sets. It is called without locks, by several goroutines.
type Reports interface {
	// Heard is called when a worker sent a message.
	Heard(worker string)
	// Arrived is called when a worker got a piece that it was told to fetch.
	Arrived(worker string, from swarm.Source)
	// SourceFailed is called when a worker could not get a piece that it was told to fetch.
	SourceFailed(dataset, worker string, from swarm.Source, failed *workerv1.PieceFailed)
	// DatasetRead is called when the whole data set was read, or could not be.
	DatasetRead(dataset string, err error)
}

// Distributor distributes data sets. It is safe for concurrent use.
type Distributor struct {
	datasets Source
	reports  Reports
	log      hclog.Logger

	mu     sync.Mutex // guards everything below, and all sets
	sets   map[string]*set
	hashes pieceHashes
}

// set is a data set on its way to workers. It is in Distributor.sets while a worker fetches or serves it, unless it
// cannot be read.
type set struct {
	id       string
	bytes    int64
	cancel   context.CancelFunc // ends the goroutines that hash the pieces and renew the URL
	swarm    *swarm.Swarm
	hashes   [][sha256.Size]byte   // of the first pieces
	location *workerv1.StoreSource // where workers can read the data set themselves; nil if they cannot
	parties  map[string]*party     // by the worker's id; the same as the members of the swarm
}

// party is a worker that fetches or serves the pieces of a data set, on one Distribute stream.
type party struct {
	worker Worker
	*outbox.Outbox[workerv1.DistributeResponse]
}

// New returns a Distributor without workers.
func New(datasets Source, reports Reports, log hclog.Logger) *Distributor {
	return &Distributor{datasets: datasets, reports: reports, log: log, sets: map[string]*set{}, hashes: pieceHashes{hashes: map[string][][sha256.Size]byte{}}}
}

// Serve serves the stream of a worker that wants a data set of some bytes. It returns UNIMPLEMENTED if the worker
// needs the whole data set, can fetch from the coordinator only and keeps nothing: it should then call FetchDataset,
// which is cheaper. A worker that needs a part gets pieces in any case, because it can check only them. peers says
// whether some worker passes pieces on.
func (d *Distributor) Serve(stream workerv1.WorkerService_DistributeServer, join *workerv1.Join, w Worker, bytes int64, peers bool) error {
	location := d.locate(stream.Context(), join.GetDatasetId())
	if join.GetPieceBytes() != wire.PieceBytes || !join.GetPartial() && !join.GetKeeps() && location == nil && !peers {
		return status.Error(codes.Unimplemented, "this data set comes from the coordinator only")
	}
	s, p := d.join(join, w, bytes, location)
	defer d.leave(s, p)
	go func() {
		select {
		case <-w.Done:
			p.End(status.Error(codes.Aborted, "the session is over"))
		case <-stream.Context().Done():
		}
	}()
	return outbox.Serve(stream, p.Outbox, outbox.Handler[workerv1.DistributeRequest, workerv1.DistributeResponse]{
		Log: d.log.Error,
		Received: func(m *workerv1.DistributeRequest) bool {
			d.reports.Heard(w.ID)
			d.receive(s, p, m)
			return true
		},
		Sent: func(*workerv1.DistributeResponse) {},
		Broke: func(err error) error {
			if err == io.EOF {
				return nil
			}
			return status.Error(codes.Aborted, "the stream broke")
		},
	})
}

// join adds a worker to the distribution of a data set, which begins with its first worker.
func (d *Distributor) join(join *workerv1.Join, w Worker, bytes int64, location *workerv1.StoreSource) (*set, *party) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := join.GetDatasetId()
	s := d.sets[id]
	if s == nil {
		s = d.beginLocked(id, bytes)
	}
	if location != nil {
		s.location = location
		s.swarm.SetStore(true)
	}
	if before := s.parties[w.ID]; before != nil {
		before.End(status.Error(codes.Aborted, "the worker joined again"))
	}
	p := &party{w, outbox.New[workerv1.DistributeResponse]()}
	s.parties[w.ID] = p
	pieces, serves := wire.PieceCount(bytes), join.GetKeeps() && w.Serves
	var wanted []int // all
	if join.GetPartial() {
		wanted = piecesOf(join.GetWanted(), pieces)
	}
	s.swarm.Join(w.ID, piecesOf(join.GetHeld(), pieces), wanted, join.GetKeeps(), serves)
	d.log.Debug("worker joined the distribution of a data set", "worker", w.Name, "dataset", id, "serves", serves)
	s.scheduleLocked()
	return s, p
}

// leave removes a worker. A distribution without workers ends.
func (d *Distributor) leave(s *set, p *party) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.parties[p.worker.ID] != p {
		return // it joined again
	}
	delete(s.parties, p.worker.ID)
	s.swarm.Leave(p.worker.ID)
	if len(s.parties) > 0 {
		s.scheduleLocked()
		return
	}
	d.endLocked(s)
}

// beginLocked begins to distribute a data set.
func (d *Distributor) beginLocked(id string, bytes int64) *set {
	ctx, cancel := context.WithCancel(context.Background())
	pieces := wire.PieceCount(bytes)
	s := &set{
		id: id, bytes: bytes, cancel: cancel, hashes: d.hashes.hashes[id],
		swarm: swarm.New(pieces, swarm.DefaultLimits()), parties: map[string]*party{},
	}
	d.sets[id] = s
	s.swarm.SetKnown(len(s.hashes))
	run := func(part func() error) {
		if err := fault.Guard(d.log.Error, part); err != nil {
			d.fail(ctx, s, err)
		}
	}
	if len(s.hashes) < pieces {
		go run(func() error { return d.hash(ctx, s, pieces) })
	}
	go run(func() error { return d.keepLocation(ctx, s) }) // beside hash, which may take longer than a URL is valid
	return s
}

// endLocked ends the distribution of a data set, so that the next worker begins another.
func (d *Distributor) endLocked(s *set) {
	s.cancel()
	if d.sets[s.id] == s {
		delete(d.sets, s.id)
	}
}

// fail ends the streams of all workers with an error of the coordinator's own. Workers join again if another attempt
// may help.
func (d *Distributor) fail(ctx context.Context, s *set, err error) {
	if ctx.Err() != nil {
		return // nobody is left
	}
	d.log.Warn("cannot read a data set for workers", "dataset", s.id, "error", err)
	d.reports.DatasetRead(s.id, err)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endLocked(s)
	for _, p := range s.parties {
		p.End(wire.Status(err))
	}
}

// Bar stops a worker, by id, from passing pieces on.
func (d *Distributor) Bar(worker string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.sets {
		s.swarm.Bar(worker)
	}
}

// receive handles a report of a worker.
func (d *Distributor) receive(s *set, p *party, m *workerv1.DistributeRequest) {
	from, assigned := d.update(s, p, m)
	switch {
	case !assigned:
	case m.GetFailed() != nil:
		d.reports.SourceFailed(s.id, p.worker.ID, from, m.GetFailed())
	default:
		d.reports.Arrived(p.worker.ID, from)
	}
}

// update tells the swarm what a worker reports. If a transfer that was assigned has ended, it returns the source.
func (d *Distributor) update(s *set, p *party, m *workerv1.DistributeRequest) (from swarm.Source, assigned bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := p.worker.ID
	if s.parties[id] != p {
		return from, false
	}
	switch m := m.GetMessage().(type) {
	case *workerv1.DistributeRequest_Arrived:
		from, assigned = s.swarm.Arrived(id, int(m.Arrived.GetPiece()))
	case *workerv1.DistributeRequest_Failed:
		missing := m.Failed.GetFailure() == workerv1.PieceFailure_PIECE_FAILURE_MISSING
		from, assigned = s.swarm.Failed(id, int(m.Failed.GetPiece()), missing)
	case *workerv1.DistributeRequest_Lost:
		s.swarm.Lost(id, int(m.Lost.GetPiece()), m.Lost.GetNeeded())
	case *workerv1.DistributeRequest_Wanted:
		first := int64(m.Wanted.GetFirst())
		end := min(first+int64(m.Wanted.GetCount()), int64(wire.PieceCount(s.bytes)))
		for piece := first; piece < end; piece++ {
			s.swarm.Want(id, int(piece))
		}
	}
	s.scheduleLocked()
	return from, assigned
}

// scheduleLocked sends workers the assignments that are possible now.
func (s *set) scheduleLocked() {
	for _, a := range s.swarm.Next() {
		m := &workerv1.DistributeResponse{Piece: uint32(a.Piece), Sha256: s.hashes[a.Piece][:]}
		switch a.From.Kind {
		case swarm.Peer:
			peer := s.parties[a.From.Peer].worker
			m.Source = &workerv1.DistributeResponse_Peer{Peer: &workerv1.PeerSource{
				Address: peer.PeerAddress, Name: peer.Name, Ticket: wire.PieceTicket(peer.PeerKey, s.id, s.parties[a.Member].worker.PeerID),
			}}
		case swarm.Store:
			m.Source = &workerv1.DistributeResponse_Store{Store: s.location}
		}
		s.parties[a.Member].Push(m)
	}
}

// piecesOf returns the pieces whose bits are set. It never returns nil.
func piecesOf(bits []byte, pieces int) []int {
	set := []int{}
	for p := range min(pieces, 8*len(bits)) {
		if bits[p/8]>>(p%8)&1 == 1 {
			set = append(set, p)
		}
	}
	return set
}
