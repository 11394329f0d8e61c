// Package fleet is the coordinator's side of the workers: their sessions, the placement of tiles on them, and the
// executors that run the operations of a job on all of them. Algorithms, job records and clients do not belong here.
//
// # How a job runs
//
// An executor (executor.go, vectors.go) turns each call of an algorithm into an operation, which asks all tiles, or
// some, for one thing. An execution (execution.go) is what all executors share. Its method perform runs an operation
// in rounds until every tile has answered exactly once. A round places the tiles that have no answer yet on workers
// (ensurePlaced), runs their groups (runGroups), adds the answers to the result (merge) and deals with the groups
// that failed (handleFailure). A group is the tiles of one worker: runGroup gives it what it lacks (the job, its
// tiles, operands, sums of the current labels) and then asks.
//
// # Who decides
//
// Three packages decide, and do nothing else. They know no sessions, locks or clocks, and are tested alone. Package
// round says which workers help a late one, whose answers count, and what follows from a failure; round.go and
// failure.go carry it out. Package placing says which workers count and by which steps tiles get to them, by the rules
// of package partition; place.go carries the steps out. Package delivery/tree says where workers read data sets.
//
// # A worker dies in the middle of an operation
//
//  1. The stream of the worker breaks (detach). A process that still exists reconnects at once. Otherwise the worker
//     counts as away (awaitReturnLocked), and the calls that wait for it return errLost (abandonCallsLocked). A machine
//     that is cut off closes nothing; its session ends after Config.LostAfter (checkAlive), with the same effect.
//  2. runGroup returns the error, and the verdict (round.Lost) leaves the tiles to the next round.
//  3. ensurePlaced takes the tiles off the worker (removeLostLocked) and places them on others (placeLocked).
//  4. runGroup builds the tiles there and loads the labels of the current step, which the job keeps. Then it asks for
//     the answers that are missing. Answers that had arrived before count, and merge takes no tile twice.
//
// # What owns which state
//
// Each struct says in its comment who owns it. There are three owners. A goroutine owns what only it touches, without
// a lock: a conductor and its round, a group while it runs, an import. The running operation of a job, of which there
// is one at a time, owns the labels, and what members and tiles are known to have (membership, held). Fleet.mu guards
// the rest: Fleet.state, sessions and their pending calls, and the three parts of an execution that sessions change:
// its placement (who has which tile), its handovers (who builds which tile in the background) and its blame (who gets
// no tiles). Each states its invariants.
//
// A function expects its caller to hold Fleet.mu if and only if its name ends with Locked; test/architecture checks the
// callers. Fleet.mu is never held while sending, receiving or waiting: messages are queued (package outbox), and each
// stream of a session has one goroutine that reads and one that writes. No struct embeds another whose methods would
// become its own.
//
// Comparing the times of workers (pace), checking their answers (check) and telling them where to read data sets
// (delivery) are packages of their own, which know nothing of sessions.
//
// # Words
//
//   - A member is a worker that has tiles of the job.
//   - A copy of a tile is on a second worker, which overtakes the first one if it is late (a rescue, package round), or
//     takes its tile over (a handover, handover.go).
//   - A worker is silent if its stream is broken, away if it also did not reconnect at once, lost if its session has
//     ended.
//   - A worker yields its tiles if they move to others as soon as possible: it is draining or away.
//   - A worker is doubted if it gets tiles only while there is no other: it is slow, stalled, has failed or crashed. It
//     is excluded if it gets no tiles of one job (blame.go; the metric says put aside).
package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fleet/delivery"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/signal"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// Timing says when a worker is lost, hangs or is slow. Its tiles then go to others.
type Timing struct {
	HeartbeatInterval time.Duration // how often workers send a heartbeat
	// how long a worker may be silent, on its stream and in transfers, before it is lost
	LostAfter       time.Duration
	ReconnectWithin time.Duration // how long a worker whose connection was closed keeps its tiles
	StalledAfter    time.Duration // how long a command may make no progress; at least 30 times what a piece should take
	SlowAfter       time.Duration // how long a worker may keep others waiting, beyond 3 times what they take
	// how long a job that ran before waits while workers have too little memory; then it fails
	WorkerWait time.Duration
}

