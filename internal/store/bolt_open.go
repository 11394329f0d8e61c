package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"

	"github.com/cleave-project/cleave/internal/fault"
)

// Names in a data directory. The new file has its name when it is complete.
const (
	lockFile    = "lock"
	boltFile    = "state.db"
	newBoltFile = "state.db.new"
	// etcdFiles is where a program with an embedded etcd keeps the state.
	etcdFiles = "etcd"
)

const (
	// mapBytes is how much of the address space is reserved for a file. Transactions need not wait for those who read
	// while it does not grow beyond that.
	mapBytes = 8 << 30
	// growBytes is by how much a file grows at a time.
	growBytes = 1 << 20
	// compactBytes of free pages, if they are more than half of the file, are given back to the disk at the start.
	compactBytes = 64 << 20
	// leastPages is how many pages a file has that was just made.
	leastPages = 4
	// fileTimeout is how long another program may have the file open, such as one that copies it.
	fileTimeout = time.Second
	slowStart   = 5 * time.Second
)

// OpenEmbedded opens the state in a file in dir, which is created if it does not exist. Only one process at a time can
// open a directory; a second one immediately gets the fault DATA_DIR_IN_USE. The whole file is read, so that damage is
// an error now.
func OpenEmbedded(ctx context.Context, dir string, log hclog.Logger) (State, error) {
	s, err := openBolt(ctx, dir, log)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func openBolt(ctx context.Context, dir string, log hclog.Logger) (*boltState, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if log == nil {
		log = hclog.NewNullLogger()
	}
	unlock, err := lockDirectory(dir)
	if err != nil {
		return nil, err
	}
	slow := time.AfterFunc(slowStart, func() { log.Warn("the state store takes long to read its file", "dir", dir) })
	defer slow.Stop()
	path := filepath.Join(dir, boltFile)
	db, err := openIn(dir, log)
	if err != nil {
		unlock()
		return nil, explainOpen(err, dir)
	}
	s := &boltState{
		db: db, path: path, log: log, release: unlock,
		admit:    func(txn Txn) error { return checkSpace(dir, txn) },
		requests: make(chan *request),
		ended:    make(chan struct{}),
		written:  make(chan struct{}),
	}
	if err := s.learnSize(); err != nil {
		unlock()
		return nil, explainOpen(err, dir)
	}
	go s.write()
	return s, nil
}

// lockDirectory locks dir for this process.
func lockDirectory(dir string) (unlock func(), err error) {
	if dir == "" {
		return nil, fault.Invalid("DATA_DIR_MISSING", "the embedded store needs a data directory")
	}
	if err := makeDirectories(dir); err != nil {
		return nil, fault.Invalid(dirUnusable, "cannot use the data directory: %v", err)
	}
	lock, err := fileutil.TryLockFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, fault.New(fault.FailedPrecondition, dirInUse, "data directory %s is in use by another coordinator",
			dir)
	}
	if err != nil {
		return nil, fault.Invalid(dirUnusable, "cannot lock the data directory: %v", err)
	}
	return func() { lock.Close() }, nil
}

// openIn opens the file in a directory that this process has locked, after a look at it.
func openIn(dir string, log hclog.Logger) (*bbolt.DB, error) {
	path := filepath.Join(dir, boltFile)
	_, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := refuseEtcd(dir); err != nil {
			return nil, err
		}
		err = replaceFile(dir, func(db *bbolt.DB) error {
			return db.Update(func(tx *bbolt.Tx) error {
				_, err := tx.CreateBucket(entriesBucket)
				return err
			})
		})
		if err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	default:
		if err := look(dir, log); err != nil {
			return nil, err
		}
	}
	db, err := openFile(path, bbolt.Options{InitialMmapSize: mapBytes})
	if err != nil {
		return nil, err
	}
	db.AllocSize = growBytes
	return db, nil
}

// refuseEtcd rejects the directory of a program that kept its state in an embedded etcd.
func refuseEtcd(dir string) error {
	old := filepath.Join(dir, etcdFiles)
	if _, err := os.Stat(old); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return fault.New(fault.FailedPrecondition, "STORE_IN_EMBEDDED_ETCD",
		"%s is the state of a program that kept it in an embedded etcd, which this version of Cleave cannot read; "+
			"use another data directory", old)
}

