package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/fault"
)

// Serve configures how a coordinator accepts connections. Its CA signs the certificates of workers and clients.
type Serve struct {
	Files
	Insecure  bool // other machines may connect without encryption
	Anonymous bool // everyone may do everything

	Now func() time.Time // clock for checking certificates; nil means time.Now
}

// Check resolves the files and rejects configurations that would silently let strangers in: serving other machines
// without encryption, or without a way to know who calls. others reports whether callers are identified by means
// other than certificates.
func (s Serve) Check(address string, listener net.Listener, others bool) (Serve, error) {
	files, err := s.Resolved()
	if err != nil {
		return s, err
	}
	s.Files = files
	local, err := staysLocal(address, listener)
	if err != nil {
		return s, err
	}
	if listener != nil {
		address = listener.Addr().String()
	}
	encrypted, known := s.Cert != "", s.CA != "" || others
	switch {
	case s.Insecure && encrypted:
		return s, refuse("--insecure and certificates contradict each other; give one of them")
	case s.Anonymous && known:
		return s, refuse("--anonymous lets everyone in, so --tls-ca, --token-file and --oidc-issuer have no effect; " +
			"remove them, or --anonymous")
	case s.CA == SystemCA:
		return s, refuse("--tls-ca %s would let in everyone who has a certificate of any authority; give the file of "+
			"your own", SystemCA)
	case s.CA != "" && !encrypted:
		return s, refuse("--tls-ca checks certificates of workers and clients, which need an encrypted connection; " +
			"give --tls-cert and --tls-key too")
	case others && s.CA == "":
		return s,
			refuse("no worker could attach: workers identify themselves by certificate, and there is no --tls-ca " +
				"to verify it; " +
				"give --tls DIR, as cleave certs init makes it")
	case local || s.Insecure:
	case !encrypted:
		return s,
			refuse("other machines can reach %s, and there are no certificates to encrypt connections with; "+
				"give --tls DIR "+
				"(cleave certs init makes it), listen on 127.0.0.1, or give --insecure to serve everyone without "+
				"encryption", address)
	case !known && !s.Anonymous:
		return s,
			refuse("other machines can reach %s, and nothing says who may call; give --tls-ca to ask for certificates "+
				"(cleave certs init makes them), or --anonymous to let everyone do everything", address)
	}
	return s, nil
}

// NotSecure is the reason of the errors about configurations that Check rejects.
const NotSecure = "NOT_SECURE"

func refuse(format string, args ...any) error { return fault.Invalid(NotSecure, format, args...) }

// staysLocal reports whether only this machine can reach a listener.
func staysLocal(address string, listener net.Listener) (bool, error) {
	if listener != nil {
		tcp, is := listener.Addr().(*net.TCPAddr)
		return !is || tcp.IP.IsLoopback(), nil
	}
	tcp, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return false, fault.Invalid("CANNOT_LISTEN", "cannot listen on %s: %v", address, err)
	}
	return tcp.IP.IsLoopback(), nil
}

// TLS returns a function that builds the configuration of the next connection from the current content of the files,
// or nil if there are no certificates. A client certificate is verified if one is presented; clients without one may
// have a token.
func (s Serve) TLS(log hclog.Logger) (func() *tls.Config, error) {
	if s.Cert == "" {
		return nil, nil
	}
	m, err := s.open(log, s.Now, FlagTerms(), x509.ExtKeyUsageServerAuth)
	if err != nil {
		return nil, err
	}
	return func() *tls.Config {
		config := &tls.Config{
			MinVersion: tls.VersionTLS13, NextProtos: []string{"h2", "http/1.1"},
			Certificates: []tls.Certificate{*m.certificate()},
			// A resumed session would keep a certificate whose authority is no longer trusted.
			SessionTicketsDisabled: true,
		}
		if s.CA != "" {
			config.ClientCAs = m.roots()
			config.ClientAuth = tls.VerifyClientCertIfGiven
		}
		return config
	}, nil
}
