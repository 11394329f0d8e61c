package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap/zapcore"

	"github.com/cleave-project/cleave/internal/fault"
)

// Settings of the embedded etcd. Only the latest value of a key is ever read, so little history is kept. Space that
// compaction frees is returned to the disk at the next start.
const (
	embeddedMaxTxnOps     = 1024
	embeddedMaxRequest    = 2 << 20 // more than MaxCommitBytes
	embeddedQuota         = 4 << 30
	embeddedKeepRevisions = "1000"
	embeddedDefragMiB     = 64
	slowWarning           = time.Second
	slowStart             = 5 * time.Second
	cleanUpPause          = 100 * time.Millisecond
)

// logSegment is the size of a file of the log, two of which always exist. With etcd's default of 64 MB, a store of a
// few jobs would take 128 MB.
const logSegment = 16 << 20

// setLogSegment sets etcd's size of a log file, which is a variable of its package. It must run before the first etcd
// starts.
var setLogSegment = sync.OnceFunc(func() { wal.SegmentSizeBytes = logSegment })

// OpenEmbedded opens the state of an etcd that runs inside this process and keeps its files in dir, which is created
// if it does not exist. It opens no port and no socket. Only one process at a time can open a directory; a second one
// immediately gets the fault DATA_DIR_IN_USE.
func OpenEmbedded(ctx context.Context, dir string, log hclog.Logger) (State, error) {
	s, _, err := openEmbedded(ctx, dir, log, nil)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// openEmbedded is OpenEmbedded with hooks for tests that change the settings or need the server.
func openEmbedded(ctx context.Context, dir string, log hclog.Logger, adjust func(*embed.Config)) (*etcdState, *embed.Etcd, error) {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	unlock, err := lockDirectory(dir)
	if err != nil {
		return nil, nil, err
	}
	ending := &breakdown{}
	cfg := embeddedConfig(filepath.Join(dir, "etcd"), log, ending)
	if adjust != nil {
		adjust(cfg)
	}
	server, err := startEtcd(ctx, cfg, log)
	if err != nil {
		unlock()
		if _, is := errors.AsType[*fault.Error](err); is {
			return nil, nil, fault.Wrap(err, "cannot open the state in the data directory %s", dir)
		}
		return nil, nil, fmt.Errorf("cannot open the state in the data directory %s: %w; if its files are damaged, "+
			"restore them from a backup or start with another directory", dir, err)
	}
	s := newEtcdState(v3client.New(server.Server), log, embeddedLease, nil)
	s.release = func() {
		if s.failed() == nil {
			server.Close()
		}
		unlock()
	}
	s.embedded, s.reading = true, []clientv3.OpOption{clientv3.WithSerializable()}
	s.admit = func(txn Txn) error { return checkSpace(dir, txn) }
	ending.state.Store(s)
	if err := s.cleanUpAfterRestart(ctx); err != nil {
		s.Close()
		return nil, nil, fmt.Errorf("cannot clean up after the last run in the data directory %s: %w", dir, err)
	}
	return s, server, nil
}

// lockDirectory locks dir for this process. etcd has a lock too, but waits for it forever.
func lockDirectory(dir string) (unlock func(), err error) {
	if dir == "" {
		return nil, fault.Invalid("DATA_DIR_MISSING", "the embedded store needs a data directory")
	}
	if err := makeDirectories(dir); err != nil {
		return nil, fault.Invalid("DATA_DIR_UNUSABLE", "cannot use the data directory: %v", err)
	}
	lock, err := fileutil.TryLockFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, fault.New(fault.FailedPrecondition, "DATA_DIR_IN_USE",
			"data directory %s is in use by another coordinator", dir)
	}
	if err != nil {
		return nil, fault.Invalid("DATA_DIR_UNUSABLE", "cannot lock the data directory: %v", err)
	}
	return func() { lock.Close() }, nil
}

func embeddedConfig(dir string, log hclog.Logger, fatal zapcore.CheckWriteHook) *embed.Config {
	cfg := embed.NewConfig()
	cfg.Name = "cleave"
	cfg.Dir = dir
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zapLogger(log.Named("etcd"), hclog.Warn, fatal))

	// A cluster of one member that does not listen: its client calls it directly. The peer address only names the
	// member; being a literal, it needs no resolver.
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls, cfg.ListenPeerUrls = nil, nil, nil
	cfg.AdvertisePeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:2380"}}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.EnableGRPCGateway = false
	cfg.AuthToken = "" // no users
	// A single member waits for the election timeout before it elects itself, so keep the timeout short.
	cfg.TickMs, cfg.ElectionMs = 20, 200

	cfg.MaxTxnOps = embeddedMaxTxnOps
	cfg.MaxRequestBytes = embeddedMaxRequest
	cfg.QuotaBackendBytes = embeddedQuota
	cfg.AutoCompactionMode = embed.CompactorModeRevision
	cfg.AutoCompactionRetention = embeddedKeepRevisions
	cfg.BootstrapDefragThresholdMegabytes = embeddedDefragMiB
	cfg.WarningApplyDuration, cfg.WarningUnaryRequestDuration = slowWarning, slowWarning
	return cfg
}

// startEtcd starts a server and waits until it serves.
func startEtcd(ctx context.Context, cfg *embed.Config, log hclog.Logger) (server *embed.Etcd, err error) {
	// etcd panics if it cannot read its files; return that as an error.
	defer func() {
		if p := recover(); p != nil {
			server, err = nil, fmt.Errorf("etcd cannot start: %v", p)
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	setLogSegment()
	if err := checkFiles(filepath.Join(cfg.Dir, "member")); err != nil {
		return nil, err
	}
	server, err = embed.StartEtcd(cfg)
	if err != nil {
		return nil, err
	}
	slow := time.AfterFunc(slowStart, func() { log.Warn("the state store takes long to start", "dir", cfg.Dir) })
	defer slow.Stop()
	select {
	case <-server.Server.ReadyNotify():
		return server, nil
	case <-server.Server.StopNotify():
		err = errors.New("etcd stopped while starting")
	case <-ctx.Done():
		err = ctx.Err()
	}
	server.Close()
	return nil, err
}

// cleanUpAfterRestart removes what the last process left in this directory. That process has ended, because this one
// holds the lock, so its leadership is over and nobody needs to wait for its lease to expire. If it reached the
// quota, etcd still rejects writes; the alarm is disarmed, and etcd raises it again if there is still no space. On a
// slow disk etcd may not answer in time, so cleanUpAfterRestart tries again until it does.
func (s *etcdState) cleanUpAfterRestart(ctx context.Context) error {
	for {
		err := s.explain(s.removeLeftovers(ctx))
		if !IsUnavailable(err) || s.ctx.Err() != nil {
			return err
		}
		s.log.Warn("the state store takes long to start; trying again to clean up after the last run", "error", errors.Unwrap(err))
		select {
		case <-time.After(cleanUpPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *etcdState) removeLeftovers(ctx context.Context) error {
	if _, err := s.client.Delete(ctx, electionRoot+"/", clientv3.WithPrefix()); err != nil {
		return err
	}
	alarms, err := s.client.AlarmList(ctx)
	if err != nil || len(alarms.Alarms) == 0 {
		return err
	}
	_, err = s.client.AlarmDisarm(ctx, &clientv3.AlarmMember{})
	return err
}
