package exchange

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/certs"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/wire"
)

var testKey = []byte("the key of the coordinator")

func quiet() Config {
	return Config{Logger: hclog.NewNullLogger(), Arrived: func(string, int) {}, Served: func(int) {}, Peers: plain}
}

// startServer starts a worker that serves one piece, and returns its address.
func startServer(t testing.TB, dial credentials.Dial, piece []byte) string {
	t.Helper()
	e, err := Open(Settings{CacheDir: t.TempDir(), CacheBytes: 1 << 30, Listen: "127.0.0.1:0"}, quiet(), dial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	e.SetKey(testKey)
	_, release := e.cfg.Cache.Use(datasetID(1))
	t.Cleanup(release)
	if err := put(t, e.cfg.Cache, datasetID(1), 0, piece); err != nil {
		t.Fatal(err)
	}
	return e.Address(t.Context(), "")
}

// fetchWith fetches the piece as a worker with these certificates.
func fetchWith(t testing.TB, dial credentials.Dial, address string, r *workerv1.FetchPieceRequest,
	size int) ([]byte, error) {
	t.Helper()
	e, err := Open(Settings{}, quiet(), dial)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	buffer := make([]byte, size)
	return buffer, e.peers.fetch(ctx, address, r, buffer, func(int) {})
}

func goodRequest() *workerv1.FetchPieceRequest {
	return &workerv1.FetchPieceRequest{DatasetId: datasetID(1), SessionId: "me",
		Ticket: wire.PieceTicket(testKey, datasetID(1), "me")}
}

// Only a ticket for this data set, session and worker opens anything, and only what is there.
func TestTickets(t *testing.T) {
	piece := bytes.Repeat([]byte("piece"), 200_000)
	address := startServer(t, credentials.Dial{}, piece)
	if got, err := fetchWith(t, credentials.Dial{}, address, goodRequest(), len(piece)); err != nil ||
		!bytes.Equal(got, piece) {
		t.Fatalf("with a good ticket: %v", err)
	}
	for name, change := range map[string]func(*workerv1.FetchPieceRequest){
		"no ticket":           func(r *workerv1.FetchPieceRequest) { r.Ticket = nil },
		"half a ticket":       func(r *workerv1.FetchPieceRequest) { r.Ticket = r.Ticket[:16] },
		"of another session":  func(r *workerv1.FetchPieceRequest) { r.SessionId = "you" },
		"of another data set": func(r *workerv1.FetchPieceRequest) { r.DatasetId = datasetID(2) },
		"of another worker": func(r *workerv1.FetchPieceRequest) {
			r.Ticket = wire.PieceTicket([]byte("another"), r.DatasetId, r.SessionId)
		},
		"with an empty key": func(r *workerv1.FetchPieceRequest) {
			r.Ticket = wire.PieceTicket(nil, r.DatasetId, r.SessionId)
		},
		"that joins the names": func(r *workerv1.FetchPieceRequest) {
			r.DatasetId, r.SessionId = r.DatasetId+"\x00", "me"[1:]
		},
	} {
		r := goodRequest()
		change(r)
		if _, err := fetchWith(t, credentials.Dial{}, address, r,
			len(piece)); status.Code(err) != codes.PermissionDenied {
			t.Errorf("a ticket %s: %v", name, err)
		}
	}
	r := goodRequest()
	r.Piece = 1 << 31
	if _, err := fetchWith(t, credentials.Dial{}, address, r, len(piece)); status.Code(err) != codes.NotFound {
		t.Errorf("a piece that is not there: %v", err)
	}
	if _, err := fetchWith(t, credentials.Dial{}, address, goodRequest(), len(piece)-1); err != errWrongBytes {
		t.Errorf("a piece that is too long: %v", err)
	}
	r = goodRequest()
	r.SessionId = strings.Repeat("x", 2*requestBytes)
	if _, err := fetchWith(t, credentials.Dial{}, address, r, len(piece)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a request that is too long: %v", err)
	}
}

// slowReader is a worker that takes a while to accept a piece.
type slowReader struct {
	grpc.ServerStream
	ctx   context.Context
	takes time.Duration
}

func (r *slowReader) Context() context.Context { return r.ctx }

func (r *slowReader) Send(*workerv1.FetchPieceResponse) error {
	time.Sleep(r.takes)
	return nil
}

// A worker that waited in line has as long to accept a piece as one that did not wait.
func TestWaitingInLineLeavesTimeForThePiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(quiet())
		defer e.Close()
		e.cfg.Cache = openCache(t, t.TempDir(), 1<<20)
		e.SetKey(testKey)
		_, release := e.cfg.Cache.Use(datasetID(1))
		defer release()
		if err := put(t, e.cfg.Cache, datasetID(1), 0, []byte("a piece")); err != nil {
			t.Fatal(err)
		}
		for range servedAtOnce {
			e.server.slots <- struct{}{}
		}
		time.AfterFunc(pieceTimeout-5*time.Second, func() { <-e.server.slots })
		if err := e.server.FetchPiece(goodRequest(),
			&slowReader{ctx: t.Context(), takes: pieceTimeout / 2}); err != nil {
			t.Errorf("after %v in line: %v", pieceTimeout-5*time.Second, err)
		}
		e.server.slots <- struct{}{} // once nothing is being sent
	})
}

