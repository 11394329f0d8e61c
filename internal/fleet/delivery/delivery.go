// Package delivery tells workers where to read data sets: from the object store, from each other, or from the
// coordinator. Package tree decides that. This package reads and hashes the data sets, tells workers their sources and
// the hashes of the pieces, and hears which sources failed. Who may have which data set is decided by the caller.
package delivery

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
	"github.com/cleave-project/cleave/internal/fleet/delivery/tree"
	"github.com/cleave-project/cleave/internal/signal"
	"github.com/cleave-project/cleave/internal/wire"
)

// Worker is what a delivery knows about a worker.
type Worker struct {
	ID          string          // of its session
	PeerID      string          // what it calls itself toward other workers
	Name        string          // for people
	PeerAddress string          // where other workers fetch pieces from it; empty if they cannot
	PeerKey     []byte          // of the tickets for that
	Done        <-chan struct{} // closed when the session ends
}

// Reports is told what happens to workers and data sets. It is called without locks, by several goroutines.
type Reports interface {
	// Heard is called when a worker sent a message, or sent something to another worker.
	Heard(worker string)
	// SourceFailed is called when a worker, given by its ID, could not read a piece from another worker, or from the
	// object store if parent is empty.
	SourceFailed(dataset, worker, parent, message string)
	// DatasetRead is called when the whole data set was read, or could not be.
	DatasetRead(dataset string, err error)
}

// Deliveries are the data sets that workers read now. They are safe for concurrent use.
type Deliveries struct {
	datasets Source
	reports  Reports
	log      hclog.Logger

	mu     sync.Mutex // guards everything below, and all sets
	sets   map[string]*set
	hashes pieceHashes
}

// set is a data set that workers read. It is in Deliveries.sets while there is one, unless it cannot be read.
type set struct {
	id       string
	bytes    int64
	cancel   context.CancelFunc // ends the goroutines that hash the pieces and renew the URL
	tree     *tree.Tree
	members  map[string]*member    // by name; the same as those of the tree
	hashes   [][sha256.Size]byte   // of the first pieces
	location *workerv1.StoreSource // where workers can read the data set themselves; nil if they cannot
}

// member is a worker that reads a data set, on one stream.
type member struct {
	name   string // the worker's ID, or partOf that for a part of the data set
	worker Worker
	ended  chan error    // receives the status with which to end the stream
	wake   chan struct{} // signals that there is something to tell

	number uint32 // of its source
	told   uint32 // number of the source that it was told; 0 before it was told one
	hashes int    // that it was told
}

// New returns Deliveries without workers.
func New(datasets Source, reports Reports, log hclog.Logger) *Deliveries {
	return &Deliveries{
		datasets: datasets, reports: reports, log: log, sets: map[string]*set{},
		hashes: pieceHashes{hashes: map[string][][sha256.Size]byte{}},
	}
}

// Serve serves the stream of a worker that reads a data set of some bytes, after its first message.
func (d *Deliveries) Serve(stream workerv1.WorkerService_DeliverServer, join *workerv1.Join, w Worker,
	bytes int64) error {
	location := d.locate(stream.Context(), join.GetDatasetId())
	s, m := d.join(join, w, bytes, location)
	defer d.leave(s, m)
	broken := make(chan error, 2)
	go func() { broken <- fault.Guard(d.log.Error, func() error { return d.receive(stream, s, m) }) }()
	go func() { broken <- fault.Guard(d.log.Error, func() error { return d.send(stream, s, m) }) }()
	select {
	case err := <-m.ended:
		return err
	case <-w.Done:
		return status.Error(codes.Aborted, "the session is over")
	case err := <-broken:
		if err == io.EOF {
			return nil
		}
		return status.Error(codes.Aborted, "the stream broke")
	}
}

// receive handles what a worker says until the stream ends.
func (d *Deliveries) receive(stream workerv1.WorkerService_DeliverServer, s *set, m *member) error {
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		d.reports.Heard(m.worker.ID)
		switch message := message.GetMessage().(type) {
		case *workerv1.DeliverRequest_Failed:
			d.sourceFailed(s, m, message.Failed)
		case *workerv1.DeliverRequest_Alive:
			if parent := d.parentOf(s, m, message.Alive.GetNumber()); parent != "" {
				d.reports.Heard(parent)
			}
		}
	}
}

// parentOf returns the worker that is the source of this number of a member, or "" if there is none or it is another
// one by now.
func (d *Deliveries) parentOf(s *set, m *member, number uint32) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.members[m.name] != m || number != m.number {
		return ""
	}
	return s.tree.Source(m.name).Parent
}

// sourceFailed gives a worker another source, unless it has got one since it sent the message.
func (d *Deliveries) sourceFailed(s *set, m *member, failed *workerv1.SourceFailed) {
	d.mu.Lock()
	source := s.tree.Source(m.name)
	current := s.members[m.name] == m && failed.GetNumber() == m.number && source.Kind != tree.Coordinator
	if current {
		s.tree.Failed(m.name)
		s.tellChangesLocked()
	}
	d.mu.Unlock()
	if current {
		d.reports.SourceFailed(s.id, m.worker.ID, source.Parent, failed.GetMessage())
	}
}

