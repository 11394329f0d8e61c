//go:build small

package buckets

import (
	"context"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/objects"
)

// Set has no buckets in a small program.
type Set struct{}

// NewSet returns a set without buckets.
func NewSet() *Set { return &Set{} }

// Close does nothing.
func (b *Set) Close() {}

// Find returns an error.
func (b *Set) Find(context.Context, objects.Rule, objects.URI) ([]Object, error) {
	return nil, absent()
}

// Sign returns an error.
func (b *Set) Sign(context.Context, objects.Rule, Object) (signed, etag string, err error) {
	return "", "", absent()
}

func absent() error {
	return fault.New(fault.FailedPrecondition, "STORE_NOT_CONFIGURED", "this program was built without object stores (-tags small); build it without the tag, as make build does")
}
