package credentials_test

import (
	"context"
	"crypto/tls"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cleave-project/cleave/internal/coordinator/httpapi"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/certs"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/security/identity"
)

func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:7400": true, "localhost:7400": true, "[::1]:7400": true, ":7400": true, "127.9.9.9": true,
		"dns:///localhost:1": true,
		"unix:/run/x":        true, "0.0.0.0:7400": true, "passthrough:///embedded": true,
		"passthrough:///10.0.0.1:7400": false, "example.com": false,
		"10.0.0.1:7400": false, "example.com:7400": false, "localhost.evil.com:7400": false,
		"dns:///example.com:1": false, "[fe80::1]:1": false,
	} {
		if credentials.IsLoopback(address) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
}

// folder has an authority, and a certificate of each kind.
func folder(t *testing.T, now time.Time) certs.Folder {
	t.Helper()
	f := certs.Folder{Dir: t.TempDir(), Now: func() time.Time { return now }}
	if err := f.Init(); err != nil {
		t.Fatal(err)
	}
	for name, party := range map[string]certs.Party{
		"coordinator": {Hosts: []string{"localhost"}},
		"admin":       {Caller: &identity.Caller{Name: "ada", Role: identity.Admin}},
	} {
		party.Life = 24 * time.Hour
		if _, err := f.Issue(name, party); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestWhatMayGoWithoutEncryption(t *testing.T) {
	f := folder(t, time.Now())
	at := func(name string) credentials.Files { return credentials.Files{Dir: filepath.Join(f.Dir, name)} }
	const here, there = "127.0.0.1:7400", "10.1.2.3:7400"
	for _, c := range []struct {
		what      string
		dial      credentials.Dial
		addresses []string
		why       string
	}{
		{"this machine", credentials.Dial{}, []string{here}, ""},
		{"this machine, with a token", credentials.Dial{Token: "t"}, []string{here}, ""},
		{"another", credentials.Dial{}, []string{there}, "NO_ENCRYPTION"},
		{"one of several is another", credentials.Dial{}, []string{here, there}, "NO_ENCRYPTION"},
		{"another, as the user says", credentials.Dial{Insecure: true}, []string{there}, ""},
		{"a token in the clear", credentials.Dial{Insecure: true, Token: "t"}, []string{there},
			"TOKEN_WITHOUT_ENCRYPTION"},
		{"encrypted", credentials.Dial{Files: at("admin"), Token: "t"}, []string{there}, ""},
		{"with the system's authorities", credentials.Dial{Files: credentials.Files{CA: credentials.SystemCA}},
			[]string{there}, ""},
		{"an etcd on another", credentials.Dial{}.ToEtcd(), []string{there}, "NO_ENCRYPTION"},
		{"both", credentials.Dial{Files: at("admin"), Insecure: true}, []string{there}, "INSECURE_WITH_CERTIFICATES"},
		{"no such folder", credentials.Dial{Files: at("none")}, []string{here}, "BAD_CERTIFICATES"},
		{"half a pair", credentials.Dial{Files: credentials.Files{Cert: "x"}}, []string{here}, "BAD_CERTIFICATES"},
	} {
		if _, err := c.dial.Options(nil, c.addresses...); c.why == "" && err != nil ||
			c.why != "" && !fault.Is(err, c.why) {
			t.Errorf("%s: %v, want %q", c.what, err, c.why)
		}
	}
	coordinator := at("coordinator")
	onlyServer := credentials.Files{Cert: filepath.Join(coordinator.Dir, "cert.pem"),
		Key: filepath.Join(coordinator.Dir, "key.pem")}
	for _, c := range []struct {
		what    string
		serve   credentials.Serve
		address string
		others  bool // tokens
		says    string
	}{
		{"this machine", credentials.Serve{}, here, false, ""},
		{"this machine, by name", credentials.Serve{}, "localhost:7400", false, ""},
		{"all", credentials.Serve{}, "0.0.0.0:7400", false, "--insecure"},
		{"all, without a host", credentials.Serve{}, ":7400", false, "--insecure"},
		{"another", credentials.Serve{}, there, false, "--insecure"},
		{"as the user says", credentials.Serve{Insecure: true}, ":7400", false, ""},
		{"with certificates", credentials.Serve{Files: coordinator}, ":7400", false, ""},
		{"with certificates and tokens", credentials.Serve{Files: coordinator}, ":7400", true, ""},
		{"nobody is asked", credentials.Serve{Files: onlyServer}, ":7400", false, "--anonymous"},
		{"nobody is asked, as the user says", credentials.Serve{Files: onlyServer, Anonymous: true},
			":7400", false, ""},
		{"nobody is asked, on this machine", credentials.Serve{Files: onlyServer}, here, false, ""},
		{"tokens in the clear", credentials.Serve{Insecure: true}, ":7400", true, "no worker could attach"},
		{"tokens without an authority", credentials.Serve{Files: onlyServer}, ":7400", true, "no worker could attach"},
		{"an authority without a certificate", credentials.Serve{Files: credentials.Files{CA: "x"}}, here, false,
			"--tls-cert"},
		{"the system's authorities",
			credentials.Serve{Files: credentials.Files{CA: credentials.SystemCA, Cert: "x", Key: "x"}}, here,
			false, "your own"},
		{"everyone and someone", credentials.Serve{Files: coordinator, Anonymous: true}, ":7400", false,
			"--anonymous lets everyone in"},
		{"both", credentials.Serve{Files: onlyServer, Insecure: true}, ":7400", false, "contradict"},
	} {
		_, err := c.serve.Check(c.address, nil, c.others)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", c.what, err, c.says)
		}
	}
}

// What is wrong with a connection is said in words of what to do, on both sides' mistakes.
func TestHandshakes(t *testing.T) {
	ours := folder(t, time.Now())
	theirs := folder(t, time.Now())
	expired := folder(t, time.Now().AddDate(0, 0, -2))
	in := func(f certs.Folder, name string) string { return filepath.Join(f.Dir, name) }
	authority := func(f certs.Folder) string { return filepath.Join(f.Dir, "ca", "ca.pem") }
	pair := func(f certs.Folder, name, ca string) credentials.Files {
		return credentials.Files{CA: ca, Cert: filepath.Join(in(f, name), "cert.pem"),
			Key: filepath.Join(in(f, name), "key.pem")}
	}
	for _, c := range []struct {
		what   string
		server credentials.Files
		client credentials.Dial
		says   string
	}{
		{"good", credentials.Files{Dir: in(ours, "coordinator")},
			credentials.Dial{Files: credentials.Files{Dir: in(ours, "admin")}}, ""},
		{"no certificate of the client", credentials.Files{Dir: in(ours, "coordinator")},
			credentials.Dial{Files: credentials.Files{CA: authority(ours)}}, ""},
		{"a coordinator of others", credentials.Files{Dir: in(theirs, "coordinator")},
			credentials.Dial{Files: credentials.Files{Dir: in(ours, "admin")}},
			"is not signed by an authority that we trust"},
		{"a client of others", credentials.Files{Dir: in(ours, "coordinator")},
			credentials.Dial{Files: pair(theirs, "admin", authority(ours))}, "the coordinator refuses our certificate"},
		{"another name", credentials.Files{Dir: in(ours, "coordinator")},
			credentials.Dial{Files: credentials.Files{Dir: in(ours, "admin")}, ServerName: "elsewhere"},
			"is for localhost and not for elsewhere"},
		{"an expired coordinator", credentials.Files{Dir: in(expired, "coordinator")},
			credentials.Dial{Files: credentials.Files{CA: authority(expired)}},
			"the coordinator's certificate has expired"},
		{"an expired client", pair(ours, "coordinator", authority(expired)),
			credentials.Dial{Files: pair(expired, "admin", authority(ours))}, "it expired at"},
		{"a coordinator as a client", credentials.Files{Dir: in(ours, "coordinator")},
			credentials.Dial{Files: pair(ours, "coordinator", authority(ours))},
			"it is a server certificate (localhost)"},
	} {
		t.Run(c.what, func(t *testing.T) {
			if c.client.ServerName == "" {
				c.client.ServerName = "localhost"
			}
			serving := credentials.Serve{Files: c.server}
			if c.server.Dir == in(expired, "coordinator") { // it started before
				serving.Now = func() time.Time { return time.Now().AddDate(0, 0, -2) }
			}
			listener := serve(t, serving)
			err := call(t, listener, c.client)
			if c.says == "" && err != nil ||
				c.says != "" &&
					(err == nil || !strings.Contains(credentials.FlagTerms().Explain(err.Error()), c.says)) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// A coordinator does not start with a certificate that every client would refuse.
func TestAClientsCertificateDoesNotServe(t *testing.T) {
	dir := filepath.Join(folder(t, time.Now()).Dir, "admin")
	s, err := credentials.Serve{Files: credentials.Files{Dir: dir}}.Check("127.0.0.1:0", nil, false)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.TLS(nil)
	if !fault.Is(err, "BAD_CERTIFICATES") || !strings.Contains(err.Error(), dir) ||
		!strings.Contains(err.Error(), "cleave://admin/ada") {
		t.Errorf("%v", err)
	}
}

// Nor does it start with one that has expired, or that is not valid yet.
func TestACertificateOfAnotherTimeDoesNotServe(t *testing.T) {
	for word, made := range map[string]time.Time{"expired": time.Now().AddDate(-20, 0, 0),
		"valid from": time.Now().AddDate(1, 0, 0)} {
		dir := filepath.Join(folder(t, made).Dir, "coordinator")
		s, err := credentials.Serve{Files: credentials.Files{Dir: dir}}.Check("127.0.0.1:0", nil, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.TLS(nil); !fault.Is(err, "BAD_CERTIFICATES") || !strings.Contains(err.Error(), word) {
			t.Errorf("%v", err)
		}
	}
}

// serve starts a server with these credentials.
func serve(t *testing.T, s credentials.Serve) *dial.PipeListener {
	t.Helper()
	listener := dial.ListenPipe(dial.PipeAddr{})
	s, err := s.Check("", listener, false)
	if err != nil {
		t.Fatal(err)
	}
	config, err := s.TLS(hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	accepting := httpapi.NewPort(listener, httpapi.PortConfig{TLS: config, Timeout: time.Minute,
		Logger: hclog.NewNullLogger()})
	server := grpc.NewServer(grpc.Creds(accepting.Credentials()))
	healthv1.RegisterHealthServer(server, health.NewServer())
	go accepting.Serve()              //nolint:errcheck // it ends with Close
	go server.Serve(accepting.GRPC()) //nolint:errcheck // it ends with Stop
	t.Cleanup(func() {
		accepting.Close()
		server.Stop()
	})
	return listener
}

// call makes a connection and a call.
func call(t *testing.T, listener *dial.PipeListener, dial credentials.Dial) error {
	t.Helper()
	options, err := dial.Options(nil, "10.0.0.1:1")
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient("passthrough:///10.0.0.1:1", append(options,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.Dial(ctx) }))...)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
	return err
}

// A coordinator is asked by a program that does not look at its own certificate: it looks itself.
func TestACoordinatorsCertificateDoesNotCall(t *testing.T) {
	dir := filepath.Join(folder(t, time.Now()).Dir, "coordinator")
	listener := serve(t, credentials.Serve{Files: credentials.Files{Dir: dir}})
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := listener.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{pair},
		NextProtos: []string{"h2"}}) //nolint:gosec // the server is what is tested
	defer client.Close()
	_, err = client.Read(make([]byte, 1)) // in TLS 1.3 a client learns by reading that it is refused
	if err == nil || !strings.Contains(err.Error(), "bad certificate") {
		t.Errorf("%v", err)
	}
}

// A program warns, once, of a certificate that is in the last tenth of its time, and again when it has expired.
func TestTheLogSaysThatACertificateExpires(t *testing.T) {
	now := time.Now()
	dir := filepath.Join(folder(t, now).Dir, "coordinator")
	var log strings.Builder
	clock := now
	s, err := credentials.Serve{Files: credentials.Files{Dir: dir}, Now: func() time.Time { return clock }}.Check(
		"127.0.0.1:0", nil, false)
	if err != nil {
		t.Fatal(err)
	}
	config, err := s.TLS(hclog.New(&hclog.LoggerOptions{Output: &log}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		says  string
		times int
	}{{21 * time.Hour, "expires at", 0}, {22 * time.Hour, "expires at", 1}, {23 * time.Hour, "expires at", 1},
		{25 * time.Hour, "expired at", 1}, {26 * time.Hour, "expired at", 1}} {
		clock = now.Add(c.after)
		config()
		if got := strings.Count(log.String(), c.says); got != c.times {
			t.Errorf("after %v the log says %q %d times, want %d: %s", c.after, c.says, got, c.times, log.String())
		}
	}
	if !strings.Contains(log.String(), "make a new one with cleave certs") {
		t.Error(log.String())
	}
}