// send tells a worker its source and the hashes, and what changes, until the stream ends.
func (d *Deliveries) send(stream workerv1.WorkerService_DeliverServer, s *set, m *member) error {
	for {
		if news := d.newsFor(s, m); news != nil {
			if err := stream.Send(news); err != nil {
				return err
			}
			continue
		}
		select {
		case <-m.wake:
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// hashesAtOnce is how many hashes a message has at most.
const hashesAtOnce = 4096

// newsFor returns what a worker was not told yet, or nil if it knows everything. A message may have a part of it.
func (d *Deliveries) newsFor(s *set, m *member) *workerv1.DeliverResponse {
	d.mu.Lock()
	defer d.mu.Unlock()
	news := &workerv1.DeliverResponse{}
	if m.told != m.number {
		m.told = m.number
		news.Source = s.sourceOfLocked(m)
	}
	end := min(len(s.hashes), m.hashes+hashesAtOnce)
	news.Sha256 = make([]byte, 0, (end-m.hashes)*sha256.Size)
	for _, hash := range s.hashes[m.hashes:end] {
		news.Sha256 = append(news.Sha256, hash[:]...)
	}
	m.hashes = end
	if news.Source == nil && len(news.Sha256) == 0 {
		return nil
	}
	return news
}

// sourceOfLocked returns the source of a member as it is told.
func (s *set) sourceOfLocked(m *member) *workerv1.Source {
	told := &workerv1.Source{Number: m.number}
	switch source := s.tree.Source(m.name); source.Kind {
	case tree.Store:
		told.From = &workerv1.Source_Store{Store: s.location}
	case tree.Parent:
		parent := s.members[source.Parent].worker
		told.From = &workerv1.Source_Parent{Parent: &workerv1.ParentSource{
			Address: parent.PeerAddress, Name: parent.Name,
			Ticket: wire.PieceTicket(parent.PeerKey, s.id, m.worker.PeerID),
		}}
	}
	return told
}

// tellChangesLocked wakes the goroutines of members whose source has changed.
func (s *set) tellChangesLocked() {
	for _, id := range s.tree.Changed() {
		m := s.members[id]
		m.number++
		signal.Wake(m.wake)
	}
}

// partOf returns the name of a member that reads a part of a data set.
func partOf(worker string) string { return worker + " part" }

// join adds a worker to the readers of a data set. The delivery begins with the first one.
func (d *Deliveries) join(join *workerv1.Join, w Worker, bytes int64, location *workerv1.StoreSource) (*set, *member) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := join.GetDatasetId()
	s := d.sets[id]
	if s == nil {
		s = d.beginLocked(id, bytes)
	}
	if location != nil {
		s.location = location
	}
	m := &member{name: w.ID, worker: w, ended: make(chan error, 1), wake: make(chan struct{}, 1)}
	if join.GetPart() {
		m.name = partOf(w.ID)
	}
	if before := s.members[m.name]; before != nil {
		signal.Offer(before.ended, status.Error(codes.Aborted, "the worker joined again"))
	}
	s.members[m.name] = m
	passesOn := join.GetPassesOn() && !join.GetPart() && w.PeerAddress != ""
	s.tree.Join(m.name, passesOn, location != nil)
	s.tellChangesLocked()
	d.log.Debug("worker reads a data set", "worker", w.Name, "dataset", id, "passes on", passesOn)
	return s, m
}

// leave removes a worker. A delivery without workers ends.
func (d *Deliveries) leave(s *set, m *member) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.members[m.name] != m {
		return // it joined again
	}
	delete(s.members, m.name)
	s.tree.Leave(m.name)
	s.tellChangesLocked()
	if len(s.members) == 0 {
		d.endLocked(s)
	}
}

// beginLocked begins the delivery of a data set.
func (d *Deliveries) beginLocked(id string, bytes int64) *set {
	ctx, cancel := context.WithCancel(context.Background())
	s := &set{id: id, bytes: bytes, cancel: cancel, tree: tree.New(), members: map[string]*member{},
		hashes: d.hashes.hashes[id]}
	d.sets[id] = s
	run := func(part func() error) {
		if err := fault.Guard(d.log.Error, part); err != nil {
			d.fail(ctx, s, err)
		}
	}
	if pieces := wire.PieceCount(bytes); len(s.hashes) < pieces {
		s.hashes = nil
		go run(func() error { return d.hash(ctx, s, pieces) })
	}
	go run(func() error { return d.keepLocation(ctx, s) }) // beside hash, which may take longer than a URL is valid
	return s
}

// endLocked ends the delivery of a data set, so that the next worker begins another.
func (d *Deliveries) endLocked(s *set) {
	s.cancel()
	if d.sets[s.id] == s {
		delete(d.sets, s.id)
	}
}

// fail ends the streams of all workers with an error of the coordinator's own. Workers join again if another attempt
// may help.
func (d *Deliveries) fail(ctx context.Context, s *set, err error) {
	if ctx.Err() != nil {
		return // nobody is left
	}
	d.log.Warn("cannot read a data set for workers", "dataset", s.id, "error", err)
	d.reports.DatasetRead(s.id, err)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endLocked(s)
	for _, m := range s.members {
		signal.Offer(m.ended, wire.Status(err))
	}
}