// newFolder has an authority and certificates of workers and others.
func newFolder(t testing.TB, now time.Time) func(name string) credentials.Dial {
	t.Helper()
	f := certs.Folder{Dir: t.TempDir(), Now: func() time.Time { return now }}
	if err := f.Init(); err != nil {
		t.Fatal(err)
	}
	for name, party := range map[string]certs.Party{
		"coordinator": {Hosts: []string{"localhost", "127.0.0.1"}},
		"worker":      {Caller: &identity.Caller{Name: "worker", Role: identity.Worker}},
		"admin":       {Caller: &identity.Caller{Name: "ada", Role: identity.Admin}},
	} {
		party.Life = 24 * time.Hour
		if _, err := f.Issue(name, party); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) credentials.Dial {
		return credentials.Dial{Files: credentials.Files{Dir: filepath.Join(f.Dir, name)}}
	}
}

// Workers of one cluster serve each other with the certificates that they have for the coordinator, and nobody else.
func TestPeersShowCertificates(t *testing.T) {
	piece := []byte("a piece")
	ours := newFolder(t, time.Now())
	theirs := newFolder(t, time.Now())
	address := startServer(t, ours("worker"), piece)
	if got, err := fetchWith(t, ours("worker"), address, goodRequest(), len(piece)); err != nil ||
		!bytes.Equal(got, piece) {
		t.Fatalf("a worker of the cluster: %v", err)
	}
	authority := func(d credentials.Dial) string { return filepath.Join(filepath.Dir(d.Dir), "ca", "ca.pem") }
	withoutCertificate := credentials.Dial{Files: credentials.Files{CA: authority(ours("worker"))}}
	stranger := theirs("worker")
	stranger.Files = credentials.Files{CA: authority(ours("worker")), Cert: filepath.Join(stranger.Dir, "cert.pem"),
		Key: filepath.Join(stranger.Dir, "key.pem")}
	for who, dial := range map[string]credentials.Dial{
		"an admin": ours("admin"), "nobody": withoutCertificate, "a worker of another cluster": stranger,
		"a worker that trusts another cluster": theirs("worker"), "a worker without encryption": {},
	} {
		if _, err := fetchWith(t, dial, address, goodRequest(), len(piece)); err == nil {
			t.Errorf("%s is served", who)
		}
	}
	// The other way round: whom a worker asks must be a worker of the cluster, too.
	foreign := startServer(t, theirs("worker"), piece)
	if _, err := fetchWith(t, ours("worker"), foreign, goodRequest(), len(piece)); err == nil ||
		!strings.Contains(err.Error(), "not signed by an authority that we trust") {
		t.Errorf("a worker of another cluster serves: %v", err)
	}
	if message := messageOf(mustFail(fetchWith(t, ours("worker"), foreign, goodRequest(),
		len(piece)))); !strings.Contains(message, "another cluster") {
		t.Errorf("it says %q", message)
	}
}

func mustFail(_ []byte, err error) error { return err }

