// Package exchange is how a worker gets the pieces of data sets and passes them on to others. The coordinator says
// where to read a data set: from the object store, from another worker or from itself. Pieces are kept in a cache on
// disk, if there is one, and other workers get them from there. Decoding data sets and running jobs do not belong
// here.
package exchange

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/objects/ranged"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/wire"
)

// The sources of pieces, as metrics name them.
const (
	FromCoordinator = "coordinator"
	FromPeer        = "peer"
	FromStore       = "store"
	FromCache       = "cache"
)

// defaultStall is how long another worker or the object store may send nothing before a piece is fetched elsewhere.
const defaultStall = 10 * time.Second

// Config configures an exchange.
type Config struct {
	Cache   *Cache                                          // nil if there is none
	Peers   func(address string) ([]grpc.DialOption, error) // how other workers are reached
	Stall   time.Duration                                   // how long a source may send nothing; 0 means 10 s
	Arrived func(source string, bytes int)                  // called for what arrives, and with 0 for other progress
	Served  func(bytes int)                                 // called for what is passed on
	// reserves memory for pieces that may be needed again; nil keeps none in memory
	Take   func(bytes int64) bool
	Free   func(bytes int64) // frees what Take reserved
	Logger hclog.Logger
}

// Exchange gets pieces for all jobs of a worker. It is safe for concurrent use.
type Exchange struct {
	cfg     Config
	peers   *peers
	web     *http.Client // reads the object store
	server  *server
	buffers sync.Pool // of *[]byte with room for a piece
	unused  pieceCache
	stop    func() // ends the server

	listens   net.Addr // nil if it does not serve
	advertise string   // where others reach it, if the user says so
	endOfLife func() string

	unreachable atomic.Bool // the log says that others cannot reach it

	mu      sync.Mutex
	shares  map[shareKey]*Share
	running sync.WaitGroup // goroutines of shares
}

type shareKey struct {
	session, dataset string
	whole            bool
}

// New returns an exchange that does not serve others.
func New(cfg Config) *Exchange {
	if cfg.Stall <= 0 {
		cfg.Stall = defaultStall
	}
	e := &Exchange{
		cfg: cfg, peers: &peers{options: cfg.Peers, connections: map[string]*grpc.ClientConn{}},
		web: ranged.NewClient(), shares: map[shareKey]*Share{},
		stop: func() {}, endOfLife: func() string { return "" },
	}
	if cfg.Cache == nil {
		e.unused = pieceCache{take: cfg.Take, free: cfg.Free}
	}
	e.server = &server{exchange: e, slots: make(chan struct{}, servedAtOnce)}
	return e
}

// Serve begins to serve pieces of the cache to other workers, which is possible once SetKey was called.
func (e *Exchange) Serve(listener net.Listener, secured grpc.ServerOption) {
	e.stop = e.server.serve(listener, secured)
	e.listens = listener.Addr()
}

// Serves reports whether other workers can fetch pieces.
func (e *Exchange) Serves() bool { return e.listens != nil }

// Keeps reports whether pieces are kept on disk.
func (e *Exchange) Keeps() bool { return e.cfg.Cache != nil }

// Evict frees memory of pieces that nobody uses, this many bytes if there are as many.
func (e *Exchange) Evict(bytes int64) { e.unused.evict(bytes) }

// Complete reports whether the cache has all pieces of a data set.
func (e *Exchange) Complete(datasetID string, bytes int64) bool {
	if e.cfg.Cache == nil {
		return false
	}
	held, release := e.cfg.Cache.Use(datasetID)
	release()
	return len(held) > 0 && len(held) == wire.PieceCount(bytes)
}

// SetKey sets the key of the tickets that are accepted from now on.
func (e *Exchange) SetKey(key []byte) { e.server.key.Store(&key) }

// Close stops serving, cancels all shares, waits for their goroutines, and releases the cache directory. No other
// method may be called afterward.
func (e *Exchange) Close() {
	e.stop()
	e.mu.Lock()
	for _, s := range e.shares {
		s.cancel()
	}
	e.mu.Unlock()
	e.running.Wait()
	e.peers.close()
	e.web.CloseIdleConnections()
	if e.cfg.Cache != nil {
		_ = e.cfg.Cache.Close()
	}
}

// buffer returns a buffer with room for a piece.
func (e *Exchange) buffer() []byte {
	if b, is := e.buffers.Get().(*[]byte); is {
		return *b
	}
	return make([]byte, wire.PieceBytes)
}

// reuse takes a buffer back.
func (e *Exchange) reuse(buffer []byte) {
	buffer = buffer[:cap(buffer)]
	e.buffers.Put(&buffer)
}

// Coordinator is the coordinator of a session.
type Coordinator struct {
	Client    workerv1.WorkerServiceClient
	SessionID string
	PeerID    string // what the worker calls itself toward other workers
}

// Join starts to fetch a data set, and passes it on if this worker serves others. It stops when every Share that was
// returned for it is closed, or ctx, the context of the session, ends. A data set that is fetched for one job is not
// fetched again for another.
func (e *Exchange) Join(ctx context.Context, coordinator Coordinator, datasetID string, bytes int64) *Share {
	return e.join(ctx, coordinator, datasetID, bytes, true)
}

