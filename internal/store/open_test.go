package store

import (
	"net"
	"strings"
	"testing"
	"time"
)

func TestOpenRefuses(t *testing.T) {
	for spec, want := range map[string]string{
		"":                       "STORE_UNKNOWN",
		"sqlite":                 "STORE_UNKNOWN",
		"etcds://a:1":            "STORE_UNKNOWN",
		"etcd://":                "STORE_ENDPOINT_INVALID",
		"etcd://a":               "STORE_ENDPOINT_INVALID",
		"etcd://a:2379,":         "STORE_ENDPOINT_INVALID",
		"etcd://a:2379,http://b": "STORE_ENDPOINT_INVALID",
		"embedded":               "DATA_DIR_MISSING",
	} {
		_, err := Open(t.Context(), spec, "", Sharing{Lease: DefaultLease}, nil)
		wantReason(t, err, want)
	}
	_, err := Open(t.Context(), "etcd://a:2379,user:hush@b:2379", "", Sharing{Lease: DefaultLease}, nil)
	wantReason(t, err, "STORE_ENDPOINT_INVALID")
	if strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), `"b:2379"`) {
		t.Errorf("a password is answered with %q", err)
	}
	s, err := Open(t.Context(), "memory", "", Sharing{Lease: DefaultLease}, nil)
	check(t, err)
	check(t, s.Close())
}

func TestEtcdUnreachable(t *testing.T) {
	// One port where nothing listens, and one where a listener never answers.
	free, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	closed := free.Addr().String()
	free.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer silent.Close()
	for _, address := range []string{closed, silent.Addr().String()} {
		_, err := openEtcd(t.Context(), []string{address}, Sharing{Lease: DefaultLease}, nil, 200*time.Millisecond)
		wantReason(t, err, "STORE_UNREACHABLE")
		if !strings.Contains(err.Error(), address) {
			t.Errorf("%q does not say where", err)
		}
	}
}
