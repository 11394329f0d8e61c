//go:build small

package observe

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/fault"
)

// A small program sends no traces.
type (
	tracing struct{}
	span    struct{}
)

func startTracing(context.Context, string, string, string, hclog.Logger) (*tracing, error) {
	return nil, fault.Invalid("TRACES_ABSENT", "this program was built without traces (-tags small); leave them out, or build it without the tag, as make build does")
}

// TraceParent returns "".
func TraceParent(context.Context) string { return "" }

func (*tracing) serverOption() grpc.ServerOption              { return grpc.EmptyServerOption{} }
func (*tracing) start(string, spanKind, string, ...any) *span { return nil }
func (*tracing) close()                                       {}
func (*span) start(spanKind, string, time.Time, ...any) *span { return nil }
func (*span) parent() string                                  { return "" }
func (*span) event(string, ...any)                            {}
func (*span) set(...any)                                      {}
func (*span) fail(string)                                     {}
func (*span) end()                                            {}
