package credentials

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"google.golang.org/grpc/credentials"
)

// transport is TLS of a client with a configuration that is built for every connection from the current content of
// the files.
type transport struct {
	config  func() *tls.Config
	explain func(error) error // explains handshake errors
}

func (t *transport) ClientHandshake(ctx context.Context, authority string,
	conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	config := t.config()
	if config.ServerName != "" { // gRPC uses the name of the address if etcd's client has set one
		authority = config.ServerName
	}
	secured, info, err := credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
	return secured, info, t.explain(err)
}

// ServerHandshake always fails: the port does the handshakes of the coordinator.
func (t *transport) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("credentials: these are credentials of a client")
}

func (t *transport) Info() credentials.ProtocolInfo { return credentials.NewTLS(t.config()).Info() }

func (t *transport) Clone() credentials.TransportCredentials {
	return &transport{t.config, t.explain}
}

// OverrideServerName does nothing: the name comes from the configuration. gRPC no longer calls it.
func (t *transport) OverrideServerName(string) error { return nil }
