//go:build small

package store

import (
	"context"
	"net/url"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/fault"
)

// absent returns the error of a small program for a state that needs etcd.
func absent() error {
	return fault.New(fault.FailedPrecondition, "STORE_ABSENT",
		"this program was built without etcd (-tags small), and keeps its state in memory only; "+
			"use --store memory, or build it without the tag, as make build does")
}

// OpenEmbedded returns an error.
func OpenEmbedded(context.Context, string, hclog.Logger) (State, error) { return nil, absent() }

func openEtcd(context.Context, []string, Sharing, hclog.Logger, time.Duration) (State, error) {
	return nil, absent()
}

func openObjectStore(_ context.Context, where string, u *url.URL) (bucket, error) {
	return nil, driverMissing(where, u)
}
