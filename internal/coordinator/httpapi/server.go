// Package httpapi serves the API of a coordinator over HTTP: REST with JSON at /v1, and the Connect, gRPC-Web and gRPC
// protocols at the paths of gRPC methods.
//
// Everything is a call to the gRPC server in the same process, made over a connection that carries the address and
// the certificate of the HTTP client. Authentication, roles, limits, audit log and metrics therefore apply as they do
// for gRPC, and there is no second place that decides them. Before the body of a request is read, Config.Authorize
// says whether its client may make the call. Only the services of cleave.v1 and health checks can be
// reached; the protocol of workers cannot.
package httpapi

import (
	"context"
	"crypto/tls"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/fault"
)

// Config configures a Server.
type Config struct {
	// Hosts are names, besides those of this machine, by which clients may call the server in URLs.
	Hosts []string
	// Origins are the origins, such as https://app.example, whose pages may call the server; "*" means all.
	Origins []string
	// MaxMessageBytes limits the JSON of one message.
	MaxMessageBytes int
	// MaxUploadBytes limits the body of an upload.
	MaxUploadBytes int64
	// UploadMemory is the memory of an upload that is held in memory as a whole. Its body is at most a tenth of that or
	// MaxMessageBytes, whichever is more, and never larger than 1 GiB.
	UploadMemory int64
	// Memory is the memory of requests.
	Memory *queue.Share
	// Authorize returns an error if a client may not call a method. ctx has the client as its peer, and header what the
	// call will have.
	Authorize func(ctx context.Context, method string, header metadata.MD) error
	// HasRoom reports whether temporary files, in which uploads are kept while they are read, may grow; nil means that
	// they always may.
	HasRoom func() bool
	// ReadStall is how long a client may send nothing of the body of a request, and WriteStall how long it may accept
	// nothing of a response.
	ReadStall, WriteStall time.Duration
	Version               string
	Logger                hclog.Logger
}

// Server serves HTTP.
type Server struct {
	cfg  Config
	http http.Server
}

// Limits on what a client may send before it is authenticated, and on how long it may be idle.
const (
	maxHeaderBytes = 64 << 10
	headerTimeout  = 20 * time.Second
	idleTimeout    = 5 * time.Minute
)

// Conn is a connection of an HTTP client, as the listener that Serve gets accepts them.
type Conn interface {
	// Dial opens a connection to the gRPC server on which the HTTP client is the caller.
	Dial(ctx context.Context) (net.Conn, error)
	// TLS returns the state of the TLS connection, or nil if the connection is not encrypted.
	TLS() *tls.ConnectionState
}

// New returns a server.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // connections are decrypted already
	s.http = http.Server{
		Handler: s.handler(), Protocols: protocols,
		MaxHeaderBytes: maxHeaderBytes, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		ErrorLog: cfg.Logger.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, callerKey{}, c)
		},
	}
	return s
}

// Serve serves the connections of a listener, which must be of type Conn, until Close or Shutdown.
func (s *Server) Serve(listener net.Listener) error { return s.http.Serve(callers{listener}) }

// Shutdown stops accepting requests and waits for those in progress.
func (s *Server) Shutdown(ctx context.Context) error { return s.http.Shutdown(ctx) }

// Close closes all connections.
func (s *Server) Close() error { return s.http.Close() }

// handler returns the handler of all requests.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.welcome)
	mux.HandleFunc("GET /v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(openAPI)
	})
	s.addREST(mux)
	s.addRPC(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w,
			status.Errorf(codes.NotFound, "there is nothing at %.200s %.200q; /v1/openapi.json describes the API",
				r.Method, r.URL.Path))
	})
	return s.guard(mux)
}

//go:embed openapi.json
var openAPI []byte

// welcome answers people who open the address in a browser.
func (s *Server) welcome(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	_ = out.Encode(map[string]string{"service": "cleave", "version": s.cfg.Version, "api": "/v1",
		"openapi": "/v1/openapi.json"})
}

// timed limits how long a client may send or accept nothing.
type timed struct {
	http.ResponseWriter
	body        io.ReadCloser
	control     *http.ResponseController
	read, write time.Duration
}

// timed returns a response and a request with limits on time.
func (s *Server) timed(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request) {
	t := &timed{ResponseWriter: w, body: r.Body, control: http.NewResponseController(w), read: s.cfg.ReadStall,
		write: s.cfg.WriteStall}
	return t, withBody(r, t)
}

// withBody returns a request that has another body.
func withBody(r *http.Request, body io.ReadCloser) *http.Request {
	copied := *r
	copied.Body = body
	return &copied
}

// Read reads from the body of the request.
func (t *timed) Read(p []byte) (int, error) {
	_ = t.control.SetReadDeadline(time.Now().Add(t.read))
	n, err := t.body.Read(p)
	_ = t.control.SetReadDeadline(time.Time{}) // it would end the connection while the response is awaited
	if timeout, is := errors.AsType[net.Error](err); is && timeout.Timeout() {
		err = fault.New(fault.DeadlineExceeded, "UPLOAD_STALLED", "nothing of the request body arrived for %v", t.read)
	}
	return n, err
}

// Close closes the body of the request.
func (t *timed) Close() error { return t.body.Close() }

// Write writes to the response.
func (t *timed) Write(p []byte) (int, error) {
	_ = t.control.SetWriteDeadline(time.Now().Add(t.write))
	defer t.control.SetWriteDeadline(time.Time{}) //nolint:errcheck // the next write fails
	return t.ResponseWriter.Write(p)
}

// Unwrap returns the writer of the server, for http.ResponseController.
func (t *timed) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Flush sends what is buffered.
func (t *timed) Flush() {
	_ = t.control.SetWriteDeadline(time.Now().Add(t.write))
	_ = t.control.Flush()
	_ = t.control.SetWriteDeadline(time.Time{})
}
