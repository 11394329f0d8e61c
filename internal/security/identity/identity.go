// Package identity says who makes a call, and what they may do.
package identity

import (
	"context"
	"strings"
	"unicode"

	"github.com/cleave-project/cleave/internal/fault"
)

// Role is what a caller may do.
type Role uint8

// The roles. Each but Worker may also do what those before it may.
const (
	Worker    Role = iota + 1 // attach, and nothing else
	Reader                    // see what is theirs
	Submitter                 // store data, and create, cancel and delete jobs of their own
	Admin                     // see and do everything
)

var roleNames = [...]string{"nobody", "worker", "reader", "submitter", "admin"}

func (r Role) String() string { return roleNames[r] }

// ParseRole is the role of a name.
func ParseRole(name string) (Role, error) {
	for at, known := range roleNames {
		if name == known && at > 0 {
			return Role(at), nil
		}
	}
	return 0, fault.Invalid("UNKNOWN_ROLE", "the role %.40q is unknown; use reader, submitter, admin or worker", name)
}

// May tells whether a role suffices where another is needed.
func (r Role) May(needed Role) bool {
	if r == Worker || needed == Worker {
		return r == needed
	}
	return r >= needed
}

// Caller is who makes a call. The name owns the jobs and data that the caller creates; it is empty where callers are
// not authenticated, and then everything belongs to everyone.
type Caller struct {
	Name string
	Role Role
}

// Sees tells whether the caller may see what an owner has.
func (c Caller) Sees(owner string) bool { return c.Role == Admin || c.Name == owner && c.Role != 0 }

// CheckName refuses what cannot be the name of a caller.
func CheckName(name string) error {
	const longest = 256
	if name == "" || len(name) > longest || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return fault.Invalid("BAD_CALLER_NAME", "%.60q cannot be the name of a caller: use 1 to %d printable characters without spaces", name, longest)
	}
	return nil
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
