package dial

import (
	"context"

	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/security/credentials"
)

// Settings are the settings of client.Dial. An Option of package client is a function that changes them. The command
// line changes settings that are not part of the public API.
type Settings struct {
	Dial credentials.Dial // its Terms are those of error messages
	GRPC []grpc.DialOption
	Warn func(format string, args ...any)
}

type warnKey struct{}

// WithWarn returns a context in which a client passes warnings about a job that it follows to warn.
func WithWarn(ctx context.Context, warn func(format string, args ...any)) context.Context {
	return context.WithValue(ctx, warnKey{}, warn)
}

// Warn returns the function that WithWarn has set, or else other.
func Warn(ctx context.Context, other func(format string, args ...any)) func(format string, args ...any) {
	if warn, is := ctx.Value(warnKey{}).(func(format string, args ...any)); is {
		return warn
	}
	return other
}
