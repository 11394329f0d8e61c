package client

import (
	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/dial/clientopts"
)

type settings = clientopts.Settings

// Option changes a setting of Dial.
type Option func(*settings)

// WithTLS encrypts connections with the files in a folder that cleave certs made: ca.pem, and, if they are there,
// cert.pem and key.pem.
func WithTLS(folder string) Option { return func(s *settings) { s.Dial.Dir = folder } }

// WithCA encrypts connections, and trusts the authority whose certificate is in a file.
func WithCA(file string) Option { return func(s *settings) { s.Dial.CA = file } }

// WithCertificate presents the client certificate and its key in these files.
func WithCertificate(certificate, key string) Option {
	return func(s *settings) { s.Dial.Cert, s.Dial.Key = certificate, key }
}

// WithServerName sets the name that the certificate of the coordinator must have, if it differs from the host in the
// address.
func WithServerName(name string) Option { return func(s *settings) { s.Dial.ServerName = name } }

// WithToken sends a token with every call.
func WithToken(token string) Option { return func(s *settings) { s.Dial.Token = token } }

// WithoutEncryption allows unencrypted connections to other machines: anyone on the network path can read
// and change everything.
func WithoutEncryption() Option { return func(s *settings) { s.Dial.Insecure = true } }

// WithWarnings sets a function that is called with messages for the user about retries and reconnecting.
func WithWarnings(warn func(format string, args ...any)) Option {
	return func(s *settings) { s.Warn = warn }
}

// WithGRPC adds options of gRPC to every connection.
func WithGRPC(options ...grpc.DialOption) Option {
	return func(s *settings) { s.GRPC = append(s.GRPC, options...) }
}
