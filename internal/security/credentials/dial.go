package credentials

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/cleave-project/cleave/internal/fault"
)

// Dial configures how a client or a worker connects to a coordinator, or a coordinator to etcd.
type Dial struct {
	Files
	ServerName string // name that the server's certificate must have; empty means the host of the address
	Insecure   bool   // allow unencrypted connections to other machines
	Token      string // sent with every call, if not empty
	Terms      Terms  // of error messages
}

// Options returns the credentials for connections to any of these addresses.
func (d Dial) Options(log hclog.Logger, addresses ...string) ([]grpc.DialOption, error) {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	t := d.terms()
	if !d.any() {
		return d.plain(addresses)
	}
	if d.Insecure {
		return nil, fault.Invalid("INSECURE_WITH_CERTIFICATES",
			"%s and certificates contradict each other; give one of them", t.Insecure)
	}
	files, err := d.resolved(t)
	if err != nil {
		return nil, err
	}
	m, err := files.open(log, nil, t, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(&transport{explain: t.explainHandshake,
		config: func() *tls.Config {
			config := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: m.roots(), ServerName: d.ServerName}
			m.present(config)
			return config
		}})}
	return append(options, d.withToken(true)...), nil
}

// plain returns options for unencrypted connections: to this machine, or because the user allows it.
func (d Dial) plain(addresses []string) ([]grpc.DialOption, error) {
	t := d.terms()
	for _, address := range addresses {
		switch {
		case IsLoopback(address):
		case !d.Insecure:
			return nil, fault.Invalid("NO_ENCRYPTION",
				"%s is another machine, and there are no certificates to encrypt the connection with; "+
					"give %s or %s (%s makes them), or %s to connect without encryption", address, t.Dir, t.CAFile,
				t.Certs, t.Insecure)
		case d.Token != "":
			return nil, fault.Invalid("TOKEN_WITHOUT_ENCRYPTION",
				"a token would be sent to %s without encryption, for anyone on the network path to use; "+
					"give %s or %s", address, t.Dir, t.CAFile)
		}
	}
	return append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())},
		d.withToken(false)...), nil
}

func (d Dial) withToken(encrypted bool) []grpc.DialOption {
	if d.Token == "" {
		return nil
	}
	return []grpc.DialOption{grpc.WithPerRPCCredentials(bearer{d.Token, encrypted})}
}

// bearer sends a token with every call.
type bearer struct {
	token     string
	encrypted bool // false only if the connection stays on this machine
}

var _ credentials.PerRPCCredentials = bearer{}

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.token}, nil
}

func (b bearer) RequireTransportSecurity() bool { return b.encrypted }

// String keeps the token out of anything that prints the credentials.
func (bearer) String() string { return "a token" }

// IsLoopback reports whether connections to an address stay on this machine.
func IsLoopback(address string) bool {
	if strings.HasPrefix(address, "unix:") || strings.HasPrefix(address, "unix-abstract:") {
		return true
	}
	address = strings.TrimPrefix(address, "dns:///")
	address, asItIs := strings.CutPrefix(address, "passthrough:///")
	host, _, err := net.SplitHostPort(address)
	if err != nil && asItIs {
		return true // it cannot be dialed without a port, so it names a pipe within this process
	}
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip := net.ParseIP(host)
	return host == "" || host == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}
