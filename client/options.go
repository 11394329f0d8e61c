package client

import (
	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/security/credentials"
)

type settings struct {
	dial credentials.Dial
	grpc []grpc.DialOption
	warn func(format string, args ...any)
}

// Option changes a setting of Dial.
type Option func(*settings)

// WithTLS encrypts connections with the files in a folder that cleave certs made: ca.pem, and, if they are there,
// cert.pem and key.pem.
func WithTLS(folder string) Option { return func(s *settings) { s.dial.Dir = folder } }

// WithCA encrypts connections, and trusts the authority whose certificate is in a file.
func WithCA(file string) Option { return func(s *settings) { s.dial.CA = file } }

// WithCertificate presents the client certificate and its key in these files.
func WithCertificate(certificate, key string) Option {
	return func(s *settings) { s.dial.Cert, s.dial.Key = certificate, key }
}

// WithServerName sets the name that the certificate of the coordinator must have, if it differs from the host in the
// address.
func WithServerName(name string) Option { return func(s *settings) { s.dial.ServerName = name } }

// WithToken sends a token with every call.
func WithToken(token string) Option { return func(s *settings) { s.dial.Token = token } }

// WithoutEncryption allows unencrypted connections to other machines: anyone on the network path can read
// and change everything.
func WithoutEncryption() Option { return func(s *settings) { s.dial.Insecure = true } }

// WithWarnings sets a function that is called with messages for the user about retries and reconnecting.
func WithWarnings(warn func(format string, args ...any)) Option {
	return func(s *settings) { s.warn = warn }
}

// WithGRPC adds options of gRPC to every connection. The command line passes credentials.NamesFlags, which gRPC
// ignores: it makes error messages name flags instead of the options of this package.
func WithGRPC(options ...grpc.DialOption) Option {
	return func(s *settings) { s.grpc = append(s.grpc, options...) }
}
