package httpapi_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"

	"github.com/cleave-project/cleave/internal/coordinator/httpapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served is a port with a gRPC and an HTTP server.
type served struct {
	address string
	roots   *x509.CertPool // nil if connections are not encrypted
	mu      sync.Mutex
	callers []*peer.Peer // of the calls of gRPC
}

func serve(t *testing.T, encrypted bool, timeout time.Duration) *served {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &served{address: listener.Addr().String()}
	cfg := httpapi.PortConfig{Timeout: timeout, Logger: hclog.NewNullLogger()}
	if encrypted {
		made := httptest.NewUnstartedServer(nil) // has a certificate for 127.0.0.1
		made.StartTLS()
		pair := made.TLS.Certificates[0]
		s.roots = x509.NewCertPool()
		s.roots.AddCert(made.Certificate())
		made.Close()
		cfg.TLS = func() *tls.Config {
			return &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"},
				MinVersion: tls.VersionTLS13, ClientAuth: tls.RequestClientCert}
		}
	}
	p := httpapi.NewPort(listener, cfg)
	server := grpc.NewServer(grpc.Creds(p.Credentials()),
		grpc.UnaryInterceptor(func(ctx context.Context, request any, _ *grpc.UnaryServerInfo,
			handler grpc.UnaryHandler) (any, error) {
			caller, _ := peer.FromContext(ctx)
			s.mu.Lock()
			s.callers = append(s.callers, caller)
			s.mu.Unlock()
			return handler(ctx, request)
		}))
	healthv1.RegisterHealthServer(server, health.NewServer())
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	type connKey struct{}
	web := &http.Server{
		Protocols: protocols, ReadHeaderTimeout: time.Minute,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn := r.Context().Value(connKey{}).(*httpapi.PortConn)
			if r.URL.Path == "/call" { // as a gateway does
				client, err := grpc.NewClient("passthrough:///inside",
					grpc.WithTransportCredentials(insecure.NewCredentials()),
					grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
						return conn.Dial(ctx)
					}))
				if err == nil {
					_, err = healthv1.NewHealthClient(client).Check(r.Context(), &healthv1.HealthCheckRequest{})
					client.Close()
				}
				if err != nil {
					http.Error(w, err.Error(), http.StatusBadGateway)
				}
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, r.Proto+" "+r.Header.Get("Content-Type"))
		}),
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = p.Serve() })
	serving.Go(func() { _ = server.Serve(p.GRPC()) })
	serving.Go(func() { _ = web.Serve(p.HTTP()) })
	t.Cleanup(func() {
		p.Close()
		server.Stop()
		web.Close()
		serving.Wait()
	})
	return s
}

// clientTLS is the configuration of a client, or nil if connections are not encrypted.
func (s *served) clientTLS() *tls.Config {
	if s.roots == nil {
		return nil
	}
	return &tls.Config{RootCAs: s.roots, MinVersion: tls.VersionTLS13}
}

func (s *served) scheme() string {
	if s.roots == nil {
		return "http://"
	}
	return "https://"
}

func (s *served) web(t *testing.T, two bool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!two)
	protocols.SetHTTP2(two && s.roots != nil)
	protocols.SetUnencryptedHTTP2(two && s.roots == nil)
	transport := &http.Transport{TLSClientConfig: s.clientTLS(), Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t *testing.T, client *http.Client, url, contentType string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url,
		strings.NewReader(strings.Repeat("x", 100_000)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("%s %s %v", response.Status, text, err)
	}
	return string(text)
}

func TestProtocolsShareAPort(t *testing.T) {
	for _, encrypted := range []bool{false, true} {
		s := serve(t, encrypted, time.Minute)
		transport := insecure.NewCredentials()
		if encrypted {
			transport = credentials.NewTLS(s.clientTLS())
		}
		conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(transport))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
				t.Fatal(err)
			}
		}
		conn.Close()
		for _, two := range []bool{false, true} {
			client := s.web(t, two)
			want := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[two]
			for _, contentType := range []string{"text/csv", "application/json", "application/connect+proto",
				"application/grpc-web+proto", "application/grpc-web"} {
				if got := get(t, client, s.scheme()+s.address+"/", contentType); got != want+" "+contentType {
					t.Errorf("%q instead of %s", got, want)
				}
			}
			before := len(s.callers)
			get(t, client, s.scheme()+s.address+"/call", "text/plain")
			caller := s.callers[before]
			if _, secured := caller.AuthInfo.(credentials.TLSInfo); secured != encrypted ||
				!strings.HasPrefix(caller.Addr.String(), "127.0.0.1:") {
				t.Errorf("the call comes from %v with %T", caller.Addr, caller.AuthInfo)
			}
		}
	}
}

