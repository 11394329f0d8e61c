package gate

import (
	"context"
	"regexp"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/security/audit"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/security/redact"
	"github.com/cleave-project/cleave/internal/wire"
)

// AuditUnary is an interceptor that records calls in the audit log. It rejects a call that changes something if the log
// cannot be written.
func (g *Gate) AuditUnary(ctx context.Context, request any, info *grpc.UnaryServerInfo,
	handler grpc.UnaryHandler) (any, error) {
	if g.audit == nil || methods[info.FullMethod].does == routine {
		return handler(ctx, request)
	}
	ids := auditedIDs{}
	ids.collect(request)
	if err := g.auditBegin(ctx, info.FullMethod, &ids); err != nil {
		return nil, err
	}
	response, err := handler(ctx, request)
	if err == nil {
		ids.collect(response)
	}
	g.auditEnd(ctx, info.FullMethod, &ids, err)
	return response, err
}

// AuditStream is AuditUnary for streams. It looks for ids in the first message of each direction.
func (g *Gate) AuditStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	handler grpc.StreamHandler) error {
	if g.audit == nil || methods[info.FullMethod].does == routine {
		return handler(server, stream)
	}
	audited := &auditedStream{ServerStream: stream}
	if err := g.auditBegin(stream.Context(), info.FullMethod, &audited.ids); err != nil {
		return err
	}
	err := handler(server, audited)
	g.auditEnd(stream.Context(), info.FullMethod, &audited.ids, err)
	return err
}

// auditBegin writes the line before a call that changes something. If that fails, the call is refused.
func (g *Gate) auditBegin(ctx context.Context, method string, ids *auditedIDs) error {
	if methods[method].does != changes {
		return nil
	}
	line := auditLine(ctx, audit.Begin, method)
	line.IDs = ids.all()
	if err := g.audit.Write(line); err != nil {
		g.cfg.Logger.Error("a call is refused, because the audit log cannot be written", "method", method, "error", err)
		return wire.Status(fault.New(fault.Unavailable, "AUDIT_LOG_FAILED",
			"the coordinator cannot write its audit log, so it rejects calls that change something; ask its operator "+
				"to fix that, and try again"))
	}
	return nil
}

func (g *Gate) auditEnd(ctx context.Context, method string, ids *auditedIDs, err error) {
	line := auditLine(ctx, audit.End, method)
	line.IDs = ids.all()
	line.Code = status.Code(err).String()
	line.Reason = wire.Reason(err)
	if err := g.audit.Write(line); err != nil {
		g.cfg.Logger.Error("the audit log cannot be written", "method", method, "error", err)
	}
}

func auditLine(ctx context.Context, event, method string) audit.Line {
	caller := identity.FromContext(ctx)
	line := audit.Line{
		Event: event, Caller: caller.Name, Role: caller.Role.String(), Method: method,
		Request: redact.Text(observe.RequestID(ctx)), // as the coordinator's log has it
	}
	if p, known := peer.FromContext(ctx); known && p.Addr != nil {
		line.Peer = p.Addr.String()
	}
	return line
}

// auditedIDs collects the ids in the messages of a call.
type auditedIDs struct {
	mu    sync.Mutex
	found map[string]string
}

// idShape matches ids that a coordinator makes. Anything else that a caller sends in place of one is not recorded.
var idShape = regexp.MustCompile(`^[0-9a-fA-F-]{1,64}$`)

func (a *auditedIDs) all() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.found
}

// collect adds the ids in a message and in the messages within it.
func (a *auditedIDs) collect(message any) {
	m, is := message.(proto.Message)
	if !is {
		return
	}
	const depth = 2
	a.mu.Lock()
	defer a.mu.Unlock()
	a.visitLocked(m.ProtoReflect(), depth)
}

func (a *auditedIDs) visitLocked(m protoreflect.Message, depth int) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.IsList() && field.Name() == urisField {
			a.addURIsLocked(value.List())
			return true
		}
		if field.IsList() || field.IsMap() {
			return true
		}
		switch name := string(field.Name()); {
		case field.Kind() == protoreflect.MessageKind && depth > 0:
			a.visitLocked(value.Message(), depth-1)
		case field.Kind() == protoreflect.StringKind && idFields[name]:
			a.addLocked(name, value.String())
		}
		return true
	})
}

var idFields = map[string]bool{"job_id": true, "dataset_id": true, "table_id": true, "worker_id": true,
	"request_id": true}

func (a *auditedIDs) addLocked(name, id string) {
	if name == "request_id" { // of the caller's choice
		id = shorten(redact.Text(id), 200)
	} else if !idShape.MatchString(id) {
		id = "(not an id)"
	}
	if a.found == nil {
		a.found = map[string]string{}
	}
	switch before := a.found[name]; {
	case before == "":
		a.found[name] = id
	case before != id && name == "table_id": // a job may have several
		a.found[name] = before + "," + id
	}
}

// urisField is the field with the objects that a call imports.
const urisField = "uris"

// addURIsLocked adds the URIs that a call imports, up to some length.
func (a *auditedIDs) addURIsLocked(uris protoreflect.List) {
	var all []string
	for at := range uris.Len() {
		all = append(all, uris.Get(at).String())
	}
	if a.found == nil {
		a.found = map[string]string{}
	}
	a.found[urisField] = shorten(redact.Text(strings.Join(all, " ")), 2000)
}

func shorten(text string, longest int) string {
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "..."
	}
	return text
}

// auditedStream collects the ids in the first messages of a stream, and in the last one of an import.
type auditedStream struct {
	grpc.ServerStream
	ids            auditedIDs
	received, sent sync.Once
}

func (s *auditedStream) RecvMsg(message any) error {
	err := s.ServerStream.RecvMsg(message)
	if err == nil {
		s.received.Do(func() { s.ids.collect(message) })
	}
	return err
}

func (s *auditedStream) SendMsg(message any) error {
	s.sent.Do(func() { s.ids.collect(message) })
	if last, is := message.(interface {
		GetImported() *cleavev1.ImportedTable
	}); is && last.GetImported() != nil {
		s.ids.collect(message)
	}
	return s.ServerStream.SendMsg(message)
}
