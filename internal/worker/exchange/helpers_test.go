package exchange

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/security/credentials"
)

// noConnection is a connection on which every call fails.
type noConnection struct{}

func (noConnection) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return status.Error(codes.NotFound, "nobody is there")
}

func (noConnection) NewStream(context.Context, *grpc.StreamDesc, string,
	...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.NotFound, "nobody is there")
}

// leafOf returns the certificate in a folder.
func leafOf(t testing.TB, dial credentials.Dial) *x509.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dial.Dir, "cert.pem"), filepath.Join(dial.Dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

// plain is how workers without certificates reach each other.
func plain(string) ([]grpc.DialOption, error) {
	return []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, nil
}