// A client that speaks TLS with a port that does not, or the other way round, is told so.
func TestTheWrongProtocol(t *testing.T) {
	secure := serve(t, true, time.Minute)
	conn, err := net.Dial("tcp", secure.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode != 400 || !strings.Contains(string(text), "https://") {
		t.Errorf("%s %s", response.Status, text)
	}

	plain := serve(t, false, time.Minute)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+plain.address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(request); err == nil ||
		!strings.Contains(err.Error(),
			"server gave HTTP response to HTTPS client") { //nolint:bodyclose // there is none
		t.Errorf("%v", err)
	}
}

// Clients that do not say what they speak, or take too long, or send too much, lose their connections.
func TestSilentClients(t *testing.T) {
	settings := "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	for name, c := range map[string]struct {
		sent    string
		timeout time.Duration
	}{
		"nothing":                     {"", 20 * time.Millisecond},
		"a part of the preface":       {http2.ClientPreface[:10], 20 * time.Millisecond},
		"no request after the start":  {http2.ClientPreface + settings, 20 * time.Millisecond},
		"many settings":               {http2.ClientPreface + strings.Repeat(settings, 100), time.Minute},
		"a frame larger than allowed": {http2.ClientPreface + "\xff\xff\xff\x04\x00\x00\x00\x00\x00", time.Minute},
	} {
		s := serve(t, false, c.timeout)
		conn, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, c.sent)
		// until it is closed
		if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %v", name, err)
		}
		conn.Close()
	}
}

// The acknowledgment of the settings that the port sends may come before or after the first request, in pieces of any
// size.
func TestAcknowledgmentsOfSettings(t *testing.T) {
	s := serve(t, false, time.Minute)
	for _, size := range []int{1, 7, 1000} {
		for _, early := range []bool{true, false} {
			conn, err := net.Dial("tcp", s.address)
			if err != nil {
				t.Fatal(err)
			}
			out := &pieces{conn, size}
			_, _ = io.WriteString(out, http2.ClientPreface)
			frames := http2.NewFramer(out, conn)
			_ = frames.WriteSettings()
			if early {
				_ = frames.WriteSettingsAck()
			}
			// :method GET, :scheme http, :path /, :authority localhost, from the static table of HPACK
			_ = frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1,
				BlockFragment: []byte("\x82\x86\x84\x41\x09localhost"), EndStream: true, EndHeaders: true})
			if !early {
				_ = frames.WriteSettingsAck()
			}
			_ = frames.WriteSettingsAck() // of the settings of the HTTP server
			_ = frames.WritePing(false, [8]byte{1})
			answered, pinged := false, false
			for !answered || !pinged {
				frame, err := frames.ReadFrame()
				if err != nil {
					t.Fatalf("%d bytes at a time, early %v: %v", size, early, err)
				}
				switch f := frame.(type) {
				case *http2.DataFrame:
					answered = answered || f.StreamEnded()
				case *http2.PingFrame:
					pinged = f.IsAck()
				case *http2.GoAwayFrame:
					t.Fatalf("%d bytes at a time, early %v: %v", size, early, f)
				}
			}
			conn.Close()
		}
	}
}

// pieces writes a few bytes at a time.
type pieces struct {
	to   io.Writer
	size int
}

func (p *pieces) Write(b []byte) (int, error) {
	for at := 0; at < len(b); at += p.size {
		if _, err := p.to.Write(b[at:min(at+p.size, len(b))]); err != nil {
			return at, err
		}
	}
	return len(b), nil
}

func FuzzPort(f *testing.F) {
	for _, start := range []string{"", "GET / HTTP/1.1\r\n\r\n", http2.ClientPreface,
		http2.ClientPreface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00", "\x16\x03\x01\x00\x05hello",
		http2.ClientPreface + "\x00\x00\x0d\x01\x05\x00\x00\x00\x01\x82\x86\x84\x41\x09localhost"} {
		f.Add([]byte(start))
	}
	f.Fuzz(func(t *testing.T, start []byte) {
		s := serve(t, false, 5*time.Millisecond)
		conn, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(start)
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	})
}
