//go:build small

package store

import (
	"context"
	"net/url"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/fault"
)

// absent returns the error of a small program for a state that needs etcd.
func absent() error {
	return fault.New(fault.FailedPrecondition, "STORE_ABSENT", "this program was built without etcd (-tags small), and keeps its state in memory only; use --store memory, or build it without the tag, as make build does")
}

// OpenEmbedded returns an error.
func OpenEmbedded(context.Context, string, hclog.Logger) (State, error) { return nil, absent() }

// OpenEtcd returns an error.
func OpenEtcd(context.Context, []string, Sharing, hclog.Logger) (State, error) { return nil, absent() }

// openObjectStore returns an error.
func openObjectStore(_ context.Context, where string, u *url.URL) (bucket, error) {
	return nil, driverMissing(where, u)
}
