package store

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/credentials"
)

const (
	etcdScheme = "etcd://"

	// DefaultLease is how long a leader in an etcd cluster may be silent before another one is elected.
	DefaultLease = 5 * time.Second

	// reachTimeout is how long a member of an etcd cluster may take to answer when the state is opened.
	reachTimeout = 5 * time.Second
)

// IsShared reports whether several processes can use the state that spec names, so that a process that opens it may
// have to wait to lead.
func IsShared(spec string) bool { return strings.HasPrefix(spec, etcdScheme) }

// Sharing configures how processes share a state in an etcd cluster.
type Sharing struct {
	// Lease is the leader's lease in whole seconds. An etcd with default settings turns one second into two.
	Lease time.Duration
	// Dial configures connections to etcd members. Members on other machines need certificates, or explicit consent
	// to do without.
	Dial credentials.Dial
	// Unchecked skips the check that a member answers and leaves it to the first call to find out.
	Unchecked bool
}

// Open opens the state that spec names: `memory`, `embedded` (in dataDir), or `etcd://A:2379,B:2379`.
func Open(ctx context.Context, spec, dataDir string, sharing Sharing, log hclog.Logger) (State, error) {
	endpoints, isEtcd := strings.CutPrefix(spec, etcdScheme)
	switch {
	case spec == "memory":
		return NewMemory(), nil
	case spec == "embedded":
		return OpenEmbedded(ctx, dataDir, log)
	case isEtcd:
		return openEtcd(ctx, strings.Split(endpoints, ","), sharing, log, reachTimeout)
	}
	return nil, fault.Invalid("STORE_UNKNOWN",
		"unknown store %q; use memory, embedded or etcd://HOST:PORT[,HOST:PORT...]", spec)
}
