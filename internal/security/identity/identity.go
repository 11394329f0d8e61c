// Package identity defines callers, their roles, and what each role may do. It does not authenticate anyone; package
// access does.
package identity

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cleave-project/cleave/internal/fault"
)

// Role is what a caller may do. The zero value may do nothing.
type Role uint8

// The roles. Worker stands alone; each of the others includes the rights of the ones before it.
const (
	Worker    Role = iota + 1 // attach, and nothing else
	Reader                    // see what they own
	Submitter                 // store data, and create, cancel and delete their own jobs
	Admin                     // see and do everything
)

var roleNames = [...]string{"nobody", "worker", "reader", "submitter", "admin"}

func (r Role) String() string { return roleNames[r] }

// ParseRole returns the role with this name.
func ParseRole(name string) (Role, error) {
	for at, known := range roleNames {
		if name == known && at > 0 {
			return Role(at), nil
		}
	}
	return 0, fault.Invalid("UNKNOWN_ROLE", "the role %.40q is unknown; use reader, submitter, admin or worker", name)
}

// May reports whether role r is sufficient where another is needed.
func (r Role) May(needed Role) bool {
	if r == Worker || needed == Worker {
		return r == needed
	}
	return r >= needed
}

// Caller identifies who makes a call. The name owns the jobs and data that the caller creates. It is empty if callers
// are not authenticated; then everything belongs to everyone.
type Caller struct {
	Name string
	Role Role
}

// Sees reports whether the caller may see what an owner has.
func (c Caller) Sees(owner string) bool { return c.Role == Admin || c.Name == owner && c.Role != 0 }

// CheckName rejects names that a caller cannot have: they are stored as UTF-8, and separated by spaces in token files.
func CheckName(name string) error {
	const longest = 256
	if name == "" || len(name) > longest || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return fault.Invalid("BAD_CALLER_NAME",
			"%.60q cannot be the name of a caller: use 1 to %d bytes of printable UTF-8 without spaces", name, longest)
	}
	return nil
}

// Local returns the caller to assume if callers are not authenticated: an admin without a name.
func Local() Caller { return Caller{Role: Admin} }

type key struct{}

// NewContext returns a context for calls by this caller.
func NewContext(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, key{}, c)
}

// FromContext returns the caller of a context, or Local() if none was set.
func FromContext(ctx context.Context) Caller {
	if c, ok := ctx.Value(key{}).(Caller); ok {
		return c
	}
	return Local()
}
