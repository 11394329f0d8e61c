// Package identity says who makes a call, and what they may do.
package identity

import "context"

// Role is what a caller may do.
type Role uint8

// The roles. Each but Worker may also do what those before it may.
const (
	Worker    Role = iota + 1 // attach, and nothing else
	Reader                    // see what is theirs
	Submitter                 // store data, and create, cancel and delete jobs of their own
	Admin                     // see and do everything
)

func (r Role) String() string {
	return [...]string{"nobody", "worker", "reader", "submitter", "admin"}[r]
}

// Caller is who makes a call. The name owns the jobs and data that the caller creates; it is empty where callers are
// not authenticated, and then everything belongs to everyone.
type Caller struct {
	Name string
	Role Role
}

// Local is the caller where callers are not authenticated.
func Local() Caller { return Caller{Role: Admin} }

type key struct{}

// NewContext is a context of calls by this caller.
func NewContext(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, key{}, c)
}

// FromContext is the caller of a context, Local if none was set.
func FromContext(ctx context.Context) Caller {
	if c, ok := ctx.Value(key{}).(Caller); ok {
		return c
	}
	return Local()
}