// replaceFile makes a new file and puts it in the place of the one in the directory, completely or not at all.
func replaceFile(dir string, fill func(*bbolt.DB) error) error {
	path := filepath.Join(dir, newBoltFile)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	db, err := openFile(path, bbolt.Options{NoSync: true})
	if err != nil {
		return err
	}
	err = errors.Join(fill(db), db.Sync(), db.Close())
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	if err := os.Rename(path, filepath.Join(dir, boltFile)); err != nil {
		return err
	}
	return syncDirectory(dir)
}

// openFile opens a file of bbolt, and returns a *pageError if its pages are damaged.
func openFile(path string, options bbolt.Options) (db *bbolt.DB, err error) {
	var file *os.File
	options.OpenFile = func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
		file, err = os.OpenFile(name, flag, mode)
		return file, err
	}
	options.Timeout = fileTimeout
	options.FreelistType = bbolt.FreelistMapType
	err = guard(func() (err error) {
		db, err = bbolt.Open(path, 0o600, &options)
		return err
	})
	if page := (*pageError)(nil); errors.As(err, &page) { // bbolt has not closed the file, which is locked
		err = errors.Join(err, file.Close())
	}
	return db, err
}

// look reads a file before it is used, and returns an error if it is damaged. If most of it is free, it replaces it by
// a smaller one.
//
// bbolt checks its pages in a goroutine of its own, in which a fault of memory would end the program. The file is
// therefore read without its map, and then every key is looked up, before bbolt checks the rest: which pages are free,
// and that each is used once.
func look(dir string, log hclog.Logger) error {
	path := filepath.Join(dir, boltFile)
	size, err := readThrough(path)
	if err != nil {
		return err
	}
	if size < leastPages*int64(os.Getpagesize()) { // of an empty file, bbolt would make a new store
		return &pageError{fmt.Sprintf("it is cut to %d bytes", size)}
	}
	db, err := openFile(path, bbolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		return err
	}
	defer db.Close()
	err = guard(func() error {
		return db.View(func(tx *bbolt.Tx) error { return checkPages(tx, size) })
	})
	if err != nil {
		return err
	}
	free := int64(db.Stats().FreePageN) * int64(db.Info().PageSize)
	room, known := FreeBytes(dir)
	if free < compactBytes || free < size/2 || known && room < size-free+ReservedSpace {
		return nil
	}
	if err := replaceFile(dir, func(to *bbolt.DB) error { return bbolt.Compact(to, db, 0) }); err != nil {
		log.Warn("cannot give the free pages of the state store back to the disk", "bytes", free, "error", err)
	}
	return nil
}

// readThrough reads a file from its disk, and returns its size.
func readThrough(path string) (size int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return io.Copy(io.Discard, file)
}

func checkPages(tx *bbolt.Tx, size int64) (err error) {
	if size < tx.Size() {
		return &pageError{fmt.Sprintf("it is cut to %d of %d bytes", size, tx.Size())}
	}
	entries := tx.Bucket(entriesBucket)
	if entries == nil {
		return &pageError{"it has no entries, so it is not a state of Cleave"}
	}
	var last []byte
	for key, value := range ascending(entries.Cursor(), "", "") {
		if value == nil || entries.Get(key) == nil || bytes.Compare(key, last) <= 0 {
			return &pageError{fmt.Sprintf("the key %.100q is not in its place", key)}
		}
		last = key
	}
	for damage := range tx.Check() {
		if err == nil {
			err = &pageError{damage.Error()}
		}
	}
	return err
}

// explainOpen returns the error for an operator who starts a coordinator.
func explainOpen(err error, dir string) error {
	path := filepath.Join(dir, boltFile)
	page := (*pageError)(nil)
	switch {
	case errors.As(err, &page), errors.Is(err, bbolterrors.ErrInvalid), errors.Is(err, bbolterrors.ErrChecksum),
		errors.Is(err, bbolterrors.ErrVersionMismatch):
		return fault.New(fault.DataLoss, storeDamaged,
			"the file of the state store, %s, is damaged (%v); restore the data directory from a backup, "+
				"or start with another one", path, err)
	case errors.Is(err, bbolterrors.ErrTimeout):
		return fault.New(fault.FailedPrecondition, dirInUse,
			"the file of the state store, %s, is in use by another program", path)
	case errors.Is(err, os.ErrPermission):
		return fault.Invalid(dirUnusable, "cannot use the data directory: %v", err)
	}
	if _, is := errors.AsType[*fault.Error](err); is {
		return err
	}
	return fmt.Errorf("cannot open the state in the data directory %s: %w", dir, err)
}