// A worker whose certificate has expired is not asked, and the error says why.
func TestExpiredPeers(t *testing.T) {
	folder := newFolder(t, time.Now())
	dial := folder("worker")
	peers, err := dial.Peers(hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	if err := peers.VerifyAt(time.Now().Add(48*time.Hour), leafOf(t, dial)); err == nil ||
		!strings.Contains(err.Error(), "expired") {
		t.Errorf("an expired certificate: %v", err)
	}
	if err := peers.VerifyAt(time.Now(), leafOf(t, dial)); err != nil {
		t.Error(err)
	}
}

// What would let strangers in, or cannot work, is refused with what to do.
func TestBadSettings(t *testing.T) {
	folder := newFolder(t, time.Now())
	for _, c := range []struct {
		settings Settings
		dial     credentials.Dial
		reason   string
		says     string
	}{
		{Settings{Listen: "127.0.0.1:0"}, credentials.Dial{}, "NO_CACHE_DIR", "--cache-dir"},
		{Settings{Advertise: "host:7401"}, credentials.Dial{}, "NO_PEER_LISTEN", "--peer-listen"},
		{Settings{Listen: "0.0.0.0:0", CacheDir: "x"}, credentials.Dial{}, credentials.NotSecure, "--insecure"},
		{Settings{Listen: "127.0.0.1:0", CacheDir: "x"},
			credentials.Dial{Files: credentials.Files{CA: folder("ca").Dir + "/ca.pem"}}, credentials.NotSecure,
			"--tls-cert"},
		{Settings{Listen: "nowhere", CacheDir: "x"}, folder("worker"), "CANNOT_LISTEN", "nowhere"},
	} {
		if c.settings.CacheDir != "" {
			c.settings.CacheDir = t.TempDir()
		}
		e, err := Open(c.settings, quiet(), c.dial)
		if !fault.Is(err, c.reason) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.settings, err)
		}
		if err == nil {
			e.Close()
		}
	}
}

func TestAdvertisedAddress(t *testing.T) {
	for _, c := range []struct{ listen, advertise, want string }{
		{"127.0.0.1:0", "", "127.0.0.1:PORT"}, {"0.0.0.0:0", "", "127.0.0.1:PORT"}, {":0", "", "127.0.0.1:PORT"},
		{"127.0.0.1:0", "rack3:9", "rack3:9"}, {"", "", ""},
	} {
		settings := Settings{Listen: c.listen, Advertise: c.advertise, CacheDir: t.TempDir()}
		e, err := Open(settings, quiet(), credentials.Dial{Insecure: true})
		if err != nil {
			t.Fatal(err)
		}
		want := c.want
		if e.Serves() {
			_, port, _ := net.SplitHostPort(e.listens.String())
			want = strings.Replace(want, "PORT", port, 1)
		}
		if got := e.Address(t.Context(), "127.0.0.1:7400"); got != want {
			t.Errorf("%+v is advertised as %q", c, got)
		}
		e.Close()
	}
}

// FuzzRequests asks a server for anything. Without the ticket of the coordinator it gives nothing.
func FuzzRequests(f *testing.F) {
	e := New(quiet())
	defer e.Close()
	e.cfg.Cache = openCache(f, f.TempDir(), 1<<20)
	e.SetKey(testKey)
	good, err := proto.Marshal(goodRequest())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, encoded []byte) {
		r := &workerv1.FetchPieceRequest{}
		if proto.Unmarshal(encoded, r) != nil {
			return
		}
		want := bytes.Equal(r.GetTicket(), wire.PieceTicket(testKey, r.GetDatasetId(), r.GetSessionId()))
		if e.server.allows(r) != want {
			t.Fatalf("%v is allowed: %v", r, !want)
		}
		if data, err := e.cfg.Cache.Get(r.GetDatasetId(), int(r.GetPiece()), make([]byte, 10), true); err == nil {
			t.Fatalf("%v gives %d bytes", r, len(data))
		}
	})
}

// FuzzSources tells a worker to read anywhere. It never panics, and keeps nothing that was not sent with its hash.
func FuzzSources(f *testing.F) {
	hash := sha256.Sum256([]byte("x"))
	for _, m := range []*workerv1.DeliverResponse{
		{Sha256: hash[:], Source: &workerv1.Source{}}, {Sha256: hash[:31]}, {Sha256: bytes.Repeat(hash[:], 2)}, {},
		{Sha256: hash[:],
			Source: &workerv1.Source{
				From: &workerv1.Source_Parent{Parent: &workerv1.ParentSource{Address: "passthrough:///nowhere"}}}},
		{Sha256: hash[:],
			Source: &workerv1.Source{
				From: &workerv1.Source_Store{Store: &workerv1.StoreSource{Url: "http://%zz", SealedName: "x"}}}},
	} {
		encoded, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encoded)
	}
	e := New(quiet())
	defer e.Close()
	f.Fuzz(func(t *testing.T, encoded []byte) {
		m := &workerv1.DeliverResponse{}
		if proto.Unmarshal(encoded, m) != nil {
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // nothing is sent to wherever the source is
		s := newShare(e, Coordinator{Client: workerv1.NewWorkerServiceClient(noConnection{})}, datasetID(1),
			1000, true, cancel)
		if s.take(ctx, m, true) != nil {
			return
		}
		piece, hash, _ := s.nextPiece()
		if piece >= 0 {
			_ = s.fetchPiece(ctx, piece, hash)
		}
		if piece > 0 || s.has[0] || len(s.memory) > 0 {
			t.Fatalf("%v gives a piece", m)
		}
	})
}

