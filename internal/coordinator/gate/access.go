package gate

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc/codes"
	grpccredentials "google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/access"
	"github.com/cleave-project/cleave/internal/security/audit"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/wire"
)

// Security configures who may connect and call.
type Security struct {
	Serve  credentials.Serve
	Access access.Config
	// Store configures connections to an etcd cluster. If it is empty, Serve.Insecure applies to them too.
	Store credentials.Dial
	// AuditLog is the file of the audit log. Empty means no audit log.
	AuditLog string
}

// Check checks the configuration for a server on the given address and fills in defaults.
func (s Security) Check(address string, listener net.Listener) (_ Security, err error) {
	s.Serve, err = s.Serve.Check(address, listener, s.Access.Any())
	return s, err
}

// Limits on what an unauthenticated client may use.
const (
	maxHeaderBytes = 64 << 10 // of a call: tokens are a few KiB at most
	// HandshakeTimeout is how long a client may take until its connection is ready.
	HandshakeTimeout = 20 * time.Second
)

// enter identifies the caller and then takes a slot for the call, before any of its messages are read. The order
// matters: gRPC does not end the context of a call that is refused here, so an unknown caller would keep its slot.
func (g *Gate) enter(ctx context.Context, call *tap.Info) (_ context.Context, err error) {
	if g.callers != nil {
		ctx, err = g.authorize(ctx, call)
	}
	if err == nil {
		ctx, err = g.takeSlot(ctx, call)
	}
	if err != nil { // no interceptor sees it
		g.cfg.Observe.Refused(knownMethod(call.FullMethodName), status.Code(err))
		return nil, err
	}
	return g.awaitRequest(ctx, call), nil
}

// knownMethod returns the name of a method, or "(unknown)" for one that does not exist. An unknown name can be
// anything, and as long as a header.
func knownMethod(method string) string {
	if _, exists := methods[method]; !exists {
		return "(unknown)"
	}
	return method
}

// Authorize checks that the caller of an HTTP request may call a method. ctx has the peer, and header the credentials.
// It lets the HTTP server refuse a request before it reads the body; the call that the request becomes is checked
// again.
func (g *Gate) Authorize(ctx context.Context, method string, header metadata.MD) error {
	if g.callers == nil {
		return nil
	}
	_, err := g.authorize(ctx, &tap.Info{FullMethodName: method, Header: header})
	if err != nil {
		g.cfg.Observe.Refused(knownMethod(method), status.Code(err))
	}
	return err
}

// authorize identifies the caller and checks that its role allows the method. It only needs the header of the call.
func (g *Gate) authorize(ctx context.Context, call *tap.Info) (context.Context, error) {
	rule, exists := methods[call.FullMethodName]
	if exists && rule.needs == anyone {
		return identity.NewContext(ctx, identity.Caller{}), nil
	}
	var authorization string
	if sent := call.Header.Get("authorization"); len(sent) > 0 {
		authorization = sent[0]
	}
	caller, err := g.callers.Identify(certificateOf(ctx), authorization)
	switch {
	case err != nil:
	case !exists:
		err = status.Errorf(codes.Unimplemented, "this coordinator has no method %.200s; it may be of an older version",
			call.FullMethodName)
	case !caller.Role.May(rule.needs):
		err = fault.New(fault.PermissionDenied, "ROLE_MISSING", "%s has the role %v, but this call needs the role %v",
			caller.Name, caller.Role, rule.needs).
			With("role", caller.Role.String()).With("needed", rule.needs.String())
	}
	if err != nil {
		answer := wire.Status(err)
		g.auditDenied(ctx, caller, call.FullMethodName, answer)
		if f, is := errors.AsType[*fault.Error](err); is && f.Cause != nil {
			g.cfg.Logger.Debug("a caller is not known", "reason", f.Reason, "cause", f.Cause)
		}
		return ctx, answer
	}
	return identity.NewContext(ctx, caller), nil
}

// certificateOf returns the verified client certificate of the connection, or nil if there is none.
func certificateOf(ctx context.Context) *x509.Certificate {
	p, _ := peer.FromContext(ctx)
	if p == nil {
		return nil
	}
	info, is := p.AuthInfo.(grpccredentials.TLSInfo)
	if !is || len(info.State.VerifiedChains) == 0 {
		return nil
	}
	return info.State.VerifiedChains[0][0]
}

func (g *Gate) auditDenied(ctx context.Context, caller identity.Caller, method string, answer error) {
	if g.audit == nil {
		return
	}
	line := auditLine(identity.NewContext(ctx, caller), audit.End, knownMethod(method))
	line.Code = status.Code(answer).String()
	line.Reason = wire.Reason(answer)
	write := g.audit.Write
	if caller.Name == "" {
		write = g.audit.WriteStranger
	}
	if err := write(line); err != nil {
		g.cfg.Logger.Error("the audit log cannot be written", "error", err)
	}
}