// DefaultTiming returns the timing of a cluster in one network.
func DefaultTiming() Timing {
	return Timing{
		HeartbeatInterval: time.Second, LostAfter: 3 * time.Second, ReconnectWithin: 200 * time.Millisecond,
		StalledAfter: time.Minute, SlowAfter: time.Second, WorkerWait: 10 * time.Minute,
	}
}

// ErrClosed is returned by operations after Close.
var ErrClosed = errors.New("fleet: the coordinator is shutting down")

// DatasetSource provides the canonical bytes of data sets.
type DatasetSource = delivery.Source

// Config configures a fleet.
type Config struct {
	Timing   // the zero value means DefaultTiming
	Logger   hclog.Logger
	Datasets DatasetSource
	Observe  *observe.Coordinator // may be nil
}

// Fleet holds all attached workers and the jobs that run on them. It is safe for concurrent use.
type Fleet struct {
	cfg        Config
	log        hclog.Logger
	deliveries *delivery.Deliveries // calls back with no lock held
	changed    signal.Broadcast     // every change that a job may wait for (notifyLocked); safe for concurrent use

	mu    sync.Mutex // guards state, and everything that says so in sessions, calls and executions
	state state
}

// state is what a fleet knows about its workers and jobs. Fleet.mu guards it.
type state struct {
	sessions   map[string]*session     // those that have not ended, by id
	executions map[*execution]struct{} // those that have started and are not released
	damaged    map[string]error        // by data set id: the damage found when a worker last fetched it
	payloads   map[string]*payload     // large ones, by reference
	keys       uint64                  // number of keys and references given so far
	changes    uint64                  // number of changes that a job may wait for, and one
	term       int64                   // the coordinator's term as the leader; 0 before Begin
	returned   time.Time               // when the first worker attached in this term
	closed     bool
}

// newKeyLocked returns a number that makes the key of an execution or an import, or the reference of a payload, unique.
func (st *state) newKeyLocked() uint64 {
	st.keys++
	return st.keys
}

// workersLocked returns the sessions of all workers, sorted by name and id.
func (st *state) workersLocked() []*session {
	return slices.SortedFunc(maps.Values(st.sessions), byName)
}

// New returns a fleet without workers.
func New(cfg Config) *Fleet {
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	if cfg.Timing == (Timing{}) {
		cfg.Timing = DefaultTiming()
	}
	f := &Fleet{
		cfg: cfg,
		log: cfg.Logger,
		state: state{
			sessions:   map[string]*session{},
			executions: map[*execution]struct{}{},
			damaged:    map[string]error{},
			payloads:   map[string]*payload{},
			changes:    1,
		},
	}
	f.deliveries = delivery.New(cfg.Datasets, reports{f}, f.log)
	return f
}

// ServerOptions returns the options that a server of WorkerService needs. They allow the frequent keepalive pings of
// workers, and detect connections to dead machines.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second,
			PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 10 * time.Second, Timeout: 10 * time.Second}),
		grpc.MaxRecvMsgSize(wire.WorkerMessageBytes),
	}
}

// Register adds WorkerService to a server.
func (f *Fleet) Register(server *grpc.Server) {
	workerv1.RegisterWorkerServiceServer(server, &service{fleet: f})
}

// Changed returns a channel that is closed at the next change: a worker joined, lost its stream, came back, began to
// drain or left, or a job released its tiles. A worker whose heartbeats are late falls silent without such a change.
// Call Changed before checking the condition to wait for, and again after each change.
func (f *Fleet) Changed() <-chan struct{} { return f.changed.Wait() }

// notifyLocked wakes up the jobs that wait for a change.
func (f *Fleet) notifyLocked() {
	f.state.changes++
	f.changed.Notify()
}

// WorkerState is the state of a worker. Its values are those of cleavev1.WorkerState.
type WorkerState int