// waitingParent returns a worker that has fetched some pieces of a data set and waits for the others.
func waitingParent(t *testing.T, pieces int) (*Exchange, *Share) {
	t.Helper()
	cfg := quiet()
	cfg.Cache = openCache(t, t.TempDir(), 1<<30)
	e := New(cfg)
	t.Cleanup(e.Close)
	e.listens = &net.TCPAddr{}
	e.SetKey(testKey)
	_, release := cfg.Cache.Use(datasetID(1))
	t.Cleanup(release)
	s := newShare(e, Coordinator{}, datasetID(1), int64(pieces)*wire.PieceBytes, true, func() {})
	e.shares[shareKey{dataset: datasetID(1), whole: true}] = s
	t.Cleanup(func() { delete(e.shares, shareKey{dataset: datasetID(1), whole: true}) })
	return e, s
}

// collector is a worker that takes what a parent sends.
type collector struct {
	grpc.ServerStream
	ctx   context.Context
	data  []byte
	empty int // signs of life
}

func (c *collector) Context() context.Context { return c.ctx }

func (c *collector) Send(m *workerv1.FetchPieceResponse) error {
	if len(m.GetData()) == 0 {
		c.empty++
	}
	c.data = append(c.data, m.GetData()...)
	return nil
}

// A parent that does not have a piece yet says that it is alive until it has it. It refuses a piece that it will not
// have.
func TestAParentThatWaitsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, s := waitingParent(t, 2)
		piece := bytes.Repeat([]byte("piece..."), wire.PieceBytes/8)
		time.AfterFunc(10*aliveEvery+aliveEvery/2, func() { s.keep(0, sha256.Sum256(piece), bytes.Clone(piece)) })
		child := &collector{ctx: t.Context()}
		if err := e.server.FetchPiece(goodRequest(), child); err != nil || child.empty != 10 ||
			!bytes.Equal(child.data, piece) {
			t.Errorf("after %d signs of life: %d bytes, %v", child.empty, len(child.data), err)
		}
		outside := goodRequest()
		outside.Piece = 2
		if err := e.server.FetchPiece(outside, child); status.Code(err) != codes.NotFound {
			t.Errorf("a piece that does not exist: %v", err)
		}
		time.AfterFunc(aliveEvery/2, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.stopKeepingLocked()
			s.changed.Notify()
		})
		next := goodRequest()
		next.Piece = 1
		if err := e.server.FetchPiece(next, child); status.Code(err) != codes.NotFound {
			t.Errorf("a parent that passes nothing on anymore: %v", err)
		}
	})
}

// A piece that is damaged on the disk of a parent is fetched again before it is passed on.
func TestADamagedPieceIsNotPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, s := waitingParent(t, 1)
		piece := bytes.Repeat([]byte("piece..."), wire.PieceBytes/8)
		hash := sha256.Sum256(piece)
		s.keep(0, hash, bytes.Clone(piece))
		file := e.cfg.Cache.path(datasetID(1), 0, hex.EncodeToString(hash[:]))
		if err := os.WriteFile(file, make([]byte, wire.PieceBytes), 0o600); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(aliveEvery/2, func() { s.keep(0, hash, bytes.Clone(piece)) })
		child := &collector{ctx: t.Context()}
		if err := e.server.FetchPiece(goodRequest(), child); err != nil || !bytes.Equal(child.data, piece) {
			t.Errorf("%d bytes, %v", len(child.data), err)
		}
	})
}

// A worker that runs for weeks, among others that come and go, does not keep a connection to each of them.
func TestConnectionsToOtherWorkersEndWithTheDataSet(t *testing.T) {
	e := New(quiet())
	defer e.Close()
	coordinator := Coordinator{Client: workerv1.NewWorkerServiceClient(noConnection{}), SessionID: "me"}
	first := e.Join(t.Context(), coordinator, datasetID(1), 10)
	second := e.Join(t.Context(), coordinator, datasetID(2), 10)
	if _, err := e.peers.client("127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	for at, share := range []*Share{first, second} {
		if len(e.peers.connections) != 1 {
			t.Errorf("%d connections after %d data sets have ended", len(e.peers.connections), at)
		}
		share.Close()
	}
	if len(e.peers.connections) != 0 {
		t.Errorf("%d connections are left", len(e.peers.connections))
	}
}
