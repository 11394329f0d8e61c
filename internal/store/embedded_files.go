package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.uber.org/zap"

	"github.com/cleave-project/cleave/internal/fault"
)

// errUnreadable returns the error for a part of the store that cannot be read: it is damaged, unless permission is
// missing.
func errUnreadable(what, path string, err error) error {
	if errors.Is(err, os.ErrPermission) {
		return fault.Invalid("DATA_DIR_UNUSABLE", "cannot use the data directory: %v", err)
	}
	return errStoreDamaged("%s %s cannot be read: %v", what, path, err)
}

func errStoreDamaged(format string, args ...any) error {
	return fault.New(fault.DataLoss, storeDamaged, format+"; restore the directory from a backup or start with another one", args...)
}

// checkFiles checks the files of an etcd before it is started. etcd writes every change to a log and then to a
// database. If the database is damaged, etcd panics in a goroutine of its own; if the log ends before the last change
// in the database, etcd waits for the rest forever.
func checkFiles(member string) error {
	path := filepath.Join(member, "snap", "db")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil // a new store, or everything is still in the log
	} else if errors.Is(err, os.ErrPermission) {
		return errUnreadable("the database", path, err)
	}
	applied, err := lastApplied(path)
	if err != nil {
		return errUnreadable("the database", path, err)
	}
	if applied == 0 { // never used
		return nil
	}
	logs := filepath.Join(member, "wal")
	if _, err := os.ReadDir(logs); errors.Is(err, os.ErrPermission) {
		return errUnreadable("the write-ahead log", logs, err)
	}
	if !wal.Exist(logs) {
		return errStoreDamaged("the write-ahead log %s is missing", logs)
	}
	last, err := lastLogged(logs)
	if err != nil {
		return errUnreadable("the write-ahead log", logs, err)
	}
	if last < applied {
		return errStoreDamaged("the write-ahead log %s is cut: it ends with entry %d, and the database has %d", logs, last, applied)
	}
	return nil
}

// lastApplied returns the number of the last log entry that is in the database.
func lastApplied(path string) (index uint64, err error) {
	defer catchPanic(&err)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return 0, err
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		if meta := tx.Bucket(schema.Meta.Name()); meta != nil {
			if value := meta.Get(schema.MetaConsistentIndexKeyName); len(value) == 8 {
				index = binary.BigEndian.Uint64(value)
			}
		}
		return nil
	})
	return index, err
}

// lastLogged returns the number of the last complete entry in the log.
func lastLogged(dir string) (index uint64, err error) {
	defer catchPanic(&err)
	snapshots, err := wal.ValidSnapshotEntries(zap.NewNop(), dir)
	if err != nil {
		return 0, err
	}
	from := &walpb.Snapshot{}
	if len(snapshots) > 0 {
		from = snapshots[len(snapshots)-1]
	}
	log, err := wal.OpenForRead(zap.NewNop(), dir, from)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	_, _, entries, err := log.ReadAll()
	if err != nil {
		return 0, err
	}
	if len(entries) == 0 {
		return from.GetIndex(), nil
	}
	return entries[len(entries)-1].GetIndex(), nil
}

// catchPanic turns a panic caused by damaged files into an error. Defer it directly.
func catchPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%v", p)
	}
}
