package coordinator

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/access"
	"github.com/cleave-project/cleave/internal/security/audit"
	ourcredentials "github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/wire"
)

// Security says who may connect and call.
type Security struct {
	Serve  ourcredentials.Serve
	Access access.Config
	// Store is how an etcd cluster is called. If it is empty, Serve.Insecure is for that too.
	Store ourcredentials.Dial
	// AuditLog is a file; empty: there is no audit log.
	AuditLog string
}

func (s Security) check(address string, listener net.Listener) (_ Security, err error) {
	s.Serve, err = s.Serve.Check(address, listener, s.Access.Any())
	return s, err
}

// guard stands between the network and the services.
type guard struct {
	callers   *access.Callers                  // nil: everyone may do everything
	transport credentials.TransportCredentials // nil: there is no encryption
	log       *audit.Log                       // nil: there is none
}

func (c *Coordinator) openGuard() (err error) {
	s, log := c.cfg.Security, c.log.Named("security")
	if c.guard.transport, err = s.Serve.Credentials(log); err != nil {
		return err
	}
	if s.Serve.CA != "" { // where callers are known at all, certificates are among the ways: workers have no other
		if c.guard.callers, err = access.New(s.Access, log, c.cfg.Now); err != nil {
			return err
		}
	}
	if s.AuditLog != "" {
		c.guard.log, err = audit.Open(s.AuditLog, c.cfg.Now)
	}
	return err
}

func (g *guard) close() error {
	if g.callers != nil {
		g.callers.Close()
	}
	if g.log != nil {
		return g.log.Close()
	}
	return nil
}

// What strangers may take before it is known who they are.
const (
	maxHeaderBytes   = 64 << 10 // of a call: tokens are a few KiB at most
	handshakeTimeout = 20 * time.Second
)

// securityOptions are those of the server.
func (c *Coordinator) securityOptions() []grpc.ServerOption {
	options := []grpc.ServerOption{grpc.MaxHeaderListSize(maxHeaderBytes), grpc.ConnectionTimeout(handshakeTimeout)}
	if c.guard.transport != nil {
		options = append(options, grpc.Creds(c.guard.transport))
	}
	return options
}

// enter finds out who calls and then takes a place for the call, before anything of its messages is read. In this order, because
// gRPC does not end the context of a call that is refused here: strangers would keep their places.
func (c *Coordinator) enter(ctx context.Context, call *tap.Info) (_ context.Context, err error) {
	if c.guard.callers != nil {
		ctx, err = c.letIn(ctx, call)
	}
	if err == nil {
		ctx, err = c.gate.enter(ctx, call)
	}
	if err != nil { // no interceptor sees it
		c.cfg.Observe.Refused(knownMethod(call.FullMethodName), status.Code(err))
		return nil, err
	}
	return c.awaitRequest(ctx, call), nil
}

// knownMethod is a method, or a word for all that do not exist: their names may be as long as a header, and anything.
func knownMethod(method string) string {
	if _, exists := methods[method]; !exists {
		return "(unknown)"
	}
	return method
}

// letIn finds out who calls and whether they may. What it refuses costs nothing but the header of the call.
func (c *Coordinator) letIn(ctx context.Context, call *tap.Info) (context.Context, error) {
	rule, exists := methods[call.FullMethodName]
	if exists && rule.needs == anyone {
		return identity.NewContext(ctx, identity.Caller{}), nil
	}
	var authorization string
	if sent := call.Header.Get("authorization"); len(sent) > 0 {
		authorization = sent[0]
	}
	caller, err := c.guard.callers.Identify(certificateOf(ctx), authorization)
	switch {
	case err != nil:
	case !exists:
		err = status.Errorf(codes.Unimplemented, "this coordinator has no method %.200s; it may be of an older version", call.FullMethodName)
	case !caller.Role.May(rule.needs):
		err = fault.New(fault.PermissionDenied, "ROLE_MISSING", "%s has the role %v, and this needs the role %v", caller.Name, caller.Role, rule.needs).
			With("role", caller.Role.String()).With("needed", rule.needs.String())
	}
	if err != nil {
		answer := wire.Status(err)
		c.auditRefusal(ctx, caller, call.FullMethodName, answer)
		if f, is := errors.AsType[*fault.Error](err); is && f.Cause != nil {
			c.log.Debug("a caller is not known", "reason", f.Reason, "cause", f.Cause)
		}
		return ctx, answer
	}
	return identity.NewContext(ctx, caller), nil
}

// certificateOf is the certificate that the caller has shown and the connection has checked; nil: none.
func certificateOf(ctx context.Context) *x509.Certificate {
	p, _ := peer.FromContext(ctx)
	if p == nil {
		return nil
	}
	info, is := p.AuthInfo.(credentials.TLSInfo)
	if !is || len(info.State.VerifiedChains) == 0 {
		return nil
	}
	return info.State.VerifiedChains[0][0]
}

func (c *Coordinator) auditRefusal(ctx context.Context, caller identity.Caller, method string, answer error) {
	if c.guard.log == nil {
		return
	}
	line := auditLine(identity.NewContext(ctx, caller), audit.End, knownMethod(method))
	line.Code, line.Reason = status.Code(answer).String(), wire.Reason(answer)
	write := c.guard.log.Write
	if caller.Name == "" {
		write = c.guard.log.WriteStranger
	}
	if err := write(line); err != nil {
		c.log.Error("the audit log cannot be written", "error", err)
	}
}