// JoinPartly is Join, but fetches only the pieces that Share.Want names, and passes nothing on.
func (e *Exchange) JoinPartly(ctx context.Context, coordinator Coordinator, datasetID string, bytes int64) *Share {
	return e.join(ctx, coordinator, datasetID, bytes, false)
}

func (e *Exchange) join(ctx context.Context, coordinator Coordinator, datasetID string, bytes int64,
	whole bool) *Share {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := shareKey{coordinator.SessionID, datasetID, whole}
	if s := e.shares[key]; s != nil && !s.Over() {
		s.users++
		return s
	}
	ctx, cancel := context.WithCancel(ctx)
	s := newShare(e, coordinator, datasetID, bytes, whole, cancel)
	if s.Over() {
		cancel()
		return s
	}
	e.shares[key] = s
	e.running.Go(func() { s.run(ctx) })
	return s
}

// Close ends one use of the share.
func (s *Share) Close() {
	e := s.exchange
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	s.cancel()
	if key := (shareKey{s.coordinator.SessionID, s.id, s.whole}); e.shares[key] == s {
		delete(e.shares, key)
	}
	if len(e.shares) == 0 {
		e.peers.close() // workers come and go, and the next data set may come from others
	}
}

// passing returns the share of a data set that this worker passes on while it fetches it, or nil if there is none.
func (e *Exchange) passing(datasetID string) *Share {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key, s := range e.shares {
		if key.dataset == datasetID && s.passesOn() {
			return s
		}
	}
	return nil
}

// Settings say whether a worker keeps pieces and serves them to others.
type Settings struct {
	CacheDir   string // empty means none
	CacheBytes int64  // limit of the cache
	Listen     string // HOST:PORT for other workers; empty means that there is no such port
	// HOST:PORT at which they reach it; empty means the port of Listen at the address from which this machine reaches
	// the coordinator
	Advertise string
	Stall     time.Duration // how long another worker or the object store may send nothing; 0 means 10 s
}

// Open opens the cache and the port for other workers.
func Open(s Settings, cfg Config, dial credentials.Dial) (e *Exchange, err error) {
	if s.Listen != "" && s.CacheDir == "" {
		return nil, fault.Invalid("NO_CACHE_DIR",
			"a worker serves others from its cache; give --cache-dir DIR together with --peer-listen")
	}
	if s.Advertise != "" && s.Listen == "" {
		return nil, fault.Invalid("NO_PEER_LISTEN",
			"--peer-address is where others reach the port of --peer-listen; give both")
	}
	peers, err := dial.Peers(cfg.Logger)
	if err != nil {
		return nil, err
	}
	cfg.Peers, cfg.Stall = peers.Options, s.Stall
	if s.CacheDir != "" {
		if cfg.Cache, err = OpenCache(s.CacheDir, s.CacheBytes, cfg.Logger); err != nil {
			return nil, err
		}
	}
	e = New(cfg)
	e.endOfLife = peers.EndOfLife
	if s.Listen == "" {
		return e, nil
	}
	if err = e.listen(s, peers); err != nil {
		e.Close()
	}
	return e, err
}

// listen begins to serve others.
func (e *Exchange) listen(s Settings, peers *credentials.Peers) error {
	if _, err := peers.Server(s.Listen, nil); err != nil { // before anybody can connect
		return err
	}
	listener, err := net.Listen("tcp", s.Listen)
	if err != nil {
		return fault.Invalid("CANNOT_LISTEN", "cannot listen for other workers: %v", err)
	}
	secured, err := peers.Server(s.Listen, listener)
	if err != nil {
		listener.Close()
		return err
	}
	e.cfg.Logger.Info("serving pieces of data sets to other workers", "listen", listener.Addr())
	e.Serve(listener, secured)
	e.advertise = s.Advertise
	return nil
}

// StatusMessage says what is wrong with the certificate that this worker shows, or "".
func (e *Exchange) StatusMessage() string {
	if warning := e.endOfLife(); warning != "" {
		return "its certificate " + warning
	}
	return ""
}

// Address returns the address at which others reach this worker, or "" if they cannot. Without Settings.Advertise it
// is the one that the worker listens on. If it listens on all addresses, it is the one from which it reaches the
// coordinator, which is why it can be told only now.
func (e *Exchange) Address(ctx context.Context, coordinator string) string {
	if !e.Serves() || e.advertise != "" {
		return e.advertise
	}
	tcp, is := e.listens.(*net.TCPAddr)
	if !is || !tcp.IP.IsUnspecified() {
		return e.listens.String()
	}
	dialer := net.Dialer{Timeout: connectTimeout}
	c, err := dialer.DialContext(ctx, "udp", coordinator) // sends nothing, but may have to resolve the name
	if err != nil {
		if !e.unreachable.Swap(true) {
			e.cfg.Logger.Warn("other workers are not told of this one: its address is unknown; give --peer-address",
				"error", err)
		}
		return ""
	}
	e.unreachable.Store(false)
	defer c.Close()
	host, _, _ := net.SplitHostPort(c.LocalAddr().String())
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}
