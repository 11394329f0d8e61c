package credentials

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc/credentials"
)

// transport is TLS of a client with a configuration that is built for every connection from the current content of the files.
type transport struct {
	config  func() *tls.Config
	explain func(error) error // explains handshake errors
}

func (t *transport) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	config := t.config()
	if config.ServerName != "" { // gRPC uses the name of the address if etcd's client has set one
		authority = config.ServerName
	}
	secured, info, err := credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
	return secured, info, t.explain(err)
}

// ServerHandshake always fails: package port does the handshakes of the coordinator.
func (t *transport) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("credentials: these are credentials of a client")
}

func (t *transport) Info() credentials.ProtocolInfo { return credentials.NewTLS(t.config()).Info() }

func (t *transport) Clone() credentials.TransportCredentials {
	return &transport{t.config, t.explain}
}

// OverrideServerName does nothing: the name comes from the configuration. gRPC no longer calls it.
func (t *transport) OverrideServerName(string) error { return nil }

// explainHandshake returns what a client can do if it does not trust the coordinator.
func explainHandshake(err error) error {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &authority):
		return errors.New("the coordinator's certificate is not signed by an authority that we trust; is --tls-ca the ca.pem of this coordinator?")
	case errors.As(err, &name):
		return fmt.Errorf("the coordinator's certificate is for %s and not for %s; call it by a name of its certificate, or give --tls-server-name",
			strings.Join(names(name.Certificate), ", "), name.Host)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return errors.New("the coordinator's certificate has expired or is not valid yet; make a new one, and check both clocks")
	case errors.As(err, &record):
		return errors.New("the coordinator does not speak TLS; it was started without certificates")
	}
	return err
}

func names(c *x509.Certificate) []string {
	all := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	return all
}

// refusals maps what a coordinator that rejects our certificate says, in the words of TLS, to what to do.
var refusals = [][2]string{
	{"tls: expired certificate", "the coordinator refuses our certificate, which has expired; make a new one with cleave certs"},
	{"tls: unknown certificate authority", "the coordinator refuses our certificate: it is not signed by an authority that the coordinator trusts"},
	{"tls: certificate required", "the coordinator asks for a certificate; give --tls-cert and --tls-key"},
	{"tls: bad certificate", "the coordinator refuses our certificate: it has expired, is not a client certificate, or is not signed by an authority that the coordinator trusts"},
	{"error reading server preface: EOF", "the coordinator closed the connection at once; it probably wants TLS: give --tls DIR, or --tls-ca FILE"},
	{"first record does not look like a TLS handshake", "the coordinator does not speak TLS; it was started without certificates"},
}

// Explain returns what to do about the error message of a failed connection, or the message itself if it is not
// known.
func Explain(message string) string {
	for _, r := range refusals {
		if strings.Contains(message, r[0]) {
			return r[1]
		}
	}
	return message
}
