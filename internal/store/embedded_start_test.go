package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// usedStore is a directory with a store that has entries, and the files of its log and database.
func usedStore(t *testing.T) (dir, log, database string) {
	t.Helper()
	dir = t.TempDir()
	s := embedded(t, dir)
	lead(t, s)
	for i := range 50 {
		commit(t, s, Txn{Put: []Entry{{Key: fmt.Sprint("key/", i), Value: make([]byte, 1000)}}})
	}
	check(t, s.Close())
	logs, err := filepath.Glob(filepath.Join(dir, "etcd", "member", "wal", "*.wal"))
	if check(t, err); len(logs) != 1 {
		t.Fatalf("the logs are %q", logs)
	}
	return dir, logs[0], filepath.Join(dir, "etcd", "member", "snap", "db")
}

// A store whose log is cut, emptied or gone says so at once, and does not start.
func TestEmbeddedLogDamaged(t *testing.T) {
	for what, spoil := range map[string]func(log, database string) error{
		"is cut":         func(log, _ string) error { return os.Truncate(log, 30_001) },
		"ends with":      func(log, _ string) error { return os.Truncate(log, 5_000) },
		"cannot be read": func(log, _ string) error { return os.Truncate(log, 0) },
		"log":            func(log, _ string) error { return os.Remove(log) },
		"is missing":     func(log, _ string) error { return os.RemoveAll(filepath.Dir(log)) },
		"the database":   func(_, database string) error { return os.Truncate(database, 0) },
		"database":       func(_, database string) error { return os.Truncate(database, 5_000) },
	} {
		dir, log, database := usedStore(t)
		check(t, spoil(log, database))
		before := files(t, dir)
		_, err := OpenEmbedded(t.Context(), dir, nil)
		wantReason(t, err, storeDamaged)
		if err != nil && (!strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "backup")) {
			t.Errorf("%s: %v", what, err)
		}
		if after := files(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("%s: the files were %q and are %q", what, before, after)
		}
	}
}

// Files that we may not read are not damaged.
func TestEmbeddedFilesForbidden(t *testing.T) {
	wantReason(t, errUnreadable("the database", "db", &os.PathError{Op: "open", Path: "db", Err: syscall.EACCES}), "DATA_DIR_UNUSABLE")
	wantReason(t, errUnreadable("the database", "db", errors.New("invalid database")), storeDamaged)
	if os.Geteuid() == 0 {
		return // who may read everything
	}
	dir, _, database := usedStore(t)
	check(t, os.Chmod(database, 0))
	_, err := OpenEmbedded(t.Context(), dir, nil)
	wantReason(t, err, "DATA_DIR_UNUSABLE")
}

// The log alone has everything that the database has, until etcd makes its first snapshot.
func TestEmbeddedDatabaseMissing(t *testing.T) {
	dir, _, database := usedStore(t)
	check(t, os.Remove(database))
	s := embedded(t, dir)
	defer s.Close()
	if got := len(list(t, s, "key/", "", 0)); got != 50 {
		t.Errorf("%d of 50 entries are there", got)
	}
}