// The states of a worker.
const (
	WorkerReady    WorkerState = iota + 1
	WorkerSilent               // its stream broke or it missed heartbeats; keeps its tiles until LostAfter
	WorkerDraining             // its tiles move to others, and it leaves once it has none
)

// WorkerInfo describes a worker.
type WorkerInfo struct {
	ID            string
	Name          string
	State         WorkerState
	Threads       int
	MemoryBytes   uint64
	Version       string
	NumericClass  string
	AttachedAt    time.Time
	LastHeartbeat time.Time
	Tiles         int
	ReservedBytes uint64 // reserved by jobs for tiles, data sets and everything else
	JobIDs        []string
	Message       string // human-readable problem; "" if there is none
}

// Workers returns the workers sorted by name and id.
func (f *Fleet) Workers() []WorkerInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	infos := make([]WorkerInfo, 0, len(f.state.sessions))
	for _, s := range f.state.workersLocked() {
		infos = append(infos, f.infoLocked(s))
	}
	return infos
}

// AwaitWorkers blocks until enough accepts the workers. Whenever it does not, AwaitWorkers calls waiting, if that is
// not nil.
func (f *Fleet) AwaitWorkers(ctx context.Context, enough func([]WorkerInfo) bool, waiting func([]WorkerInfo)) error {
	for {
		changed := f.Changed()
		workers := f.Workers()
		if enough(workers) {
			return nil
		}
		if waiting != nil {
			waiting(workers)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// CountIn returns how many workers are in a state.
func CountIn(workers []WorkerInfo, state WorkerState) (count int) {
	for _, w := range workers {
		if w.State == state {
			count++
		}
	}
	return count
}

// WhyNoneReady says why none of the workers can begin a job. It returns "" if one can.
func WhyNoneReady(workers []WorkerInfo) string {
	if CountIn(workers, WorkerReady) > 0 {
		return ""
	}
	if len(workers) == 0 {
		return "none is connected"
	}
	var names []string
	for _, state := range []struct {
		is   WorkerState
		name string
	}{{WorkerSilent, "silent"}, {WorkerDraining, "draining"}} {
		if count := CountIn(workers, state.is); count > 0 {
			names = append(names, fmt.Sprintf("%d %s", count, state.name))
		}
	}
	return fmt.Sprintf("none of the %d connected is ready (%s)", len(workers), strings.Join(names, ", "))
}

// infoLocked describes a session.
func (f *Fleet) infoLocked(s *session) WorkerInfo {
	info := WorkerInfo{
		ID: s.id, Name: s.name, State: WorkerReady,
		Threads: s.threads, MemoryBytes: s.memory,
		Version: s.version, NumericClass: s.numericClass,
		AttachedAt: s.attachedAt, LastHeartbeat: s.lastSeen,
		Tiles: s.tiles, ReservedBytes: uint64(max(0, s.used)),
	}
	switch {
	case f.silentLocked(s):
		info.State = WorkerSilent
	case s.draining:
		info.State = WorkerDraining
	}
	switch {
	case s.slow:
		info.Message = fmt.Sprintf("slow: others took its tiles over, %s so far", text.Plural(s.overtaken, "time"))
	case s.noStore != "":
		info.Message = "could not read the object store and got data from elsewhere: " + s.noStore
	case s.reported != "":
		info.Message = s.reported
	default:
		info.Message = f.blameMessageLocked(s)
	}
	for e := range f.state.executions {
		if e.usesLocked(s) && !slices.Contains(info.JobIDs, e.jobID) {
			info.JobIDs = append(info.JobIDs, e.jobID)
		}
	}
	slices.Sort(info.JobIDs)
	return info
}

// Close ends every session and every operation. Streams end immediately, so that the server can stop.
func (f *Fleet) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state.closed {
		return
	}
	f.state.closed = true
	for _, s := range f.state.sessions {
		f.endSessionLocked(s, unavailable(ErrClosed.Error()))
	}
	f.notifyLocked()
}
