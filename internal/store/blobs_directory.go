package store

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
)

// syncBytes limits how much of a file is written but not synced, because syncing everything at the end may take
// minutes, and a slow disk could not be told from one that hangs.
const syncBytes = 16 << 20

// clockMargin exceeds the granularity by which file times may lag behind.
const clockMargin = 100 * time.Millisecond

// directory is a bucket whose objects are files.
type directory struct {
	root string

	// publishing is held while a file gets its final name and that becomes durable, so that a name that is taken is
	// durable.
	publishing sync.Mutex
	// directories is held while a temporary file is created in a directory that may be new, and while empty
	// directories are removed.
	directories sync.Mutex
	// writing is the set of temporary files that this process is writing. It is guarded by directories.
	writing map[string]bool
}

func openDirectory(dir string) (bucket, error) {
	if dir == "" {
		return nil, fault.Invalid("BLOBS_URL_INVALID", "the blob store has an empty name; give a directory or a URL")
	}
	root, err := filepath.Abs(dir)
	if err == nil {
		err = makeDirectories(root)
	}
	if err != nil {
		return nil, fault.Invalid("BLOBS_DIR_UNUSABLE", "cannot use the blob directory %s: %v", dir, err)
	}
	return &directory{root: root, writing: map[string]bool{}}, nil
}

func (d *directory) path(key string) string { return filepath.Join(d.root, filepath.FromSlash(key)) }

func (d *directory) explain(name string, err error) error { return blobError(name, err) }

// create implements bucket. It writes a temporary file in the same directory, syncs it, and gives it its name. A
// crash leaves the temporary file behind, which removeTemporary deletes.
func (d *directory) create(ctx context.Context, key string, write func(io.Writer) error) error {
	path := d.path(key)
	file, err := d.createTemporary(path)
	if err != nil {
		return err
	}
	temporary := file.Name()
	defer func() { // also if write panics
		_ = file.Close()
		_ = os.Remove(temporary) // fails if it has been renamed
		d.directories.Lock()
		delete(d.writing, temporary)
		d.directories.Unlock()
		d.removeEmpty(filepath.Dir(path))
	}()
	if err := write(&syncingWriter{file: file}); err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	d.publishing.Lock()
	defer d.publishing.Unlock()
	if _, err := os.Lstat(path); err == nil {
		return ErrExists
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	if err := syncDirectories(path, d.root); err != nil {
		_ = os.Remove(path) // a name that is taken is durable
		return err
	}
	return nil
}

// createTemporary creates a file beside path, because a rename from another file system would fail.
func (d *directory) createTemporary(path string) (*os.File, error) {
	d.directories.Lock()
	defer d.directories.Unlock()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path+"."+rand.Text()+tempSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		d.writing[file.Name()] = true
	}
	return file, err
}

// syncingWriter syncs a file from time to time.
type syncingWriter struct {
	file     *os.File
	unsynced int
}

func (w *syncingWriter) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	if w.unsynced += n; err == nil && w.unsynced >= syncBytes {
		w.unsynced, err = 0, w.file.Sync()
	}
	return n, err
}

func (d *directory) open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if _, err := d.size(ctx, key); err != nil { // Open would open a directory
		return nil, err
	}
	file, err := os.Open(d.path(key))
	if err != nil {
		return nil, missing(err)
	}
	if length < 0 {
		length = 1<<63 - 1 - offset
	}
	return &fileSection{io.NewSectionReader(file, offset, length), file}, nil
}

// fileSection reads a part of a file, and closes the file.
type fileSection struct {
	*io.SectionReader
	io.Closer
}

func (d *directory) size(_ context.Context, key string) (int64, error) {
	info, err := os.Stat(d.path(key))
	if err != nil {
		return 0, missing(err)
	}
	if info.IsDir() {
		return 0, ErrNotFound
	}
	return info.Size(), nil
}

func (d *directory) remove(ctx context.Context, key string) error {
	if _, err := d.size(ctx, key); err != nil { // Remove would remove an empty directory
		return err
	}
	if err := os.Remove(d.path(key)); err != nil {
		return missing(err)
	}
	d.removeEmpty(filepath.Dir(d.path(key)))
	return nil
}

// missing returns ErrNotFound for a file that does not exist, and other errors as they are.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	return err
}

func (d *directory) signedURL(context.Context, string, time.Duration) (string, error) { return "", nil }

func (d *directory) free() (bytes int64, known bool) { return FreeBytes(d.root) }

func (d *directory) close() error { return nil }

// each implements bucket. It also visits temporary and foreign files.
func (d *directory) each(ctx context.Context, prefix string, visit func(string, int64)) error {
	// Only the last part of a prefix can be incomplete. The walk starts at the directory before it.
	start := d.path(prefix[:strings.LastIndex(prefix, "/")+1])
	return filepath.WalkDir(start, func(path string, entry fs.DirEntry, err error) error {
		progressed(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, fs.ErrNotExist) { // just removed, or no object has this prefix
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(d.root, path)
		if err != nil {
			return err
		}
		key := filepath.ToSlash(relative)
		if !strings.HasPrefix(key, prefix) {
			return nil
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		visit(key, info.Size())
		return nil
	})
}

// removeEmpty removes a directory of the bucket if it is empty, and then its parents that become empty, because a
// file system may limit the number of directories.
func (d *directory) removeEmpty(dir string) {
	d.directories.Lock()
	defer d.directories.Unlock()
	for ; dir != d.root; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() || os.Remove(dir) != nil {
			return
		}
	}
}

// removeTemporary removes temporary files that were last written before the call, except those that this process is
// writing, and then empty directories. It compares file times only with each other, because the clock of a file
// server may differ from ours. It ignores errors, since leftover files only take space.
func (d *directory) removeTemporary(ctx context.Context) {
	now, err := d.fileTime()
	if err != nil {
		return
	}
	before := now.Add(-clockMargin)
	empty := map[string]bool{} // directories in which nothing was found
	_ = filepath.WalkDir(d.root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.HasSuffix(path, tempSuffix) {
			if info, err := entry.Info(); err == nil && info.ModTime().Before(before) {
				d.removeLeftover(path)
			}
		}
		delete(empty, filepath.Dir(path))
		if err == nil && entry.IsDir() {
			empty[path] = true
		}
		progressed(ctx)
		return ctx.Err()
	})
	delete(empty, d.root)
	for dir := range empty {
		if ctx.Err() != nil {
			return
		}
		d.removeEmpty(dir)
		progressed(ctx)
	}
}

// fileTime returns the current time according to the file system of the bucket.
func (d *directory) fileTime() (time.Time, error) {
	probe, err := os.CreateTemp(d.root, "clock-*"+tempSuffix)
	if err != nil {
		return time.Time{}, err
	}
	defer os.Remove(probe.Name())
	defer probe.Close()
	info, err := probe.Stat()
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// removeLeftover removes a temporary file unless this process is writing it.
func (d *directory) removeLeftover(path string) {
	d.directories.Lock()
	defer d.directories.Unlock()
	if !d.writing[path] {
		_ = os.Remove(path)
	}
}
